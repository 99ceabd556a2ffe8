// Package etcdtest starts real etcd servers for tests: processes of their own,
// on ports of the loopback that were free, ended by their process ids.
//
// The program is the one that go.mod names as a tool, so a clean clone has it
// without anything being installed, in the version that the client has. It is
// built once and then comes from the build cache. A process can be killed and
// halted, which a server within the test couldn't be.
package etcdtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/juju/errors"
)

// tool is the program in go.mod.
const tool = "go.etcd.io/etcd/server/v3"

// program is where the go command has built the server.
var program = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-n", tool).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", errors.Annotate(err, "cannot build etcd")
	}
	return strings.TrimSpace(string(out)), nil
})

// TB is what a test, a benchmark and a check of rapid's have in common.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// loopback is where members listen unless a test says otherwise.
const loopback = "127.0.0.1"

// Server is one member of a cluster, often the only one.
type Server struct {
	// Endpoint is where clients find it, "127.0.0.1:port".
	Endpoint string
	name     string
	dir      string
	args     []string
	cmd      *exec.Cmd
	gone     chan struct{} // closed when the process has ended
}

// Start starts a server of one member that ends with the test. The arguments
// go to etcd.
func Start(t TB, args ...string) *Server {
	t.Helper()
	c, err := startCluster(loopback, 1, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c[0].remove)
	return c[0]
}

// Cluster starts a cluster of n members that end with the test.
func Cluster(t TB, n int) []*Server {
	t.Helper()
	return ClusterAt(t, loopback, n)
}

// ClusterAt is Cluster with members that listen on an address of this host by
// which other networks reach it.
func ClusterAt(t TB, address string, n int) []*Server {
	t.Helper()
	c, err := startCluster(address, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(c) })
	return c
}

// startCluster starts n members. Another process may have taken a port
// meanwhile; then it is tried again.
func startCluster(address string, n int, args ...string) (c []*Server, err error) {
	for range 5 {
		if c, err = newMembers(address, n, args); err != nil {
			return nil, errors.Trace(err)
		}
		for _, s := range c {
			if n == 1 { // it is the leader at once, and leases can be as short as a second
				s.args = append(s.args, "--heartbeat-interval=10", "--election-timeout=100")
			}
			if err = s.Run(); err != nil {
				removeAll(c)
				return nil, errors.Trace(err)
			}
		}
		for _, s := range c {
			if err == nil {
				err = s.ready()
			}
		}
		if err == nil {
			return c, nil
		}
		removeAll(c)
	}
	return nil, errors.Trace(err)
}

func removeAll(c []*Server) {
	for _, s := range c {
		s.remove()
	}
}

// newMembers are members that know each other and don't run yet.
func newMembers(address string, n int, args []string) ([]*Server, error) {
	ports, err := freePorts(address, 2*n)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var members []*Server
	var cluster []string
	for i := range n {
		dir, err := os.MkdirTemp("", "unitd-etcd-")
		if err != nil {
			return nil, errors.Trace(err)
		}
		s := &Server{Endpoint: net.JoinHostPort(address, ports[2*i]), name: fmt.Sprint("member", i), dir: dir}
		peer := "http://" + net.JoinHostPort(address, ports[2*i+1])
		cluster = append(cluster, s.name+"="+peer)
		s.args = append([]string{
			"--name=" + s.name, "--data-dir=" + filepath.Join(dir, "data"), "--log-level=warn",
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
			// The host outlives the tests.
			"--unsafe-no-fsync", "--backend-batch-interval=2s",
		}, args...)
		members = append(members, s)
	}
	for _, s := range members {
		scheme := "http"
		for _, arg := range args {
			if strings.HasPrefix(arg, "--cert-file") {
				scheme = "https"
			}
		}
		s.args = append(s.args, "--initial-cluster="+strings.Join(cluster, ","),
			"--listen-client-urls="+scheme+"://"+s.Endpoint, "--advertise-client-urls="+scheme+"://"+s.Endpoint)
	}
	return members, nil
}

// freePorts are ports that nobody listened at just now.
func freePorts(address string, n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			return nil, errors.Trace(err)
		}
		defer l.Close() // after all were found, so that none comes twice
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, errors.Trace(err)
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// Run starts the member's process, the first time or after Kill.
func (s *Server) Run() error {
	path, err := program()
	if err != nil {
		return errors.Trace(err)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Trace(err)
	}
	defer log.Close()
	s.cmd, s.gone = exec.Command(path, s.args...), make(chan struct{})
	s.cmd.Stdout, s.cmd.Stderr = log, log
	return errors.Trace(runTied(s.cmd, s.gone))
}

// ready waits until the member answers, or has ended.
func (s *Server) ready() error {
	late := time.After(5 * time.Minute)
	for {
		// A member listens to clients once it has joined its cluster.
		if c, err := net.Dial("tcp", s.Endpoint); err == nil {
			return errors.Trace(c.Close())
		}
		select {
		case <-s.gone:
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return errors.Errorf("etcd has ended: %s", log)
		case <-late:
			return errors.Errorf("etcd at %s doesn't answer", s.Endpoint)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Kill ends the member where it is, and waits until it has gone.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.gone
}

// Halt stops the member as if it were cut off; Resume lets it go on.
func (s *Server) Halt() error { return errors.Trace(s.cmd.Process.Signal(syscall.SIGSTOP)) }

// Resume lets a halted member go on.
func (s *Server) Resume() error { return errors.Trace(s.cmd.Process.Signal(syscall.SIGCONT)) }

func (s *Server) remove() {
	s.Kill()
	_ = os.RemoveAll(s.dir)
}

var (
	shared struct {
		sync.Mutex
		members []*Server
	}
	prefixes atomic.Int64
)

// URL names an empty store, a prefix of its own, in a cluster that all tests of
// a package share, as --store takes it. Their TestMain calls Stop.
func URL(t TB) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.members == nil {
		c, err := startCluster(loopback, members())
		if err != nil {
			t.Fatal(err)
		}
		shared.members = c
	}
	return fmt.Sprintf("etcd://%s/test-%d", endpoints(shared.members), prefixes.Add(1))
}

// Stop ends the clusters that tests share or have lent.
func Stop() {
	pool.Lock()
	defer pool.Unlock()
	for _, c := range pool.all {
		removeAll(c)
	}
	pool.free, pool.all = nil, nil
	shared.Lock()
	defer shared.Unlock()
	removeAll(shared.members)
	shared.members = nil
}
