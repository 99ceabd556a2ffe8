// Package isolatetest runs programs as a user who isn't root and has subordinate ids,
// for tests that begin as root. The ranges are in files that only the program sees:
// a mount name space of its own has them in the place of the host's. It has a network
// of its own too, as such a user's containers have their ports on the host's.
package isolatetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// Nobody is the user, and the group, that the program runs as, and further another
// group that it is in. First is the first of its Size subordinate ids.
const (
	Nobody  = 65534
	further = "65533"
	First   = 200000
	Size    = 1 << 16
)

// Need skips a test where no program can be run by Command, and says why.
func Need(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: it needs root to become somebody else")
	}
	for _, program := range []string{"newuidmap", "newgidmap", "unshare", "setpriv", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: there is no %s here", program)
		}
	}
	for _, path := range []string{"/etc/subuid", "/etc/subgid"} {
		if _, err := os.Stat(path); err != nil {
			t.Skipf("skipped: nothing can be mounted over it: %v", err)
		}
	}
}

// Command is a program as Nobody runs it, who has Size subordinate ids; with less, as
// many as that.
func Command(t testing.TB, size int, program string, args ...string) *exec.Cmd {
	t.Helper()
	Need(t)
	ranges := filepath.Join(t.TempDir(), "ranges")
	text := strconv.Itoa(Nobody) + ":" + strconv.Itoa(First) + ":" + strconv.Itoa(size) + "\n"
	if err := os.WriteFile(ranges, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	const become = `mount --bind "$1" /etc/subuid && mount --bind "$1" /etc/subgid && ip link set lo up && shift &&
		exec setpriv --reuid "$1" --regid "$1" --groups ` + further + ` -- "${@:2}"`
	id := strconv.Itoa(Nobody)
	return exec.Command("unshare", append([]string{"-mn", "bash", "-c", become, "become", ranges, id, program}, args...)...)
}
