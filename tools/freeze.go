package tools

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/juju/errors"
)

// frost is for the time in which no call is served.
type frost struct {
	// parked is closed once nobody accepts calls, quiet once none is left.
	parked, quiet chan struct{}
	// over is closed at its end.
	over chan struct{}
}

// Freeze has no call served until thaw is called: those that have begun have their
// replies when it returns, and others wait in the socket, of which File is a copy. The
// error is that of ctx, if it ends first; then it is as if nobody had asked.
// Source: docs/upgrades.md, "What is handed over".
func (s *Server) Freeze(ctx context.Context) (thaw func(), err error) {
	f := &frost{parked: make(chan struct{}), quiet: make(chan struct{}), over: make(chan struct{})}
	s.mu.Lock()
	s.frozen = f
	socket, accepts := s.socket, s.accepts
	s.mu.Unlock()
	_ = socket.SetDeadline(time.Unix(1, 0)) // where it is closed, nobody accepts
	thaw = func() {
		s.mu.Lock()
		s.frozen = nil
		s.mu.Unlock()
		_ = socket.SetDeadline(time.Time{})
		close(f.over)
	}
	if !accepts {
		return thaw, nil
	}
	for _, done := range []chan struct{}{f.parked, f.quiet} {
		select {
		case <-done:
		case <-ctx.Done():
			thaw()
			return nil, errors.Trace(ctx.Err())
		}
	}
	return thaw, nil
}

// standBy is what who accepts calls does while the server is frozen.
func (s *Server) standBy() {
	s.mu.Lock()
	f := s.frozen
	if f != nil {
		close(f.parked)
		if s.active == 0 {
			close(f.quiet)
		}
	}
	s.mu.Unlock()
	if f != nil {
		<-f.over
	}
}

// count counts the connections that are served.
func (s *Server) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active += n
	if f := s.frozen; f != nil && s.active == 0 && isClosed(f.parked) {
		close(f.quiet)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// File is a copy of the socket, by which its calls can be accepted when the server is
// gone; its callers queue meanwhile.
func (s *Server) File() (*os.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.socket.File()
	return f, errors.Annotate(err, "cannot hand over the socket for hook tools")
}

// ListenOn is Listen, or ListenNear, on a socket that is at its place already: a copy that
// File has made, of a server with that path whose Addr was addr. Calls wait in it until the
// first run begins, or is resumed, or Serve is called.
func ListenOn(f *os.File, path, addr string, near bool, log *slog.Logger) (*Server, error) {
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, errors.Annotate(err, "cannot listen for hook tools")
	}
	listener, ok := l.(*net.UnixListener)
	if !ok {
		l.Close()
		return nil, errors.New("cannot listen for hook tools: what was handed over is no socket of a path")
	}
	listener.SetUnlinkOnClose(false)
	s := &socket{UnixListener: listener, path: addr}
	if addr != path {
		s.dir = filepath.Dir(addr)
	}
	if s.info, err = os.Lstat(addr); err != nil {
		// A hook has removed it: it isn't in its place, whatever comes there. Restore mends that.
		if s.info, err = os.Lstat(filepath.Dir(addr)); err != nil {
			listener.Close()
			return nil, errors.Annotate(err, "cannot listen for hook tools")
		}
	}
	return serveOn(s, path, log, patience, near), nil
}

// Serve has calls be accepted though no run has begun, on a socket of ListenOn.
func (s *Server) Serve() { s.begin() }
