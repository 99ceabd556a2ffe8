package cli

import (
	"testing"
	"time"

	"github.com/unitd/unitd/script"
)

// TestWithoutATerminalALineSaysNowAndThenWhatRuns, and none while there is other news.
func TestWithoutATerminalALineSaysNowAndThenWhatRuns(t *testing.T) {
	t.Parallel()
	now, told := time.Unix(0, 0), 0
	tell := nowAndThen(func() time.Time { return now }, func(script.Progress) { told++ })
	runs := script.Progress{Of: 2, Running: []script.RunningScript{{Name: "one", For: time.Second}}}
	for _, step := range []struct {
		after time.Duration
		p     script.Progress
		want  int
	}{
		{29 * time.Second, runs, 0},
		{time.Second, runs, 1},
		{29 * time.Second, runs, 1},
		{time.Second, runs, 2},
		{20 * time.Second, script.Progress{}, 2}, // an outcome was printed
		{20 * time.Second, runs, 2},
		{10 * time.Second, runs, 3},
	} {
		now = now.Add(step.after)
		if tell(step.p); told != step.want {
			t.Fatalf("at %s: told %d times, want %d", now.Sub(time.Unix(0, 0)), told, step.want)
		}
	}
}

// TestTheScriptsThatRunLongestAreNamed, and the others counted.
func TestTheScriptsThatRunLongestAreNamed(t *testing.T) {
	t.Parallel()
	var p script.Progress
	for _, name := range []string{"one", "two", "three", "four", "five"} {
		p.Running = append(p.Running, script.RunningScript{Name: name, For: 1500 * time.Millisecond})
	}
	if got, want := runningText(p), "one 2s, two 2s, three 2s, 2 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
