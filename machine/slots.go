package machine

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/juju/errors"
)

// slots bound how many hooks begin at once, over all models of this host: a thousand
// units that are deployed in one moment would have a thousand processes otherwise, each of
// which takes longer for it. A hook has its slot from before its journal until its
// processes have ended, or for slotTime: one that takes longer waits for something, which
// may be another unit's hook. So nobody waits for ever. Models have their turns, and the
// units of each come in the order in which they ask. It is safe for use by many goroutines.
type slots struct {
	mu    sync.Mutex
	free  int
	queue map[string][]*slot // by the model
	turns []string           // the models that have a queue: whose turn is next comes first
}

// slot is who waits for one.
type slot struct {
	had   chan struct{} // closed once it has one
	model string
}

// slotTime is how long a hook has its slot at most. It is by the host's own clock, as
// that is what has the work.
const slotTime = time.Second

func newSlots(many int) *slots { return &slots{free: many, queue: map[string][]*slot{}} }

// hooksAtOnce is how many hooks begin at once if nothing else is said, on a host with so
// many processors and bytes of memory; 0 bytes: nobody knows. There are several for each
// processor, as most of a hook's time is often the disk's.
func hooksAtOnce(processors int, memory uint64) int {
	const each = 128 << 20 // of an interpreter that has loaded a framework, and some more
	n := 4*processors + 4
	if memory > 0 {
		n = min(n, int(min(memory/each, 1<<20)))
	}
	return max(n, 2)
}

// hooksHere is hooksAtOnce for this host.
func hooksHere() int { return hooksAtOnce(runtime.NumCPU(), hostMemory()) }

// take waits for a slot for a unit of a model. waited says whether that took time; give
// gives it back, and may be called again.
func (s *slots) take(ctx context.Context, model string) (give func(), waited bool, err error) {
	one := &slot{had: make(chan struct{}), model: model}
	s.mu.Lock()
	if len(s.queue[model]) == 0 {
		s.turns = append(s.turns, model)
	}
	s.queue[model] = append(s.queue[model], one)
	s.grant()
	s.mu.Unlock()
	select {
	case <-one.had:
	default:
		waited = true
		select {
		case <-one.had:
		case <-ctx.Done():
			s.leave(one)
			return nil, true, errors.Trace(ctx.Err())
		}
	}
	back := sync.OnceFunc(s.back)
	timer := time.AfterFunc(slotTime, back)
	return func() {
		timer.Stop()
		back()
	}, waited, nil
}

// grant gives the free slots to those who wait. Its caller holds mu.
func (s *slots) grant() {
	for s.free > 0 && len(s.turns) > 0 {
		model := s.turns[0]
		s.turns = s.turns[1:]
		one := s.queue[model][0]
		s.queue[model] = s.queue[model][1:]
		if len(s.queue[model]) > 0 {
			s.turns = append(s.turns, model)
		} else {
			delete(s.queue, model)
		}
		s.free--
		close(one.had)
	}
}

// back is a slot that somebody has given back.
func (s *slots) back() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free++
	s.grant()
}

// leave is the end of somebody's waiting, who may have a slot by now.
func (s *slots) leave(one *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-one.had:
		s.free++
		s.grant()
		return
	default:
	}
	s.queue[one.model] = slices.DeleteFunc(s.queue[one.model], func(o *slot) bool { return o == one })
	if len(s.queue[one.model]) == 0 {
		delete(s.queue, one.model)
		s.turns = slices.DeleteFunc(s.turns, func(m string) bool { return m == one.model })
	}
}
