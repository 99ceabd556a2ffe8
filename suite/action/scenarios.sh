#!/usr/bin/env bash
# Runs "unitd test" with the words of SCENARIOS, and writes the report into REPORT.
set -euo pipefail
# shellcheck source=suite/action/common.sh
. "$(dirname "$0")/common.sh"

part "$SCENARIOS"
unitd test --junit "$REPORT/scenarios.xml" ${words[@]+"${words[@]}"}
