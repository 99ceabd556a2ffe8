#!/usr/bin/env bash
# Installs unitd: FROM source the wheel in WHEELS, from a wheel WANTED itself, from the
# index the version WANTED. It goes into an environment of its own, with pytest and
# PACKAGES if PYTEST is to be run. Only the programs get onto the PATH: charms' hooks and
# later steps keep the Python that they have.
set -euo pipefail
# shellcheck source=suite/action/common.sh
. "$(dirname "$0")/common.sh"

extra=
if [ -n "$PYTEST" ]; then extra='[pytest]'; fi
wheel=
case $FROM in
source)
	wheel=$(echo "$WHEELS"/unitd-*.whl)
	what=$wheel$extra
	;;
wheel)
	wheel=$WANTED
	what=$wheel$extra
	;;
index)
	what=unitd$extra
	if [ "$WANTED" != latest ]; then what+="==$WANTED"; fi
	;;
esac

part "$PACKAGES"
python3 -m venv --clear "$home/venv" || fail "python3 has no venv here: install it (python3-venv on Debian and Ubuntu), or use actions/setup-python before this action"
"$home/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$what" ${words[@]+"${words[@]}"} || fail "cannot install $what ${PACKAGES}"

mkdir -p "$home/bin"
for program in unitd unitd-hooktool unitd-hooktool-c; do
	rm -f "$home/bin/$program"
	if [ -e "$home/venv/bin/$program" ]; then ln -s "$home/venv/bin/$program" "$home/bin/$program"; fi
done
echo "$home/bin" >>"$GITHUB_PATH"

version=$("$home/bin/unitd" --version)
echo "$version"
output version "${version#unitd }"
output wheel "$wheel"
