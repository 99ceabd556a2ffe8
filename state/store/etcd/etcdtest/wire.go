package etcdtest

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

// Wire is a connection to a member that can be cut.
type Wire struct {
	// Endpoint is where clients find it, "127.0.0.1:port".
	Endpoint string
	listener net.Listener
	to       string
	mu       sync.Mutex
	down     bool
	deaf     bool // what etcd answers is dropped
	delay    time.Duration
	conns    []net.Conn
}

// NewWire makes one to that endpoint, for as long as the test lasts.
func NewWire(t TB, to string) *Wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{Endpoint: l.Addr().String(), listener: l, to: to}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			done.Go(func() { w.carry(c) })
		}
	})
	t.Cleanup(func() {
		w.Close()
		w.Set(true, false)
		done.Wait()
	})
	return w
}

// carry carries bytes until the wire is cut.
func (w *Wire) carry(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer s.Close()
	w.mu.Lock()
	down := w.down
	w.conns = append(w.conns, c, s)
	w.mu.Unlock()
	if down {
		return
	}
	var answered sync.WaitGroup
	answers := make(chan answer, 1<<10)
	answered.Go(func() {
		defer close(answers)
		w.hear(s, answers)
	})
	answered.Go(func() {
		defer c.Close()
		defer s.Close()
		for a := range answers {
			time.Sleep(time.Until(a.due))
			if _, err := c.Write(a.bytes); err != nil {
				break
			}
		}
		s.Close()
		for range answers { // so that hear ends
		}
	})
	_, _ = io.Copy(s, c)
	s.Close()
	answered.Wait()
}

// answer is what etcd has answered, and when it is to arrive.
type answer struct {
	bytes []byte
	due   time.Time
}

// hear takes what etcd answers. However much it is, it comes later by the delay, as
// from far away.
func (w *Wire) hear(s net.Conn, answers chan<- answer) {
	buf := make([]byte, 1<<16)
	for {
		n, err := s.Read(buf)
		w.mu.Lock()
		deaf, delay := w.deaf, w.delay
		w.mu.Unlock()
		if err != nil || deaf {
			return
		}
		answers <- answer{bytes.Clone(buf[:n]), time.Now().Add(delay)}
	}
}

// Delay has answers from now on arrive so much later; 0: at once.
func (w *Wire) Delay(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delay = by
}

// Set cuts the wire, or mends it. One that is deaf breaks when etcd answers.
func (w *Wire) Set(down, deaf bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down, w.deaf = down, deaf
	if down {
		for _, c := range w.conns {
			c.Close()
		}
		w.conns = nil
	}
}

// Close has nobody listen at the endpoint any more.
func (w *Wire) Close() { _ = w.listener.Close() }
