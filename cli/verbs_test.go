package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestVerbsAreCalledWhatTheirTableSays: a verb that has another name there is never
// made, and one that lacks a name of its own is unknown by it.
func TestVerbsAreCalledWhatTheirTableSays(t *testing.T) {
	t.Parallel()
	for _, g := range programOf(t).groups() {
		for _, verb := range g.Verbs {
			cmd := verb.Make()
			if names := append([]string{cmd.Name()}, cmd.Aliases...); !slices.Equal(strings.Fields(verb.Names), names) {
				t.Errorf("the table says %q, and the verb %q", verb.Names, names)
			}
		}
	}
}

// TestOneVerbIsMadeForOneCommand: and all are where more than one may be needed.
func TestOneVerbIsMadeForOneCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"status":                        "status",
		"status nosuch -m x":            "status",
		"-m x status":                   "status",
		"-mx status":                    "status",
		"--model x status":              "status",
		"--model=x status":              "status",
		"--quiet status":                "status",
		"-B -c other status":            "status",
		"relate a b":                    "integrate",
		"run --help":                    "run",
		"":                              "",
		"--help":                        "",
		"-h status":                     "",
		"--format json status":          "",
		"help status":                   "",
		"stauts":                        "",
		"-m status":                     "",
		"-- status":                     "",
		"completion bash":               "",
		"manual dir":                    "",
		"__complete status":             "",
		cobra.ShellCompNoDescRequestCmd: "",
	} {
		var made []string
		for _, cmd := range programOf(t).root(strings.Fields(line)).Commands() {
			if cmd.Name() != "help" {
				made = append(made, cmd.Name())
			}
		}
		if want == "" && len(made) < 100 || want != "" && !slices.Equal(made, []string{want}) {
			t.Errorf("for %q there are %d verbs: %.3q", line, len(made), made)
		}
	}
}
