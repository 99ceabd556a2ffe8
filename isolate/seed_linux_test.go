package isolate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// TestHostClosedCellsReachTheHostAndEachOtherOnly: who tries to get further is told at once.
func TestHostClosedCellsReachTheHostAndEachOtherOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cells.Closed = true
	a, b := w.serving(0), w.serving(1)
	reaches(t, a, b, true)
	reaches(t, nil, a, true)
	// 192.0.2.1 is nobody's.
	if out, err := run(a, "timeout 10 /var/lib/juju/tools/client ask 192.0.2.1"); err == nil || !strings.Contains(out, "network is unreachable") {
		t.Errorf("it gets out: %v: %s", err, out)
	}
	want(t, a, "cut -f2 /proc/net/route | grep -c 00000000 || true", "0")
}

// TestHostMachinesBeginWithASeed: what one unit's package manager has fetched is there for the
// next one, with its owners and modes, and a link leads nowhere.
func TestHostMachinesBeginWithASeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seed := t.TempDir()
	must(t, isolate.SowFile(seed, "etc/unitd-test/first.conf", "first\n"))
	w.cells.Seed = seed
	a := w.open("app/0", model.IsolateOn)
	want(t, a, "cat /etc/unitd-test/first.conf; stat -c '%U %a' /etc/unitd-test", "first\nroot 755")
	hidden := filepath.Join(w.dir, "hidden")
	must(t, os.MkdirAll(hidden, 0o700))
	must(t, os.WriteFile(filepath.Join(hidden, "file"), []byte("the host's"), 0o600))
	want(t, a, `set -e; mkdir -p /var/cache/unitd-test/deep; echo fetched >/var/cache/unitd-test/deep/file; chmod 640 /var/cache/unitd-test/deep/file
		chown daemon /var/cache/unitd-test/deep/file; touch -d @1000000000 /var/cache/unitd-test/deep/file; ln -s deep/file /var/cache/unitd-test/link
		ln -s `+hidden+` /var/cache/unitd-other; mkfifo /var/cache/unitd-test/pipe; echo other >/var/unitd-test`, "")
	n, err := isolate.Gather(filepath.Join(w.cells.Dir, key("app/0")), seed, []string{"/var/cache/unitd-test", "/var/cache/unitd-other", "/var/no-such", "/etc/unitd-test/first.conf"})
	must(t, err)
	if n != int64(len("fetched\n")) {
		t.Errorf("%d bytes were gathered", n)
	}
	b := w.open("app/1", model.IsolateOn)
	want(t, b, "cat /etc/unitd-test/first.conf; cd /var/cache/unitd-test; cat deep/file; stat -c '%U %a %Y' deep/file; ls; ls -d /var/cache/unitd-other /var/unitd-test 2>/dev/null; stat -c '%U %a' /var/cache",
		"first\nfetched\ndaemon 640 1000000000\ndeep\n"+hostsCache(t))
	// What it changes is its own, and nothing is put there a second time.
	want(t, b, "echo mine >/var/cache/unitd-test/deep/file; rm /etc/unitd-test/first.conf", "")
	must(t, w.cells.Halt())
	b = w.open("app/1", model.IsolateOn)
	want(t, b, "cat /var/cache/unitd-test/deep/file; ls /etc/unitd-test", "mine")
	c := w.open("app/2", model.IsolateOn)
	want(t, c, "cat /var/cache/unitd-test/deep/file", "fetched")
}

// hostsCache is the owner and mode of the host's /var/cache.
func hostsCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("stat", "-c", "%U %a", "/var/cache").Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}
