package cli

import (
	"slices"
	"strings"

	"github.com/unitd/unitd/pattern"
)

// sshCall is what the words of ssh ask for, from the target on.
type sshCall struct {
	// target is a unit, a leader or a machine, and user whom it names before an "@", or
	// -l does. Of any other host there is host alone.
	user, target, host string
	// command are the words of the remote command; none: it is a shell.
	command []string
	// terminal says whether the command is to have a terminal.
	terminal terminalWish
	// forwards is the option that only OpenSSH can follow; empty: there is none.
	forwards string
	// silent: the command gets no input.
	silent bool
}

// terminalWish says whether a command is to have a terminal.
type terminalWish string

// What can be wished: without any word it has one if this command has.
const (
	asHere     terminalWish = ""
	noTerminal terminalWish = "none"
)

// The options of OpenSSH's ssh: those with a value, those without, and those of both
// that have it make connections which are no command. Source: docs/spec/cli-juju.md §4;
// docs/spec/juju-clients.md §5.2.
const (
	sshValues   = "BbcDEeFIiJLlmOoPpQRSWw"
	sshSwitches = "46AaCfGgKkMNnqsTtVvXxYy"
	sshForwards = "DJLNRW"
)

// parseSSH reads the words from the target on: options of OpenSSH may follow it, and
// the first other word begins the command. A "--" ends the options. The error is of
// wrong usage.
func parseSSH(target string, words []string) (sshCall, error) {
	var c sshCall
	if m := remote.FindStringSubmatch(target); m != nil {
		c.user, c.target = m[1], m[2]
	} else {
		c.host = target
	}
	for len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' {
		word := words[0]
		words = words[1:]
		if word == "--" {
			break
		}
		taken, err := c.options(word, words)
		if err != nil {
			return c, err
		}
		words = words[taken:]
	}
	c.command = words
	return c, nil
}

// options reads the options of one word; taken is how many of the next words are a
// value's.
func (c *sshCall) options(word string, next []string) (taken int, err error) {
	for i := 1; i < len(word); i++ {
		letter, value := word[i:i+1], word[i+1:]
		if strings.Contains(sshForwards, letter) && c.forwards == "" {
			c.forwards = "-" + letter
		}
		switch {
		case strings.Contains(sshSwitches, letter):
			c.take(letter)
			continue
		case !strings.Contains(sshValues, letter):
			return 0, Usagef("%q is no option of OpenSSH's ssh: unitd's own stand before the target", word)
		case value == "" && len(next) == 0:
			return 0, Usagef("option needs an argument: -%s", letter)
		case value == "":
			value, taken = next[0], 1
		}
		if letter == "l" && c.user == "" {
			c.user = value
		}
		return taken, nil
	}
	return 0, nil
}

// take follows an option without a value, where that has a meaning for a unit of this
// host.
func (c *sshCall) take(letter string) {
	switch letter {
	case "T":
		c.terminal = noTerminal
	case "t":
		c.terminal = asHere
	case "n":
		c.silent = true
	}
}

// hostName is what can't be but the name of a host or an address: any other word may
// be a unit's, mistyped.
var hostName = pattern.New(`[@.:]`)

// isHost says whether a target that is no unit's and no machine's is taken for a host:
// called as juju any is. Source: docs/spec/juju-clients.md §5.2.
func isHost(target string, dropIn bool) bool { return dropIn || hostName.MatchString(target) }

// remoteScript is the script that the words of a command are. They are joined as
// OpenSSH does it, which leaves it to the far side's shell to part them again.
func remoteScript(words []string) string { return strings.Join(slices.Clone(words), " ") }
