package publish

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"
)

// Want is a forward that somebody wants.
type Want struct {
	// Listen opens the listener; it is called when there is none yet, and again
	// by each later Apply as long as it fails.
	Listen func() (net.Listener, error)
	// Backends are those of Forward.To.
	Backends []string
}

// Set has the forwards that are wanted, by name. The zero value has none. It is safe
// for use by many goroutines.
type Set struct {
	mu  sync.Mutex
	all map[string]*Forward
}

// Apply has those forwards there that are wanted, and no others: one that was there
// by its name already goes on, with the backends that are wanted now. They end
// with ctx, that of the first Apply for each. failed says why there is no listener,
// by name.
func (s *Set) Apply(ctx context.Context, want map[string]Want) (failed map[string]error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*Forward{}
	}
	failed = map[string]error{}
	for name, f := range s.all {
		if _, ok := want[name]; !ok {
			f.Close()
			delete(s.all, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w := want[name]
		if f, ok := s.all[name]; ok {
			f.To(w.Backends)
			continue
		}
		l, err := w.Listen()
		if err != nil {
			failed[name] = err
			continue
		}
		s.all[name] = Open(ctx, l, w.Backends...)
	}
	return failed
}

// Counts says what each forward has done, by name.
func (s *Set) Counts() map[string]Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]Counts{}
	for name, f := range s.all {
		out[name] = f.Counts()
	}
	return out
}

// Close ends all forwards.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, f := range s.all {
		f.Close()
		delete(s.all, name)
	}
}
