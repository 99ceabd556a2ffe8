package isolate_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// insideVariable tells a test that it has a network, and mounts, of its own.
const insideVariable = "UNITD_TEST_INSIDE"

// inNetworkOfItsOwn runs the test anew in a network name space of its own, with a /run
// in which no other agent notes anything, and says whether this is that run.
func inNetworkOfItsOwn(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: it needs root")
	}
	if os.Getenv(insideVariable) != "" {
		must(t, syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
		must(t, syscall.Mount("tmpfs", "/run", "tmpfs", 0, ""))
		ip(t, "link", "set", "lo", "up")
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), insideVariable+"=yes")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	} else if _, why, skipped := strings.Cut(string(out), "--- SKIP"); skipped {
		t.Skip(why)
	}
	return false
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func needIPv6(t *testing.T) {
	t.Helper()
	if b, err := os.ReadFile("/proc/sys/net/ipv6/conf/all/disable_ipv6"); err != nil || strings.TrimSpace(string(b)) != "0" {
		t.Skip("skipped: there is no IPv6 here")
	}
}

// listenIn has a cell answer each caller with the address that he has called.
func listenIn(t *testing.T, c *isolate.Cell) {
	t.Helper()
	want(t, c, "/var/lib/juju/tools/client listen >/run/listens 2>&1 & until [ -s /run/listens ]; do sleep 0.01; done; cat /run/listens", "listens")
}

// network is the record of a world's network.
func (w *world) network() (n struct {
	Subnet6    string
	Addresses6 map[string]string
}) {
	b, err := os.ReadFile(filepath.Join(w.cells.Dir, "network.json"))
	must(w.t, err)
	must(w.t, json.Unmarshal(b, &n))
	return n
}

func TestHostCellsReachEachOtherAndTheHostByIPv6(t *testing.T) {
	t.Parallel()
	needIPv6(t)
	w := newWorld(t)
	a, b := w.open("app/0", model.IsolateOn), w.open("app/1", model.IsolateOn)
	for _, c := range []*isolate.Cell{a, b} {
		listenIn(t, c)
	}
	for _, to := range []*isolate.Cell{a, b} {
		six := to.Network().IPv6
		if !strings.HasPrefix(six, "fd") {
			t.Fatalf("the address is %q", six)
		}
		for _, from := range []*isolate.Cell{a, b} {
			want(t, from, "/var/lib/juju/tools/client ask "+six, six)
		}
		if got, err := ask(six, 5*time.Minute); got != six || err != nil {
			t.Errorf("from the host: %q, %v", got, err)
		}
		// No other unit is taken for a router.
		want(t, to, "cat /proc/sys/net/ipv6/conf/eth0/accept_ra", "0")
	}
	all, err := w.cells.IPv6()
	must(t, err)
	if len(all) != 2 || all[a.Network().Address] != a.Network().IPv6 {
		t.Errorf("got %v", all)
	}
	// A cell that is made anew has the address that it had, and one that goes none.
	endInit(t, b)
	again := w.open("app/1", model.IsolateOn)
	if again.Network() != b.Network() {
		t.Errorf("it was %+v, and is %+v", b.Network(), again.Network())
	}
	must(t, w.cells.Remove(key("app/1")))
	if n := w.network(); len(n.Addresses6) != 1 {
		t.Errorf("got %+v", n)
	}
}

// TestHostWhoHasRoutesToAllPrivateNetworksGivesNoIPv6, and goes on without.
func TestHostWhoHasRoutesToAllPrivateNetworksGivesNoIPv6(t *testing.T) {
	t.Parallel()
	needIPv6(t)
	if !inNetworkOfItsOwn(t) {
		return
	}
	ip(t, "link", "add", "site", "type", "bridge")
	ip(t, "link", "set", "site", "up")
	ip(t, "-6", "route", "add", "fc00::/7", "dev", "site")
	w := newWorld(t)
	c := w.open("app/0", model.IsolateOn)
	if n := c.Network(); n.Address == "" || n.IPv6 != "" {
		t.Errorf("got %+v", n)
	}
}

