package script

import (
	"context"
	"testing"
)

// TestSettleThatGivesUpNamesTheContainersThatAreStillComing, as an image may be large.
func TestSettleThatGivesUpNamesTheContainersThatAreStillComing(t *testing.T) {
	t.Parallel()
	w := &world{ctx: t.Context()}
	for want, coming := range map[string][]string{
		"not settled after 2m0s: context deadline exceeded":                                    nil,
		"not settled after 2m0s: not there yet: app/0's db (starting), app/0's web (fetching)": {"app/0's db (starting)", "app/0's web (fetching)"},
	} {
		if got := w.unsettled(context.DeadlineExceeded, coming).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
