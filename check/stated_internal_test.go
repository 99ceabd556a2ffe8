package check

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/model"
)

// TestADescriptionSaysWhatIsWrong: only where its words can hardly mean anything else, and the default agrees.
func TestADescriptionSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind  string
		usual any
		text  string
		want  string // the values
		words string // of the last one
	}{
		{"int", int64(3), "How many shelves each unit has, from 1 to 9.", "0 10", "from 1 to 9"},
		{"int", int64(3), "Between 1 and 9, or 0 for none.", "10", "Between 1 and 9"},
		{"int", int64(3), "From 1 to 9. More than 9, such as 10, is for giants.", "0", "From 1 to 9"},
		{"int", int64(3), "From -5 to 10.", "-6 11", "From -5 to 10"},
		{"float", 0.2, "From 0 to 1.", "-1 2", "From 0 to 1"},
		{"float", 0.2, "From 0.1 to 1.5", "-0.9 2.5", "From 0.1 to 1.5"},
		{"int", int64(2), "It must be at least 1 and must be at most 7.", "0 8", "must be at most 7"},
		{"int", int64(0), "From 1 to 9; off by default.", "", ""},
		{"int", int64(3), "Must be at least 3 when ha is on.", "", ""},
		{"int", int64(20), "The default was raised from 10 to 20.", "", ""},
		{"string", "a", "Must not be empty if tls is on. It is a name.", "", ""},
		{"int", nil, "From 1 to 9.", "", ""},
		{"int", int64(3), "From 1 to 9 by day, from 1 to 5 at night.", "", ""},
		{"int", int64(3), "Units 1 to 9 get at least 2 of them.", "", ""},
		{"int", int64(2), "From 1.5 to 3.", "4", "From 1.5 to 3"},
		{"string", "3", "From 1 to 9.", "", ""},
		{"string", "waste not", "It must not be empty.", "", "must not be empty"},
		{"string", "", "It must not be empty.", "", ""},
		{"string", "a", "Who comes can't be empty-handed.", "", ""},
		{"string", "info", "The level. Must be one of: debug, info, or error.", unlisted, "debug, info, or error"},
		{"string", "info", "It has to be one of `debug`, 'info' or \"error\"", unlisted, "`debug`, 'info' or \"error\""},
		{"string", "warn", "Must be one of debug, info or error.", "", ""},
		{"string", "info", "Must be one of debug, info or what the application knows.", "", ""},
		{"string", "info", "One of debug, info and others.", "", ""},
		{"boolean", true, "From 1 to 9. It must not be empty.", "", ""},
	} {
		all := statedWrong(model.ConfigOption{Type: test.kind, Default: test.usual, Description: test.text})
		var values []string
		words := ""
		for _, s := range all {
			values = append(values, s.value)
			words = s.words
		}
		if got := strings.Join(values, " "); got != test.want || words != test.words {
			t.Errorf("%s %v %q: %q by %q, want %q by %q", test.kind, test.usual, test.text, got, words, test.want, test.words)
		}
	}
}

// TestWhatRefusesIsntLeftOut: of a unit that is active with a wrong option stays the line that has set it, and the
// cause is that option's.
func TestWhatRefusesIsntLeftOut(t *testing.T) {
	t.Parallel()
	w := world()
	w.Charm.Options = map[string]model.ConfigOption{"depth": {Type: "int", Default: int64(3), Description: "From 1 to 9."}}
	p := refusing(w, []string{"deploy", "settle", "config shop port=2", "settle"})
	if want := []string{"config shop depth=10", "settle", "! workload shop/0 active", "config shop --reset depth", "settle"}; len(p.parts) != 2 || !slices.Equal(p.parts[1], want) {
		t.Fatalf("got %q", p.parts)
	}
	lines := slices.Concat(p.setUp, p.lines()[:8])
	claim := lines[len(lines)-1]
	fail := func(lines []string) *failed {
		last := len(lines) - 1
		if lines[0] != "deploy" || lines[last] != claim {
			return nil
		}
		return &failed{line: claim, at: last, why: "it succeeded, and was to fail", set: wrongly(lines[:last], claim)}
	}
	f := fail(lines)
	what, cause := whatHappened(WrongConfig, f)
	if what != "shop/0 is active with depth=10" || cause != "wrong-config: active: depth" {
		t.Errorf("it says %q because of %q", what, cause)
	}
	if got := w.inItsWords(f.set); got != `, though its description says "From 1 to 9"` {
		t.Errorf("why: %q", got)
	}
	s := &shrinking{ctx: t.Context(), promise: WrongConfig, cause: cause, until: time.Now().Add(time.Minute), play: func(setUp, steps []string) error {
		if f := fail(slices.Concat(setUp, steps)); f != nil {
			return f
		}
		return nil
	}}
	short, _, _, _, err := s.shrink(lines, f)
	if want := []string{"deploy", "config shop depth=10", "settle", claim}; err != nil || !slices.Equal(short, want) {
		t.Errorf("%v: got %q, want %q", err, short, want)
	}
}
