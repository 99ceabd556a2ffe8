package machine_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// insideVariable tells a test that it has a network namespace of its own.
const insideVariable = "UNITD_TEST_INSIDE"

// reachingCharm has a server on the same port on each host, and fails where it
// can't reach that of another unit by the address in its databag.
const reachingCharm = `
case "$JUJU_HOOK_NAME" in
install)
	setsid python3 -c '
import socket
s = socket.socket(); s.bind(("0.0.0.0", 8123)); s.listen()
open("listens", "w").close()
while True: s.accept()[0].close()
' </dev/null >/dev/null 2>&1 &
	while [ ! -e listens ]; do kill -0 $!; done;;
ring-relation-changed)
	bash -c "exec 3<>/dev/tcp/$(relation-get ingress-address "$JUJU_REMOTE_UNIT")/8123"
	status-set active "$(unit-get private-address) $(network-get ring --ingress-address)";;
esac
`

// TestHostUnitsInNetworksOfTheirOwnReachEachOther: three hosts, two of which are in
// networks of their own behind the third, tell addresses by which each reaches
// the others.
func TestHostUnitsInNetworksOfTheirOwnReachEachOther(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	if etcdtest.OnEtcd() {
		t.Skip("the etcd of a test is on the loopback of one of the hosts")
	}
	if os.Getenv(insideVariable) == "" {
		runInside(t)
		return
	}
	w := newWorldWith(t, nil)
	main := &host{world: w, store: w.dir + "/store.db", reachable: true}
	mustRun(t, "ip", "link", "set", "lo", "up")
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	one, two := main.joinsBehind(1), main.joinsBehind(2)
	main.begin()
	main.place("a", main.charm(ringCharm, reachingCharm), one.id, two.id, state.NewMachine)
	main.settle()
	s, err := main.model.Status(main.ctx)
	main.do(err)
	for name, want := range map[model.UnitName]string{"a/0": "10.77.1.2", "a/1": "10.77.2.2", "a/2": "10.77.1.1"} {
		u := unitIn(s, name)
		if u.Address != want || u.Workload.Status != "active" || u.Workload.Message != want+" "+want {
			t.Errorf("%s: address %s, %+v", name, u.Address, u.Workload)
		}
	}
}

// runInside runs the test again in a network namespace of its own, with the
// rights to make others.
func runInside(t *testing.T) {
	t.Helper()
	if why := noNetworks(); why != "" {
		t.Skip(why)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := inside(self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// inside is a program that runs in a network namespace of its own.
func inside(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return cmd
}

// noNetworks says why no networks can be made here; empty: they can.
func noNetworks() string {
	for _, program := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			return "there is no " + program + " to make networks with"
		}
	}
	if out, err := inside("ip", "link", "add", "name", "va", "type", "veth", "peer", "name", "vb").CombinedOutput(); err != nil {
		return fmt.Sprintf("networks can't be made here: %v: %s", err, out)
	}
	return ""
}

func mustRun(t testing.TB, program string, args ...string) {
	t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", program, strings.Join(args, " "), err, out)
	}
}

// joinsBehind is joins for a host in the network 10.77.n.0/24, which reaches the
// others through this one.
func (h *host) joinsBehind(n int) *host {
	h.t.Helper()
	other := h.adds()
	other.reachable = true
	other.beginBehind(n)
	return other
}

// beginBehind is begin in the network 10.77.n.0/24, whose other end is here as
// 10.77.n.1.
func (h *host) beginBehind(n int) {
	h.t.Helper()
	begin := h.prepare("sh", "-c", `read line; exec "$0"`)
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	in, out, err := os.Pipe()
	h.do(err)
	defer in.Close()
	defer out.Close()
	h.cmd.Stdin = in
	begin()
	pid := fmt.Sprint(h.cmd.Process.Pid)
	here, there := fmt.Sprintf("here%d", n), fmt.Sprintf("there%d", n)
	net := fmt.Sprintf("10.77.%d.", n)
	mustRun(h.t, "ip", "link", "add", "name", here, "type", "veth", "peer", "name", there, "netns", pid)
	mustRun(h.t, "ip", "address", "add", net+"1/24", "dev", here)
	mustRun(h.t, "ip", "link", "set", here, "up")
	for _, line := range []string{
		"link set lo up", "address add " + net + "2/24 dev " + there, "link set " + there + " up", "route add default via " + net + "1",
	} {
		mustRun(h.t, "nsenter", append([]string{"-t", pid, "-n", "ip"}, strings.Fields(line)...)...)
	}
	_, err = io.WriteString(out, "go\n")
	h.do(err)
}

// namespaces are a network of its own for each agent, behind the one that the
// test is in, where etcd is.
type namespaces struct {
	t   *testing.T
	at  map[*host]int
	all int // that there have been
}

// networksFor are networks for the agents of a test; nil where it has been run in
// a namespace of its own.
func networksFor(t *testing.T) networks {
	t.Helper()
	if why := noNetworks(); why != "" {
		t.Log(why + ": agents are cut off by proxies")
		return &wires{t: t, of: map[*host][]*etcdtest.Wire{}}
	}
	if os.Getenv(insideVariable) == "" {
		runInside(t)
		return nil
	}
	mustRun(t, "ip", "link", "set", "lo", "up")
	mustRun(t, "ip", "address", "add", "10.78.0.1/32", "dev", "lo")
	return &namespaces{t: t, at: map[*host]int{}}
}

func (n *namespaces) address() string { return "10.78.0.1" }

func (n *namespaces) endpoints(_ *host, members []*etcdtest.Server) []string {
	return endpointsOf(members)
}

func (n *namespaces) begin(h *host) {
	n.all++
	n.at[h] = n.all
	h.beginBehind(n.all)
}

func (n *namespaces) cut(h *host) {
	mustRun(n.t, "ip", "link", "set", fmt.Sprintf("here%d", n.at[h]), "down")
}

func (n *namespaces) mend(h *host) {
	mustRun(n.t, "ip", "link", "set", fmt.Sprintf("here%d", n.at[h]), "up")
}
