package tools

import (
	"github.com/unitd/unitd/tools/wire"
)

// Call makes a call in the run whose id the request has, in the place of the run's
// program: it is told of as any other is, see OnCall.
func (s *Server) Call(req wire.Request) wire.Reply {
	current := s.join(req.Context)
	if current == nil {
		return notRunning()
	}
	reply, ok := s.callUnlessOver(current, req)
	if !ok {
		return notRunning()
	}
	return reply
}

// Foreknow has a function asked about each call from now on whether it knows the reply,
// as that of a call which was made in the program's place. Such a call isn't made again,
// and nobody is told of it. nil: nobody knows any.
func (s *Server) Foreknow(known func(wire.Request) (wire.Reply, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = known
}

func (s *Server) foreknown(req wire.Request) (wire.Reply, bool) {
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	if known == nil {
		return wire.Reply{}, false
	}
	return known(req)
}
