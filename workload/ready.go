package workload

import (
	"context"
	"time"

	"github.com/unitd/unitd/pebble"
)

// readyPeriod is how often a kubelet looks whether a container can serve; one
// failure is enough. Source: docs/spec/containers.md §5.1.
const readyPeriod = 5 * time.Second

// Readiness says whether a container can serve.
type Readiness string

// The kinds of readiness. It is unknown until a container has been asked that a
// former agent has left running.
const (
	Unknown  Readiness = ""
	Ready    Readiness = "ready"
	NotReady Readiness = "not-ready"
)

// watchReady keeps what is known of whether the container is ready, until ctx ends:
// whether its Pebble answers and no check of the level ready is down. Whatever
// its Pebble tells is a reason to look at once.
func (c *container) watchReady(ctx context.Context) {
	client := pebble.New(c.Socket())
	for {
		healthy, err := client.Health(ctx, pebble.LevelReady)
		if ctx.Err() != nil {
			return
		}
		is := NotReady
		if healthy && err == nil {
			is = Ready
		}
		c.ready(is)
		timer := time.NewTimer(readyPeriod)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-c.news:
		}
		timer.Stop()
	}
}

// ready notes whether the container is ready.
func (c *container) ready(is Readiness) {
	if c.now().Ready != is {
		c.change(func(s *State) { s.Ready = is })
	}
}

// Settled says whether nothing is about to change by itself in a container: it
// runs and it is known whether it can serve, or it waits or is held.
func (s State) Settled() bool {
	switch s.Phase {
	case Fetching:
		return false
	case Starting:
		return s.Pebble.Fault != "" // it hangs, or is somebody else: nobody waits for that
	case Running:
		return s.Ready != Unknown
	}
	return true
}
