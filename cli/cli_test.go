package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/cli"
)

// matches says whether an error is the one that is wanted, an expression; empty is
// none. It has to be one line.
func matches(err error, want string) bool {
	if err == nil || want == "" {
		return err == nil && want == ""
	}
	return regexp.MustCompile(want).MatchString(err.Error()) && !strings.Contains(err.Error(), "\n")
}

// TestEachVerbIsWhole: each has its place in the table once, an example of its own,
// and completes its arguments.
func TestEachVerbIsWhole(t *testing.T) {
	t.Parallel()
	var names []string
	for _, g := range cli.Groups(newWorld(t).inside) {
		if g.Title == "" {
			t.Error("a group has no title")
		}
		for _, verb := range g.Verbs {
			cmd := verb.Make()
			if slices.Contains(names, cmd.Name()) {
				t.Errorf("%s is there twice", cmd.Name())
			}
			names = append(names, cmd.Name())
			if !strings.Contains(cmd.Example, "unitd "+cmd.Name()+" ") || cmd.Short == "" || cmd.Long == "" {
				t.Errorf("%s has no example, or no text", cmd.Name())
			}
			if cmd.ValidArgsFunction == nil {
				t.Errorf("%s completes nothing", cmd.Name())
				continue
			}
			if units, _ := cmd.ValidArgsFunction(cmd, nil, "po"); len(units) != 1 || !strings.HasPrefix(units[0], "pod/0") {
				t.Errorf("%s completes units as %q", cmd.Name(), units)
			}
		}
	}
}
