package peer

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRootIsWhomZeroStandsFor(t *testing.T) {
	t.Parallel()
	for mapping, want := range map[string]int{
		"         0          0 4294967295\n":                      0,
		"         0     524288      65535\n    584792 589823 1\n": 524288,
		"         1     100000      65536\n         0 1000 1\n":   1000,
	} {
		if got, err := rootOf(mapping); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", mapping, got, err, want)
		}
	}
	for _, mapping := range []string{"", "1 100000 65536\n", "0 x 1\n"} {
		if got, err := rootOf(mapping); err == nil {
			t.Errorf("%q: %d", mapping, got)
		}
	}
}

func TestBothEndsKnowEachOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), strings.Repeat("long/", 40), "socket")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan *net.UnixConn, 1)
	go func() {
		conn, _ := l.AcceptUnix()
		accepted <- conn
	}()
	ours, err := DialAs(path, Who{UID: os.Geteuid(), GID: os.Getegid()})
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	theirs := <-accepted
	defer theirs.Close()
	for _, conn := range []*net.UnixConn{ours, theirs} {
		who, err := Of(conn)
		if want := (Who{os.Getpid(), os.Geteuid(), os.Getegid()}); err != nil || who != want {
			t.Errorf("got %+v, %v, want %+v", who, err, want)
		}
	}
}

// TestAnotherIsSeenAsTheCaller, who has no more rights than his own.
func TestAnotherIsSeenAsTheCaller(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root connects as others")
	}
	dir := t.TempDir()
	for _, mode := range []os.FileMode{0o666, 0o600} {
		path := filepath.Join(dir, mode.String())
		l, err := Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		conn, err := DialAs(path, Who{UID: 65534, GID: 65534})
		if mode == 0o600 {
			if err == nil {
				t.Error("a socket that is root's alone was open to another")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		theirs, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		defer theirs.Close()
		if who, err := Of(theirs); err != nil || who.UID != 65534 || who.GID != 65534 {
			t.Errorf("it is seen as %+v, %v", who, err)
		}
	}
}
