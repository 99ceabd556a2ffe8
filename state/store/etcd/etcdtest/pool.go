package etcdtest

import (
	"fmt"
	"sync"
)

// pool are servers of which a test has one to itself while it lasts.
var pool struct {
	sync.Mutex
	free []*Server
	all  []*Server
}

// Alone names an empty store in a server that nobody else uses until the test
// has ended: revisions and compaction are the whole server's. The servers are
// used again; Stop ends them.
func Alone(t TB) string {
	t.Helper()
	s := lent()
	if s == nil {
		var err error
		if s, err = start(); err != nil {
			t.Fatal(err)
		}
		pool.Lock()
		pool.all = append(pool.all, s)
		pool.Unlock()
	}
	t.Cleanup(func() {
		pool.Lock()
		defer pool.Unlock()
		pool.free = append(pool.free, s)
	})
	return fmt.Sprintf("etcd://%s/test-%d", s.Endpoint, prefixes.Add(1))
}

// lent is a server that nobody has; nil if there is none.
func lent() *Server {
	pool.Lock()
	defer pool.Unlock()
	n := len(pool.free)
	if n == 0 {
		return nil
	}
	s := pool.free[n-1]
	pool.free = pool.free[:n-1]
	return s
}
