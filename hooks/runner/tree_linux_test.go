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
			alive, kills := []process{{pid: 11}, {pid: 12}}, 0
			find := func() []process { return alive }
			kill := func(p process) {
				if kills++; p.pid == 12 {
					alive = []process{{pid: 11}}
				}
			}
			found, left := killAll(c.ctx, c.bound, find, kill, func() {})
			if found != 2 || left < 1 || kills < 2 {
				t.Errorf("found %d, left %d, after %d signals", found, left, kills)
			}
		})
	}
}
