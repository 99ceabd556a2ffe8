package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
)

// TestRunsGoByTheirNumbers: a run is "UNIT RUN@MINUTE", with "=NEWEST" where that
// is another one, and "ID:" of a former unit before it; without a minute nobody
// knows when it began.
func TestRunsGoByTheirNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, a, b, want string }{
		{"one unit", "1@0 2@1 3@2", "", "a1 a2 a3"},
		{"two by when they began", "1@0 2@2", "1@1 2@3", "a1 b1 a2 b2"},
		{"a clock that was ahead", "1@0 2@1560 3@2", "1@1 2@3", "a1 b1 a2 a3 b2"},
		{"a clock that was set back", "1@100 2@3 3@4", "1@101 2@4", "a1 a2 a3 b1 b2"},
		{"as they were written, out of their order", "1@0 3@2 2@1", "", "a1 a2 a3"},
		{"one that was skipped after a task", "1@0 2@1 1=2", "", "a1 a2 a1"},
		{"one whose agent was killed", "1@0 2 3@2", "1@1", "a1 a2 b1 a3"},
		{"a later unit of the same name", "x:1@0 x:2@1 y:1@5 y:2@6", "", "a1 a2 a1 a2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, e := range history.Merge(runs(t, "a", tt.a), runs(t, "b", tt.b)) {
				got = append(got, fmt.Sprintf("%s%d", e.Unit, e.Run))
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func runs(t *testing.T, unit model.UnitName, text string) (out []history.Entry) {
	t.Helper()
	for _, word := range strings.Fields(text) {
		e := history.Entry{Unit: unit}
		if id, rest, ok := strings.Cut(word, ":"); ok {
			e.ID, word = id, rest
		}
		word, at, known := strings.Cut(word, "@")
		run, newest, _ := strings.Cut(word, "=")
		for text, n := range map[string]*int64{run: &e.Run, newest: &e.Newest} {
			if _, err := fmt.Sscan(text, n); err != nil && text != "" {
				t.Fatal(err)
			}
		}
		if known {
			minute := 0
			if _, err := fmt.Sscan(at, &minute); err != nil {
				t.Fatal(err)
			}
			e.Started = time.Date(2026, 3, 3, 9, minute, 0, 0, time.UTC)
		}
		out = append(out, e)
	}
	return out
}
