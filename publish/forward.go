package publish

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// dialTime is how long a backend may take to answer before the next one is tried:
// one that is gone says nothing at all.
const dialTime = 3 * time.Second

// busyTime is how long nothing is accepted after this process had no file left for
// one more connection.
const busyTime = 50 * time.Millisecond

// Counts says what a Forward has done.
type Counts struct {
	// Accepted are all connections that have come, Active those that are there now.
	Accepted, Active int64
	// Passed counts how often a backend was passed over as it refused, and Failed the
	// connections for which there was none.
	Passed, Failed int64
}

// Forward hands on the connections of a listener. It is safe for use by many
// goroutines.
type Forward struct {
	ctx      context.Context
	cancel   context.CancelFunc
	listener net.Listener
	wait     sync.WaitGroup

	mu       sync.Mutex
	backends []string
	next     int

	accepted, active, passed, failed atomic.Int64
}

// Open begins to take connections from a listener, which it owns from then on, until
// Close or the end of ctx. Backends are addresses, "10.64.0.2:80"; see To.
func Open(ctx context.Context, l net.Listener, backends ...string) *Forward {
	f := &Forward{listener: l, backends: slices.Clone(backends)}
	f.ctx, f.cancel = context.WithCancel(ctx)
	stop := context.AfterFunc(f.ctx, func() { l.Close() })
	f.wait.Add(1)
	go func() {
		defer f.wait.Done()
		defer stop()
		f.accept()
	}()
	return f
}

// To has new connections go to these backends; those that there are stay with
// theirs.
func (f *Forward) To(backends []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backends = slices.Clone(backends)
}

// Addr is the listener's address.
func (f *Forward) Addr() net.Addr { return f.listener.Addr() }

// Counts says what has been done so far.
func (f *Forward) Counts() Counts {
	return Counts{Accepted: f.accepted.Load(), Active: f.active.Load(), Passed: f.passed.Load(), Failed: f.failed.Load()}
}

// Close ends the listener and all connections, and returns once nothing of them is
// left.
func (f *Forward) Close() {
	f.cancel()
	f.listener.Close()
	f.wait.Wait()
}

func (f *Forward) accept() {
	for {
		conn, err := f.listener.Accept()
		if errors.Is(err, net.ErrClosed) || f.ctx.Err() != nil {
			if conn != nil {
				conn.Close()
			}
			return
		}
		if err != nil {
			select {
			case <-f.ctx.Done():
			case <-time.After(busyTime):
			}
			continue
		}
		f.accepted.Add(1)
		f.active.Add(1)
		f.wait.Add(1)
		go func() {
			defer f.wait.Done()
			defer f.active.Add(-1)
			f.handOn(conn)
		}()
	}
}

// handOn connects a connection to a backend, and ends with both.
func (f *Forward) handOn(client net.Conn) {
	defer client.Close()
	backend := f.dial()
	if backend == nil {
		f.failed.Add(1)
		// Reset, not closed: nobody has read what was said.
		if tcp, ok := client.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		return
	}
	defer backend.Close()
	stop := context.AfterFunc(f.ctx, func() {
		client.Close()
		backend.Close()
	})
	defer stop()
	join(client, backend)
}

// dial connects to the backend whose turn it is, or to the next one that doesn't
// refuse; nil: all do.
func (f *Forward) dial() net.Conn {
	dialer := net.Dialer{Timeout: dialTime}
	for _, address := range f.inTurn() {
		conn, err := dialer.DialContext(f.ctx, "tcp", address)
		if err == nil {
			return conn
		}
		if f.ctx.Err() != nil {
			return nil
		}
		f.passed.Add(1)
	}
	return nil
}

// inTurn are all backends, each time beginning with the next one.
func (f *Forward) inTurn() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.backends) == 0 {
		return nil
	}
	at := f.next % len(f.backends)
	f.next = at + 1
	return slices.Concat(f.backends[at:], f.backends[:at])
}

// join hands on what each side says to the other until both have ended, or one is
// broken.
func join(a, b net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		copyHalf(a, b)
	}()
	copyHalf(b, a)
	<-done
}

// copyHalf hands on what comes from one side until it ends, and says so to the
// other. If either is broken both are ended.
func copyHalf(to, from net.Conn) {
	_, err := io.Copy(to, from)
	half, ok := to.(interface{ CloseWrite() error })
	if err == nil && ok && half.CloseWrite() == nil {
		return
	}
	to.Close()
	from.Close()
}
