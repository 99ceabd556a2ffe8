package machine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/workload"
)

// showing is what people see of the containers of a unit.
type showing struct {
	changed chan struct{} // has room for one

	mu sync.Mutex
	// wanted are those that the unit is to have, pod which of its sets that is; failed
	// are the hooks of them that have failed and are run again.
	wanted []workload.Container
	pod    int
	failed map[string][]state.FailedHook

	// telling is held by who tells, for whom the rest is.
	telling sync.Mutex
	// shown is what was told last, found what another agent has told last; first is
	// the boot of each container that this agent has seen first.
	shown, found state.ContainersDoc
	first        map[string]string
}

func newShowing(found state.ContainersDoc) showing {
	return showing{changed: make(chan struct{}, 1), shown: found, found: found, first: map[string]string{}}
}

// want notes which containers there are to be.
func (s *showing) want(all []workload.Container, pod int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted, s.pod = all, pod
}

// hear notes which hooks of containers have failed and are run again.
func (s *showing) hear(l resolver.Local) {
	failed := map[string][]state.FailedHook{}
	for _, f := range l.StoodAside() {
		failed[f.Hook.Workload] = append(failed[f.Hook.Workload], state.FailedHook{Hook: f.Hook.String(), Reason: f.Failure.Message})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = failed
}

// tellContainers has people see how the unit's containers are: what the store is to
// have, if that is something else than what it has. It may be called by any
// goroutine.
func (u *unit) tellContainers(ctx context.Context) {
	s := &u.inPod.showing
	s.telling.Lock()
	defer s.telling.Unlock()
	now, ok := s.picture(u.inPod.containers.States(), u.clock.Now())
	now.Next = u.inPod.ahead.waits()
	if !ok || now.Same(s.shown) {
		return
	}
	s.shown = now
	ctx, cancel := outlive(ctx, lastWords)
	defer cancel()
	u.desire.say(ctx, state.Report{Containers: &now})
}

// showPod tells of the containers while the unit's agent runs a hook, too, until the
// end is called.
func (u *unit) showPod(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var over sync.WaitGroup
	over.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-u.inPod.showing.changed:
				u.tellContainers(ctx)
				u.idle() // whoever waits for what was to be told, and has seen it in the store already
			}
		}
	})
	return func() { cancel(); over.Wait() }
}

// picture is how the containers are, as of that time; false: it isn't known yet
// which there are.
func (s *showing) picture(states []workload.State, now time.Time) (state.ContainersDoc, bool) {
	s.mu.Lock()
	wanted, pod, failed := s.wanted, s.pod, s.failed
	s.mu.Unlock()
	if len(wanted) == 0 {
		return state.ContainersDoc{}, false
	}
	doc := state.ContainersDoc{Pod: pod}
	for _, w := range wanted {
		c := state.ContainerDoc{Name: w.Name, Image: w.Image.Reference.String(), Digest: w.Digest, Since: now, State: state.ContainerFetching, Failed: failed[w.Name]}
		i := slices.IndexFunc(states, func(s workload.State) bool { return s.Name == w.Name })
		if i >= 0 {
			c = seenOf(c, states[i])
		}
		doc.Containers = append(doc.Containers, c)
	}
	return s.since(doc), true
}

// seenOf adds to a container what its Pebble and its supervision say.
func seenOf(c state.ContainerDoc, s workload.State) state.ContainerDoc {
	c.State, c.Fault, c.NoImage, c.Lost = state.ContainerState(s.Phase), s.Fault, s.NoImage, s.Lost
	c.Restarts, c.Boot, c.Version = s.Restarts, s.Pebble.Boot, s.Pebble.Version
	if c.Fault == "" {
		c.Fault = s.Pebble.Fault
	}
	for _, check := range s.Pebble.Checks {
		c.Checks = append(c.Checks, state.ContainerCheck{
			Name: check.Name, Level: string(check.Level), Status: check.Status, Threshold: check.Threshold,
		})
	}
	for _, service := range s.Pebble.Services {
		c.Services = append(c.Services, state.ContainerService{
			Name: service.Name, Startup: service.Startup, Current: service.Current, Since: service.Since,
		})
	}
	return c
}

// since is how the containers are, with what only who has seen them before can know:
// since when they are so, and what of them other agents have seen.
func (s *showing) since(doc state.ContainersDoc) state.ContainersDoc {
	for i := range doc.Containers {
		c := &doc.Containers[i]
		if former, had := containerOf(s.found, doc.Pod, c.Name); had {
			*c = s.goesOn(*c, former)
		}
		before, was := containerOf(s.shown, doc.Pod, c.Name)
		if !was {
			continue
		}
		if c.Boot == "" {
			c.Boot, c.Version = before.Boot, before.Version
		}
		if c.State == before.State && c.Boot == before.Boot {
			c.Since = before.Since
		}
	}
	return doc
}

// goesOn is a container that another agent has seen before. As long as this one
// hasn't found out anything, it is as that one has seen it.
func (s *showing) goesOn(c, former state.ContainerDoc) state.ContainerDoc {
	if s.first[c.Name] == "" {
		s.first[c.Name] = c.Boot
	}
	first := s.first[c.Name]
	if first == "" && c.Fault == "" && c.Restarts == 0 && former.State == state.ContainerRunning && c.State != state.ContainerStopped {
		former.Failed = c.Failed
		return former
	}
	c.Restarts += former.Restarts
	if first != "" && former.Boot != "" && first != former.Boot {
		c.Restarts++ // it has ended while no agent was there
	}
	return c
}

// containerOf finds a container of a set of the unit's.
func containerOf(doc state.ContainersDoc, pod int, name string) (state.ContainerDoc, bool) {
	i := slices.IndexFunc(doc.Containers, func(c state.ContainerDoc) bool { return c.Name == name })
	if i < 0 || doc.Pod != pod {
		return state.ContainerDoc{}, false
	}
	return doc.Containers[i], true
}
