package runner

import (
	"context"
	"testing"
	"time"
)

// A process that no signal ends, as one that waits for a disk that doesn't
// answer, is not waited for for ever, nor once the agent is to stop.
func TestAProcessThatCannotBeEndedIsGivenUp(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		bound time.Duration
	}{
		"after a while":             {context.Background(), 20 * time.Millisecond},
		"as soon as its agent ends": {cancelled, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pids, kills := []int{11, 12}, 0
			look := func() []int { return pids }
			kill := func(pid int) {
				if kills++; pid == 12 {
					pids = []int{11}
				}
			}
			found, left := endLeftover(c.ctx, c.bound, look, kill)
			if found != 2 || left < 1 || kills < 2 {
				t.Errorf("found %d, left %d, after %d signals", found, left, kills)
			}
		})
	}
}
