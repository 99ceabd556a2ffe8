package machine_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state/store"
)

// lossyStore is a store whose notices about a model are lost, come twice, or
// come late, as chance has it. Whenever one was lost time passes, until the
// agent has looked at everything once more: by itself it never would.
type lossyStore struct {
	store.Store
	clock *lab.Clock

	mu     sync.Mutex
	chance *rand.Rand // nil: nothing is lost
	// lost counts the notices that were; told how many of them had been when the
	// agent began to look at everything, healed those that it has made up for.
	lost, told, healed int
	armed              bool // the agent waits for the time to look again
}

// longer makes leases that outlive all the time that passes.
const longer = 1_000_000

// Grant is part of store.Store.
func (s *lossyStore) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	return s.Store.Grant(ctx, longer*ttl)
}

// Watch is part of store.Store.
func (s *lossyStore) Watch(ctx context.Context, of []store.Keys, from int64) (<-chan store.Batch, error) {
	in, err := s.Store.Watch(ctx, of, from)
	if err != nil || !strings.HasPrefix(of[0].Key, "m/") {
		return in, err
	}
	out := make(chan store.Batch)
	go func() {
		defer close(out)
		var late []store.Batch
		for b := range in {
			var now []store.Batch
			switch s.roll(8) {
			case 1:
				s.lose()
			case 2:
				late = append(late, b)
				s.lose() // until it comes
			case 3:
				now = []store.Batch{b, b}
			case 4:
				now = append([]store.Batch{b}, late...)
				late = nil
			default:
				now = []store.Batch{b}
			}
			for _, b := range now {
				select {
				case out <- b:
				case <-ctx.Done(): // in is closed then
				}
			}
		}
	}()
	return out, nil
}

func (s *lossyStore) roll(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chance == nil {
		return 0
	}
	return s.chance.IntN(n)
}

func (s *lossyStore) lose() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost++
	s.pass()
}

// pass lets the time pass until the agent looks at everything, if something was
// lost since it did. The store is locked.
func (s *lossyStore) pass() {
	if s.armed && s.lost > s.healed {
		s.armed, s.told = false, s.lost
		s.clock.Set(s.clock.Now().Add(machine.ResyncInterval))
	}
}

// losses is how many notices were lost, and whether all were made up for.
func (s *lossyStore) losses() (lost int, healed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost, s.lost == s.healed
}

// rounds is machine.Config.Rounds of an agent by the store's clock: it tells the
// store when the agent has looked at everything, and waits for the next time.
func (s *lossyStore) rounds(_ context.Context, d time.Duration) <-chan func() {
	due := make(chan func(), 1)
	s.clock.AfterFunc(d, func() { due <- func() {} })
	if d == machine.ResyncInterval {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.armed, s.healed = true, s.told
		s.pass()
	}
	return due
}
