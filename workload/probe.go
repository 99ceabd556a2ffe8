package workload

import (
	"context"
	"slices"
	"strings"
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
		c.boundLog()
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
		return downChecks(ctx, client)
	}
}

// downChecks says which checks have it that the container isn't alive.
func downChecks(ctx context.Context, client *pebble.Client) string {
	checks, err := client.Checks(ctx, pebble.LevelAlive)
	if err != nil {
		checks = nil // it went meanwhile: what is known is said
	}
	var names []string
	for _, c := range checks {
		if c.Status == "down" {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	switch len(names) {
	case 0:
		return "one of its checks of level alive is down"
	case 1:
		return "its check " + names[0] + " of level alive is down"
	}
	return "its checks of level alive are down: " + strings.Join(names, ", ")
}