// TestHostANetworkLeadsOutAsTheHostDoes: what cells send is as large as what leads out of
// the host takes, also where the network is there already; by IPv6 they reach what the
// host reaches if it has a way; and all is as it was in the end.
func TestHostANetworkLeadsOutAsTheHostDoes(t *testing.T) {
	t.Parallel()
	needIPv6(t)
	if !inNetworkOfItsOwn(t) {
		return
	}
	w := newWorld(t)
	const mtu = "ip -o link show eth0 | sed 's/.* mtu \\([0-9]*\\).*/\\1/'"
	first := w.open("app/0", model.IsolateOn)
	want(t, first, mtu, "1500")
	want(t, first, "ip -6 route show default", "") // or what tries IPv6 first waits

	// The world outside: another network, which knows nothing of the cells.
	outside := exec.Command("unshare", "-n", "sh", "-c", "echo up; exec sleep 100000")
	outside.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := outside.StdoutPipe()
	must(t, err)
	must(t, outside.Start())
	defer func() {
		_ = outside.Process.Kill()
		_ = outside.Wait()
	}()
	_, err = said.Read(make([]byte, 3))
	must(t, err)
	far := "/proc/" + strconv.Itoa(outside.Process.Pid) + "/ns/net"
	ip(t, "link", "add", "near", "mtu", "1400", "type", "veth", "peer", "name", "far", "mtu", "1400", "netns", strconv.Itoa(outside.Process.Pid))
	inFar := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("nsenter", append([]string{"--net=" + far}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	for _, address := range []string{"192.0.2.1/24", "2001:db8::1/64"} {
		inFar("ip", "address", "add", address, "dev", "far", "nodad")
	}
	inFar("ip", "link", "set", "lo", "up") // or Go takes it for a host without IPv6
	inFar("ip", "link", "set", "far", "up")
	ip(t, "address", "add", "192.0.2.2/24", "dev", "near")
	ip(t, "address", "add", "2001:db8::2/64", "dev", "near", "nodad")
	ip(t, "link", "set", "near", "up")
	ip(t, "route", "add", "default", "via", "192.0.2.1")
	ip(t, "-6", "route", "add", "default", "via", "2001:db8::1")
	answers := exec.Command("nsenter", "--net="+far, os.Args[0], "tell-callers")
	answers.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err = answers.StdoutPipe()
	must(t, err)
	must(t, answers.Start())
	defer func() {
		_ = answers.Process.Kill()
		_ = answers.Wait()
	}()
	_, err = said.Read(make([]byte, 8))
	must(t, err)
	forwards := func() string {
		t.Helper()
		var all string
		for _, name := range []string{"ipv4/conf/near/forwarding", "ipv6/conf/all/forwarding", "ipv6/conf/near/force_forwarding"} {
			b, _ := os.ReadFile("/proc/sys/net/" + name) // older kernels don't have the last one
			all += name + " " + string(b)
		}
		return all
	}
	was := forwards()

	second := w.open("app/1", model.IsolateOn)
	want(t, second, mtu, "1400")
	links, err := net.Interfaces()
	must(t, err)
	var small []string
	for _, link := range links {
		if strings.HasPrefix(link.Name, "u") && link.MTU == 1400 {
			small = append(small, link.Name)
		}
	}
	if len(small) != 2 { // the bridge, and the cable
		t.Errorf("of 1400 bytes are %v", small)
	}
	want(t, second, "/var/lib/juju/tools/client ask 192.0.2.1", "192.0.2.2")
	want(t, second, "/var/lib/juju/tools/client ask 2001:db8::1", "2001:db8::2")
	for _, link := range links { // without cables, too
		if strings.HasPrefix(link.Name, "uh") {
			ip(t, "link", "delete", link.Name)
		}
	}
	host, err := w.cells.Host()
	must(t, err)
	bridge, err := net.InterfaceByName(host.Device)
	must(t, err)
	if bridge.MTU != 1400 {
		t.Errorf("the bridge alone has %d", bridge.MTU)
	}
	for _, unit := range []string{"app/0", "app/1"} {
		must(t, w.cells.Remove(key(unit)))
	}
	if now := forwards(); now != was {
		t.Errorf("it was\n%sand is\n%s", was, now)
	}
	c := &nftables.Conn{}
	if tables, err := c.ListTables(); err != nil || len(tables) > 0 {
		t.Errorf("left are %v, %v", tables, err)
	}
}

// TestHostANetworkDoesWithoutIPv6 where the host has none, and has it again with the next
// start.
func TestHostANetworkDoesWithoutIPv6(t *testing.T) {
	t.Parallel()
	needIPv6(t)
	if !inNetworkOfItsOwn(t) {
		return
	}
	w := newWorld(t)
	for _, step := range []struct {
		disabled string
		has      bool
	}{{"1", false}, {"0", true}, {"1", false}} {
		must(t, os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte(step.disabled), 0o644))
		c := w.open("app/0", model.IsolateOn)
		listenIn(t, c)
		if got, err := ask(c.Network().Address, 5*time.Minute); got != c.Network().Address || err != nil {
			t.Errorf("%+v: %q, %v", step, got, err)
		}
		all, err := w.cells.IPv6()
		must(t, err)
		if six := c.Network().IPv6; (six != "") != step.has || (len(all) == 1) != step.has {
			t.Errorf("%+v: %q, %v", step, six, all)
		}
		must(t, w.cells.Halt())
	}
}
