package machine

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSlotsFollowTheHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		processors int
		memory     uint64
		want       int
	}{
		{1, 0, 8}, {2, 24 << 30, 12}, {16, 64 << 30, 68}, {16, 1 << 30, 8}, {4, 64 << 20, 2}, {1000, 1 << 62, 4004},
	} {
		if got := hooksAtOnce(c.processors, c.memory); got != c.want {
			t.Errorf("%d processors, %d bytes: %d, want %d", c.processors, c.memory, got, c.want)
		}
	}
}

// Models have their turns: one with many units doesn't keep another one waiting.
func TestModelsTakeSlotsInTurn(t *testing.T) {
	t.Parallel()
	s := newSlots(1)
	give, waited, err := s.take(t.Context(), "large")
	if err != nil || waited {
		t.Fatal(waited, err)
	}
	got := make(chan string)
	var all sync.WaitGroup
	ask := func(model, name string) {
		before := s.waiting()
		all.Go(func() {
			give, waited, err := s.take(t.Context(), model)
			if err != nil || !waited {
				t.Error(waited, err)
				return
			}
			got <- name
			give()
			give() // again does nothing
		})
		for s.waiting() == before {
			time.Sleep(time.Millisecond) // until it waits
		}
	}
	for i := range 3 {
		ask("large", fmt.Sprint("large/", i))
	}
	ask("small", "small/0")
	give()
	var order []string
	for range 4 {
		order = append(order, <-got)
	}
	all.Wait()
	if want := []string{"large/0", "small/0", "large/1", "large/2"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	if s.free != 1 {
		t.Errorf("%d are free", s.free)
	}
}

// waiting is how many wait.
func (s *slots) waiting() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queue {
		n += len(q)
	}
	return n
}

// A hook that takes long lets others begin: it may wait for one of them.
func TestALongHookDoesntKeepASlot(t *testing.T) {
	t.Parallel()
	s := newSlots(1)
	give, _, err := s.take(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	defer give()
	other, waited, err := s.take(t.Context(), "m")
	if err != nil || !waited {
		t.Fatal(waited, err)
	}
	other()
}

// However many come, give up and go, there are as many slots as before.
func TestSlotsAreNeitherLostNorMade(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		many := rapid.IntRange(1, 3).Draw(t, "slots")
		s := newSlots(many)
		var all sync.WaitGroup
		var mu sync.Mutex
		held, most := 0, 0
		for i := range rapid.IntRange(1, 30).Draw(t, "units") {
			model := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "model")
			ctx, cancel := context.WithCancel(context.Background())
			if rapid.Bool().Draw(t, "gives up") {
				go cancel()
			}
			all.Go(func() {
				defer cancel()
				give, _, err := s.take(ctx, model)
				if err != nil {
					return
				}
				mu.Lock()
				held++
				most = max(most, held)
				mu.Unlock()
				if i%3 == 0 {
					runtime.Gosched()
				}
				mu.Lock()
				held--
				mu.Unlock()
				give()
			})
		}
		all.Wait()
		if most > many || s.free != many || len(s.queue) > 0 || len(s.turns) > 0 {
			t.Fatalf("%d at once of %d, %d free, %v wait", most, many, s.free, s.turns)
		}
	})
}
