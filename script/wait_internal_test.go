package script

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
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

// TestSettleThatGivesUpNamesTheContainersThatAreStillComing, as an image may be large.
func TestSettleThatGivesUpNamesTheContainersThatAreStillComing(t *testing.T) {
	t.Parallel()
	w := &world{ctx: t.Context(), patience: patience}
	for want, coming := range map[string][]string{
		"not settled after 2m0s: context deadline exceeded":                                    nil,
		"not settled after 2m0s: not there yet: app/0's db (starting), app/0's web (fetching)": {"app/0's db (starting)", "app/0's web (fetching)"},
	} {
		if got := w.unsettled(context.DeadlineExceeded, coming).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
