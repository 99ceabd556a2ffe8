#!/usr/bin/env bash
# Decides where unitd comes from by VERSION, and which places the other steps use.
# REF is the tag or branch of the action, or empty.
set -euo pipefail
# shellcheck source=suite/action/common.sh
. "$(dirname "$0")/common.sh"

command -v python3 >/dev/null || fail "there is no python3 here: use actions/setup-python before this action"

# An earlier use of the action in this job has uploaded and kept what it made.
rm -rf "$home/report" "$home/wheels"
mkdir -p "$home/report" "$home/wheels"

cache=${UNITD_CACHE:-$HOME/.cache/unitd}
echo "UNITD_CACHE=$cache" >>"$GITHUB_ENV"
output cache "$cache"
output report "$home/report"
output wheels "$home/wheels"

case $VERSION in
source)
	cd "$GITHUB_ACTION_PATH"
	if [[ $REF =~ ^v[0-9]+\.[0-9]+\.[0-9]+([-+].*)?$ ]]; then version=${REF#v}; else version=$(make -s version); fi
	find . -type f -not -path './.git/*' -not -path './bin/*' -not -name '*.pyc' | LC_ALL=C sort >"$home/sources"
	output from source
	output version "$version"
	output key "$({ echo "$version"; cat "$home/sources"; git hash-object --no-filters --stdin-paths <"$home/sources"; } | digest)"
	;;
*.whl)
	[ -f "$VERSION" ] || fail "there is no wheel $VERSION"
	output from wheel
	output version "$(cd "$(dirname "$VERSION")" && pwd)/$(basename "$VERSION")"
	;;
latest | [0-9]*.[0-9]*)
	output from index
	output version "$VERSION"
	;;
*)
	fail "version is '$VERSION', and should be source, latest, a version like 1.2.0, or the path of a wheel"
	;;
esac
