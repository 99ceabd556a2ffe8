package script

import (
	"slices"
	"strings"
	"testing"
)

// TestTheUnitsAndTheActionOfARun, in so far as a script can tell them from its flags.
func TestTheUnitsAndTheActionOfARun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, line, units, action string }{
		{"units, an action, and parameters", "a/0 a/leader act k=/v b/1", "a/0 a/leader", "act"},
		{"a flag with its value first", "--format json a/0 act", "a/0", "act"},
		{"a value behind =, and flags without", "--format=json --background a/0 --string-args act", "a/0", "act"},
		{"short, and between", "a/0 -o out/file a/1 --wait 5m act", "a/0 a/1", "act"},
		{"flags behind the action", "a/0 act --params x/y", "a/0", "act"},
		{"another model's units aren't this one's", "-m other a/0 act", "", ""},
		{"a flag that nobody knows may have a value", "a/0 --what act", "a/0", ""},
		{"no action", "a/0 --format json", "a/0", ""},
		{"no unit", "act a/0", "", "act"},
		{"a flag without its value", "a/0 --format", "a/0", ""},
	} {
		units, action := unitsAndAction(strings.Fields(c.line))
		if !slices.Equal(units, strings.Fields(c.units)) || action != c.action {
			t.Errorf("%s: %q has units %q and action %q, want %q and %q", c.name, c.line, units, action, c.units, c.action)
		}
	}
}
