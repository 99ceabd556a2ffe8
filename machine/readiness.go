package machine

import (
	"context"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/workload"
)

// noPod is the number of a pod that there isn't.
const noPod = -1

// readiness tells the model which pod a container unit has, and whether that takes
// part in what its application does: its charm has started in it, and all of its
// containers are ready. It works beside the unit's agent, as hooks may take long.
// Source: docs/spec/containers.md §5.1.
type readiness struct {
	rounds
	unit *unit

	mu sync.Mutex
	// has is the pod that the unit has, noPod as long as its agent hasn't said; begun
	// says that the charm has started in it.
	has   int
	begun bool
	// containers are those of the pod with the number of; nil: such units have none on
	// this host.
	containers *workload.Unit
	of         int

	telling sync.Mutex // held while the model is told
	told    *podTold   // what it was told last; nil: nothing
}

type podTold struct {
	has   int
	ready bool
}

func newReadiness(u *unit, idle func()) *readiness {
	r := &readiness{unit: u, has: noPod, of: noPod}
	r.begin(u.clock, idle)
	return r
}

// run tells it until ctx ends.
func (r *readiness) run(ctx context.Context) { r.work(ctx, r.round) }

// hear takes what the unit's agent remembers.
func (r *readiness) hear(l resolver.Local) {
	if !l.Untouched() {
		r.set(l.Pod, l.Started && !l.Replaced && !l.Stopped)
	}
}

func (r *readiness) set(has int, begun bool) {
	r.mu.Lock()
	moved := r.has != has || r.begun != begun
	r.has, r.begun = has, begun
	r.mu.Unlock()
	if moved {
		r.poke()
	}
}

// watch has the containers looked at that are those of a pod.
func (r *readiness) watch(containers *workload.Unit, of int) {
	r.mu.Lock()
	r.containers, r.of = containers, of
	r.mu.Unlock()
	r.poke()
}

// take tells the model that the unit begins to have a pod; so it isn't ready.
func (r *readiness) take(ctx context.Context, pod int) error {
	r.set(pod, false)
	r.telling.Lock()
	defer r.telling.Unlock()
	return errors.Trace(r.tell(ctx, podTold{has: pod}))
}

func (r *readiness) round(ctx context.Context) (again bool) {
	r.telling.Lock()
	defer r.telling.Unlock()
	now, known := r.look()
	if !known {
		return false
	}
	err := r.tell(ctx, now)
	if err == nil || errors.Is(err, errors.NotFound) || ctx.Err() != nil {
		return false
	}
	r.unit.log.Error("cannot tell whether a unit is ready", "unit", r.unit.name, "err", err)
	return true
}

// tell is for who holds r.telling.
func (r *readiness) tell(ctx context.Context, now podTold) error {
	if r.told != nil && *r.told == now {
		return nil
	}
	if err := r.unit.model.TellPod(ctx, r.unit.name, now.has, now.ready); err != nil {
		return errors.Trace(err)
	}
	r.told = &now
	return nil
}

// look is how it is; known is false as long as nobody knows, as where the agent has
// just begun and finds containers that another one has left.
func (r *readiness) look() (now podTold, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now = podTold{has: r.has, ready: r.begun}
	if r.has == noPod || !r.begun || r.containers == nil {
		return now, r.has != noPod
	}
	if r.of != r.has {
		return podTold{has: r.has}, r.of != noPod
	}
	known = true
	for _, s := range r.containers.States() {
		known = known && s.Ready != workload.Unknown
		if s.Ready == workload.NotReady {
			return podTold{has: r.has}, true
		}
	}
	return now, known
}

// settled says whether all was told, and nothing is about to change in the
// containers.
func (r *readiness) settled() bool {
	r.mu.Lock()
	containers := r.containers
	r.mu.Unlock()
	if containers != nil {
		for _, s := range containers.States() {
			if !s.Settled() {
				return false
			}
		}
	}
	return r.rounds.settled()
}
