#!/usr/bin/env bash
# Builds the wheel of this platform from the action's own sources, as version BUILT_AS,
# into the directory WHEELS.
set -euo pipefail
# shellcheck source=suite/action/common.sh
. "$(dirname "$0")/common.sh"

python3 -c 'import tomllib' 2>/dev/null || fail "Python 3.11 is needed to build from source: use actions/setup-python before this action"
rm -rf "$WHEELS"
platform=$(go env GOOS)/$(go env GOARCH)
make -s -C "$GITHUB_ACTION_PATH" wheel "VERSION=$BUILT_AS" "WHEELS=$WHEELS" "WHEEL_PLATFORMS=$platform"
