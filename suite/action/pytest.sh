#!/usr/bin/env bash
# Runs pytest with the words of PYTEST, and writes the report into REPORT.
set -euo pipefail
# shellcheck source=suite/action/common.sh
. "$(dirname "$0")/common.sh"

part "$PYTEST"
"$home/venv/bin/python" -m pytest --junit-xml "$REPORT/pytest.xml" ${words[@]+"${words[@]}"}
