package tools

import "github.com/unitd/unitd/tools/wire"

// Outside are the programs that a machine's people and scripts call outside of
// hooks; the former name of the second one is the first one's.
func Outside() []string { return []string{"juju-exec", "juju-run"} }

// ServeOutside has f answer the requests of callers that are in no hook, which
// name no context. It may be called many times at once, and Close waits for it.
func (s *Server) ServeOutside(f func(wire.Request) wire.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outside = f
}

// fromOutside answers a request that names no context; false: it is refused.
func (s *Server) fromOutside(req wire.Request) (wire.Reply, bool) {
	s.mu.Lock()
	f := s.outside
	s.mu.Unlock()
	if f == nil || req.Context != "" {
		return wire.Reply{}, false
	}
	return f(req), true
}

// Failed is the reply to a caller who has called wrongly (2), or whose call has
// failed (1).
func Failed(code int, err error) wire.Reply { return failure(code, err) }
