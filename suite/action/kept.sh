#!/usr/bin/env bash
# Says by the output "key" what is in UNITD_CACHE: packages that charms were built with,
# and charms of a hub. It is empty where there is nothing to keep.
set -euo pipefail
# shellcheck source=suite/action/common.sh
. "$(dirname "$0")/common.sh"

mkdir -p "$UNITD_CACHE/packages" "$UNITD_CACHE/hub"
cd "$UNITD_CACHE"
names=$({
	find packages -mindepth 1 -maxdepth 1 -type d -not -name told -not -name '*.new-*'
	find hub -type f -not -name '*.lock'
} | LC_ALL=C sort)
key=
if [ -n "$names" ]; then key=$(echo "$names" | digest); fi
output key "$key"
