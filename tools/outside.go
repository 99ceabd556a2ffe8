package tools

import (
	"context"
	"net"
	"os"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/tools/wire"
)

// Outside are the programs that a machine's people and scripts call outside of
// hooks; the former name of the second one is the first one's.
func Outside() []string { return []string{"juju-exec", "juju-run"} }

// ErrHungUp is the cause with which the context of a caller ends that doesn't wait
// for its reply any more.
const ErrHungUp = errors.ConstError("the caller has hung up")

// ServeOutside has f answer the requests of callers that are in no hook, which
// name no context. f's context ends by ErrHungUp if the caller has closed its side
// of the connection, which it does as well when it is killed; a Close of the
// server does not end it. f may be called many times at once, and Close waits for
// it.
func (s *Server) ServeOutside(f func(context.Context, wire.Request) wire.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outside = f
}

// fromOutside answers a request that names no context; false: it is refused.
func (s *Server) fromOutside(conn net.Conn, req wire.Request) (wire.Reply, bool) {
	s.mu.Lock()
	f := s.outside
	s.mu.Unlock()
	if f == nil || req.Context != "" {
		return wire.Reply{}, false
	}
	ctx, stop := whileConnected(conn)
	defer stop()
	return f(ctx, req), true
}

// whileConnected is a context that ends by ErrHungUp when the peer closes its side
// of the connection. Nothing else may read from that before stop has returned.
func whileConnected(conn net.Conn) (ctx context.Context, stop func()) {
	ctx, end := context.WithCancelCause(context.Background())
	_ = conn.SetReadDeadline(time.Time{}) // it fails if the connection is closed; then so does the read
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var b [64]byte
		for {
			_, err := conn.Read(b[:])
			switch {
			case err == nil: // nobody asked for that
			case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
				return
			default:
				end(ErrHungUp)
				return
			}
		}
	}()
	return ctx, func() {
		_ = conn.SetReadDeadline(time.Unix(1, 0))
		<-ended
		end(nil)
	}
}

// Failed is the reply to a caller who has called wrongly (2), or whose call has
// failed (1).
func Failed(code int, err error) wire.Reply { return failure(code, err) }
