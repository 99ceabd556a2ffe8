package bundle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/bundle"
)

// placed is a bundle with so many units of each application, as "a 3 [0, new]",
// and machines 0 and 1 where one of them is named.
func placed(t *testing.T, apps ...string) (*bundle.Bundle, map[string]int) {
	t.Helper()
	var text strings.Builder
	units, machines := map[string]int{}, map[string]bool{}
	text.WriteString("applications:\n")
	for _, app := range apps {
		var name string
		var n int
		if _, err := fmt.Sscanf(app, "%s %d", &name, &n); err != nil {
			t.Fatal(err)
		}
		to := strings.Join(strings.Fields(app)[2:], " ")
		units[name] = n
		fmt.Fprintf(&text, "  %s: {charm: ./%s, to: %s}\n", name, name, to)
		for _, id := range []string{"0", "1"} {
			machines[id] = machines[id] || slices.Contains(strings.FieldsFunc(to, func(r rune) bool { return strings.ContainsRune("[]\", ", r) }), id)
		}
	}
	text.WriteString("machines:\n")
	for _, id := range []string{"0", "1"} {
		if machines[id] {
			fmt.Fprintf(&text, "  %q: {constraints: mem=1G}\n", id)
		}
	}
	b, err := bundle.Parse("b.yaml", []byte(text.String()))
	if err != nil {
		t.Fatalf("%v:\n%s", err, text.String())
	}
	return b, units
}

// TestPlaces: where units go, by what the bundle says.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		apps []string
		want string // of the last application
	}{
		{"nothing said is nothing", []string{"a 2 null"}, ""},
		{"a machine", []string{"a 1 0"}, "0"},
		{"a list", []string{"a 2 [1, 0]"}, "1 0"},
		{"a text with commas", []string{`a 2 "0, 1"`}, "0 1"},
		{"new is a machine for each", []string{"a 2 [new, new]"}, "new new"},
		{"the last one counts for the rest", []string{"a 4 [0, 1]"}, "0 1 1 1"},
		{"the last one, where it is new", []string{"a 3 [0, new]"}, "0 new new"},
		{"with a unit", []string{"b 2 null", "a 2 [b/1, b/0]"}, "b/1 b/0"},
		{"a unit counts for the rest, too", []string{"b 2 null", "a 3 [b/1]"}, "b/1 b/1 b/1"},
		{"an application is its units one after the other", []string{"b 2 null", "a 2 [b]"}, "b/0 b/1"},
		{"an application after one of its units is the next one", []string{"b 3 null", "a 3 [b/1, b, new]"}, "b/1 b/2 new"},
		{"applications have numbers of their own", []string{"b 2 null", "c 2 null", "a 4 [b, c, b, c]"}, "b/0 c/0 b/1 c/1"},
		{"no unit, no place", []string{"a 0 null"}, ""},
		{"more places than units", []string{"a 1 [0, new]"}, "b.yaml:2: a.to: 2 places for 1 units"},
		{"a unit that isn't there", []string{"b 1 null", "a 1 b/1"}, "b.yaml:3: a.to: unit 0 is to be with b/1, and the bundle has 1 units of b"},
		{"more units than the other has", []string{"b 1 null", "a 2 b"}, "b.yaml:3: a.to: unit 1 is to be with b/1, and the bundle has 1 units of b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, units := placed(t, test.apps...)
			all, err := b.Places(units)
			var got []string
			for _, p := range all["a"] {
				switch {
				case p.Machine != "":
					got = append(got, p.Machine)
				case p.With != "":
					got = append(got, string(p.With))
				default:
					got = append(got, "new")
				}
			}
			if err != nil {
				got = []string{err.Error()}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%v, want %s", got, test.want)
			}
		})
	}
}

// TestOrder: applications come after those that they are placed with.
func TestOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		apps []string
		want string
	}{
		{"that of the file", []string{"c 1 null", "a 1 0", "b 1 new"}, "c a b"},
		{"after those that they are with", []string{"a 1 b", "c 1 null", "b 1 d/0", "d 1 0"}, "d b a c"},
		{"none in a circle", []string{"a 1 b", "b 1 a/0"}, "b.yaml:2: a.to: its units are placed with others that are placed with its own"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, _ := placed(t, test.apps...)
			order, err := b.Order()
			got := strings.Join(order, " ")
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
