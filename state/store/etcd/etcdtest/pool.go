package etcdtest

import (
	"fmt"
	"strings"
	"sync"
)

// pool are clusters of which a test has one to itself while it lasts.
var pool struct {
	sync.Mutex
	free [][]*Server
	all  [][]*Server
}

// Alone names an empty store in a cluster that nobody else uses until the test
// has ended: revisions and compaction are the whole cluster's. It has one member,
// or three where Variable says so. Clusters are used again; Stop ends them.
func Alone(t TB) string {
	t.Helper()
	c := lent()
	if c == nil {
		var err error
		if c, err = startCluster(loopback, members()); err != nil {
			t.Fatal(err)
		}
		pool.Lock()
		pool.all = append(pool.all, c)
		pool.Unlock()
	}
	t.Cleanup(func() {
		pool.Lock()
		defer pool.Unlock()
		pool.free = append(pool.free, c)
	})
	return fmt.Sprintf("etcd://%s/test-%d", endpoints(c), prefixes.Add(1))
}

// endpoints are where clients find a cluster.
func endpoints(c []*Server) string {
	hosts := make([]string, len(c))
	for i, s := range c {
		hosts[i] = s.Endpoint
	}
	return strings.Join(hosts, ",")
}

// lent is a cluster that nobody has; nil if there is none.
func lent() []*Server {
	pool.Lock()
	defer pool.Unlock()
	n := len(pool.free)
	if n == 0 {
		return nil
	}
	c := pool.free[n-1]
	pool.free = pool.free[:n-1]
	return c
}
