package etcdtest

import (
	"fmt"
	"runtime"
	"testing"
)

// Pool are servers of which a test has one to itself while it lasts: revisions
// and compaction are the whole server's.
type Pool struct{ free chan *Server }

// NewPool makes a pool that ends with the test. Servers start when they are
// needed.
func NewPool(t testing.TB) *Pool {
	t.Helper()
	p := &Pool{free: make(chan *Server, runtime.GOMAXPROCS(0))}
	for range cap(p.free) {
		p.free <- nil
	}
	t.Cleanup(func() {
		for range cap(p.free) {
			if s := <-p.free; s != nil {
				s.remove()
			}
		}
	})
	return p
}

// URL names an empty store in a server that nobody else uses until the test has
// ended.
func (p *Pool) URL(t testing.TB) string {
	t.Helper()
	s := <-p.free
	t.Cleanup(func() { p.free <- s })
	if s == nil {
		var err error
		if s, err = start(); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("etcd://%s/test-%d", s.Endpoint, prefixes.Add(1))
}
