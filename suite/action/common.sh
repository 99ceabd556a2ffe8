# shellcheck shell=bash
# What the steps of the action share; they source it. Bash 3.2, which Macs have, is enough.

# home is where the action has all that it makes. Runners empty RUNNER_TEMP.
home=$RUNNER_TEMP/unitd

# fail ends the step with a line that GitHub shows with the run.
fail() {
	echo "::error::unitd: $1"
	exit 1
}

# output sets an output of the step.
output() {
	echo "$1=$2" >>"$GITHUB_OUTPUT"
}

# digest reads, and prints the SHA-256 of that.
digest() {
	if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -c 1-64
}

# part sets the array "words" to the words of a text. Quotes hold words together as in a
# shell; nothing is expanded or run.
part() {
	python3 -c '
import shlex, sys
try:
    words = shlex.split(sys.argv[1], comments=True)
except ValueError as e:
    sys.exit(str(e))
sys.stdout.write("".join(word + "\0" for word in words))' "$1" >"$home/words" || fail "cannot part into words: $1"
	words=()
	local word
	while IFS= read -r -d '' word; do words+=("$word"); done <"$home/words"
}
