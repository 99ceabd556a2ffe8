package script

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/unitd/unitd/script/lab"
)

// TestPatienceLastsWhileImagesAreFetched: what has come further begins it anew, and
// what stands still doesn't.
func TestPatienceLastsWhileImagesAreFetched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, more, cancel := patiently(t.Context(), 2*time.Minute)
		defer cancel()
		for _, s := range []struct {
			fetched int64
			after   time.Duration
			over    bool
		}{{1, 90 * time.Second, false}, {2, 90 * time.Second, false}, {2, 20 * time.Second, false}, {2, 20 * time.Second, true}, {3, time.Second, true}} {
			more(s.fetched)
			time.Sleep(s.after) // of the bubble's clock
			if over := ctx.Err() != nil; over != s.over {
				t.Fatalf("with %d fetched, %s later: over: %t", s.fetched, s.after, over)
			}
		}
	})
}

// TestSettleThatGivesUpSaysWhatFor: the containers that are still coming, as an image may be large, or
// what else the agent is at.
func TestSettleThatGivesUpSaysWhatFor(t *testing.T) {
	t.Parallel()
	w := &world{ctx: t.Context()}
	for want, last := range map[string]lab.Answer{
		"not settled after 2m0s: the agent doesn't say why":                                    {},
		"not settled after 2m0s: app/0 is busy":                                                {Busy: "app/0 is busy"},
		"not settled after 2m0s: not there yet: app/0's db (starting), app/0's web (fetching)": {Busy: "?", Coming: []string{"app/0's db (starting)", "app/0's web (fetching)"}},
	} {
		if got := w.unsettled(last, patience).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
