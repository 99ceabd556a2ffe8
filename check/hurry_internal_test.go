package check

import "testing"

// TestWhatNeverSettlesIsTriedInAHurry, if something has settled before, so that it is known how long that takes.
func TestWhatNeverSettlesIsTriedInAHurry(t *testing.T) {
	t.Parallel()
	pr := probe{promise: Killed, setUp: []string{"deploy app", "settle"}, parts: [][]string{{"config app a=b", "settle"}}}
	for _, c := range []struct {
		at      int
		why     string
		hurried bool
	}{
		{3, "not settled after 2m0s: app/0 is busy", true},
		{3, "not settled after 40 hooks", true},
		{1, "not settled after 2m0s: app/0 is busy", false},
		{3, `app/0: hook failed: "start"`, false},
	} {
		f := &failed{line: "settle", at: c.at, why: c.why}
		if _, hurried := new(player).trials(pr, f); hurried != c.hurried {
			t.Errorf("%s at %d: in a hurry: %t", c.why, c.at, hurried)
		}
		if got := pr.upTo(f); len(got) != c.at+1 || got[c.at] != "settle" {
			t.Errorf("up to %d there are %q", c.at, got)
		}
	}
}

// TestWhateverAWorldIsAtThatNeverSettlesIsOneCause, but not a container that doesn't come, or hooks without end.
func TestWhateverAWorldIsAtThatNeverSettlesIsOneCause(t *testing.T) {
	t.Parallel()
	cause := func(line, why string) string {
		_, cause := whatHappened(Killed, &failed{line: line, why: why})
		return cause
	}
	first := cause("settle", "not settled after 2m0s: app/0 is busy\n  app/0 runs start")
	if got := cause("settle", "not settled after 20s: the agent tries again: no room"); got != first {
		t.Errorf("%q is another cause than %q", got, first)
	}
	for _, other := range []string{
		cause("advance 10m", "not settled after 2m0s: app/0 is busy"), cause("settle 40", "not settled after 40 hooks"),
		cause("settle", "not settled after 2m0s: not there yet: app/0's db (starting)"),
	} {
		if other == first {
			t.Errorf("%q is the cause of something else, too", other)
		}
	}
}
