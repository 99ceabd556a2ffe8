package isolate_test

import (
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"testing"

	"github.com/unitd/unitd/model"
)

// TestHostAnApplicationKeepsItsAddress: the address of an application is there as
// long as the application, whatever cells there are, is reached from a cell on a port
// that the host has taken, and leaves nothing.
func TestHostAnApplicationKeepsItsAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cells := w.cells
	if address, err := cells.Lease("m/app"); address != "" || err != nil {
		t.Fatalf("without cells: %q, %v", address, err)
	}
	c := w.open("app/0", model.IsolateOn)
	t.Cleanup(func() { _ = cells.Release("m/app") })
	address, err := cells.Lease("m/app")
	if err != nil || address == "" || address == c.Network().Address {
		t.Fatalf("%q, %v", address, err)
	}
	host, err := net.Listen("tcp4", "0.0.0.0:0") // that port is nobody else's on the host
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	port := host.Addr().(*net.TCPAddr).Port
	l, err := cells.Listen(address, port)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "served\n")
			conn.Close()
		}
	}()
	reach := "bash -c 'exec 3<>/dev/tcp/" + address + "/" + strconv.Itoa(port) + "; cat <&3'"
	want(t, c, reach, "served")

	// The last cell goes, and another one comes: the address is the same, and its
	// listener goes on.
	if err := cells.Remove(key("app/0")); err != nil {
		t.Fatal(err)
	}
	if again, err := cells.Lease("m/app"); again != address || err != nil {
		t.Errorf("without cells: %q, %v", again, err)
	}
	c = w.open("app/0", model.IsolateOn)
	if again, err := cells.Lease("m/app"); again != address || err != nil {
		t.Errorf("with another cell: %q, %v", again, err)
	}
	want(t, c, reach, "served")
	if keys, err := cells.Leased(); len(keys) != 1 || keys[0] != "m/app" || err != nil {
		t.Errorf("%v, %v", keys, err)
	}

	for _, step := range []func() error{func() error { return cells.Remove(key("app/0")) }, func() error { return cells.Release("m/app") }} {
		if err := step(); err != nil {
			t.Error(err)
		}
	}
	network := netip.PrefixFrom(netip.MustParseAddr(address), c.Network().Bits).Masked()
	addresses, err := net.InterfaceAddrs()
	must(t, err)
	for _, a := range addresses {
		if ip, err := netip.ParsePrefix(a.String()); err == nil && network.Contains(ip.Addr()) {
			t.Errorf("%s is left on the host", a)
		}
	}
	if _, err := os.Stat(cells.Dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", cells.Dir, err)
	}
}

// TestHostAFileIsChangedAsItMayBe: a file of its own is replaced, a link or a mount
// keeps its inode, and one that was removed stays so.
func TestHostAFileIsChangedAsItMayBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	want(t, c, "mkdir /tmp/d; cd /tmp/d; echo a long first text >file; chmod 640 file; echo x >to; ln -s to link; "+
		"echo mounted text >mount; echo below >below; mount --bind below mount; stat -c %i mount >inode", "")
	for name, text := range map[string]string{"file": "short\n", "link": "linked\n", "mount": "b\n", "none": "made\n"} {
		if err := c.EditFile("/tmp/d/"+name, func(string) string { return text }); err != nil {
			t.Error(err)
		}
	}
	want(t, c, "cd /tmp/d; cat file; stat -c %a file; cat link; [ -L link ] && echo still; cat mount; stat -c %i mount | cmp - inode && echo same; ls -A | grep unitd; ls none 2>/dev/null; true",
		"short\n640\nlinked\nstill\nb\nsame")
}
