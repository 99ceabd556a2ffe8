package workload

import (
	"context"
	"os"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pebble"
)

// How kubelets look whether a container is alive. Source: docs/spec/containers.md
// §5.1.
const (
	startupPeriod   = time.Second
	startupFailures = 30
	livePeriod      = 5 * time.Second
	liveFailures    = 3
)

// probe looks whether the container is alive, until ctx ends (empty), or it isn't:
// then it says why. A container that was found has started before.
func (c *container) probe(ctx context.Context, found bool) string {
	client := pebble.New(c.Socket())
	period, limit := startupPeriod, startupFailures
	if found {
		period, limit = livePeriod, liveFailures
	}
	for failures := 0; ; {
		timer := time.NewTimer(period)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ""
		case <-timer.C:
		}
		if c.unit.isHeld(c.Name) {
			failures = 0 // whoever holds it wants it as it is
			continue
		}
		healthy, err := client.Health(ctx, pebble.LevelAlive)
		if ctx.Err() != nil {
			return ""
		}
		if healthy && err == nil {
			failures, period, limit = 0, livePeriod, liveFailures
			continue
		}
		if failures++; failures < limit {
			continue
		}
		if err != nil {
			return "its Pebble doesn't answer: " + errors.Cause(err).Error()
		}
		return "one of its checks of level alive is down"
	}
}

// own gives a directory to a user, where that isn't so and may be.
func own(dir string, uid, gid int) error {
	if os.Geteuid() != 0 {
		return nil // all belongs to the one user that there is
	}
	return errors.Trace(os.Lchown(dir, uid, gid))
}
