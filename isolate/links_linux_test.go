package isolate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// usersOf are the kinds of users that root gives to machines: true is the host's.
var usersOf = map[string]bool{"users of its own": false, "the host's users": true}

// TestHostLinksOfAMachineLeadNowhereAtItsNextStart: what a unit has put in the places of
// what a machine has of its own isn't followed to the host.
func TestHostLinksOfAMachineLeadNowhereAtItsNextStart(t *testing.T) {
	t.Parallel()
	for name, host := range usersOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cells.HostUsers = host
			prey, err := os.MkdirTemp("/var/tmp", "unitd-prey-")
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(prey) })
			must(t, os.Chmod(prey, 0o777))
			c := w.open("app/0", model.IsolateFiles)
			endInit(t, c)
			upper := filepath.Join(c.Dir(), "layers/root/upper")
			for _, at := range []string{"run", "tmp", "dev", "proc", "sys", "var/lib/juju"} {
				path := filepath.Join(upper, at)
				must(t, os.MkdirAll(filepath.Dir(path), 0o755))
				must(t, os.RemoveAll(path))
				must(t, os.Symlink(prey, path))
			}
			c = w.open("app/0", model.IsolateFiles)
			want(t, c, "for d in /run /tmp /dev /proc /sys; do test -d $d -a ! -L $d || echo $d; done; echo >/tmp/of-own; ls /dev/null /proc/self/status; ls "+isolate.Juju,
				"/dev/null\n/proc/self/status\nagents\ntools")
			left, err := os.ReadDir(prey)
			must(t, err)
			if len(left) > 0 {
				t.Errorf("the host has got %v", left)
			}
			mounts, err := os.ReadFile("/proc/self/mountinfo")
			if err != nil || strings.Contains(string(mounts), prey) {
				t.Errorf("something is mounted on the host: %v", err)
			}
		})
	}
}

// TestHostNobodyInsideWritesWhereTheAgentDoes: the agent writes the directory of the hook
// tools as the host's root, and would follow links there.
func TestHostNobodyInsideWritesWhereTheAgentDoes(t *testing.T) {
	t.Parallel()
	for name, host := range usersOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.cells.HostUsers = host
			c := w.open("app/0", model.IsolateFiles)
			must(t, c.Jujud("0", "3.6.0"))
			want(t, c, isolate.Juju+"/tools/machine-0/jujud version | cut -d- -f1", "3.6.0")
			want(t, c, `cd `+isolate.Juju+`/tools
mount -o remount,bind,rw . 2>/dev/null
touch new 2>/dev/null && echo written
rm -r machine-0 2>/dev/null
ln -s /etc machine-1 2>/dev/null
ls`, "client\nmachine-0")
		})
	}
}

// TestHostNoLinkIsFollowedInTheAgentsDirectory: a unit can have put it there since.
func TestHostNoLinkIsFollowedInTheAgentsDirectory(t *testing.T) {
	t.Parallel()
	w, spec := secretive(t)
	must(t, os.Symlink("/etc", filepath.Join(w.dir, "agents/unit-app-0/link")))
	c := w.openBy(spec)
	for _, path := range []string{"link", "link/apt"} {
		if err := c.Attach(path, filepath.Join(w.dir, "agents/unit-app-0", path), "/srv/etc"); !errors.Is(err, unix.ELOOP) {
			t.Errorf("%s: %v", path, err)
		}
	}
	// The directory itself may be anywhere.
	must(t, os.Symlink(w.dir, filepath.Join(filepath.Dir(w.dir), "named")))
	w.cells.Dir = filepath.Join(filepath.Dir(w.dir), "named/cells")
	c = w.openBy(spec)
	must(t, c.Attach("unit-app-1", filepath.Join(filepath.Dir(w.dir), "named/agents/unit-app-1"), "/srv/one"))
	want(t, c, "cat /srv/one/theirs", "theirs")
}

// TestHostNobodyWaitsForAPipeOfAUnit: the agent keeps files of machines current that a
// unit can make pipes of, which are waited for when they are read.
func TestHostNobodyWaitsForAPipeOfAUnit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	want(t, c, "rm /etc/hosts; mkfifo /etc/hosts && echo made", "made")
	if err := c.EditFile("/etc/hosts", func(was string) string { return was + "x" }); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Error(err)
	}
}

// TestHostWhatCannotBeMappedIsSeenAllTheSame: file systems such as /proc belong to whom
// they do on the host, who is nobody inside.
func TestHostWhatCannotBeMappedIsSeenAllTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	dir := filepath.Join(w.dir, "bound")
	kernel := filepath.Join(dir, "kernel")
	must(t, os.MkdirAll(kernel, 0o755))
	if err := unix.Mount("proc", kernel, "proc", unix.MS_NOSUID, ""); err != nil {
		t.Skipf("not here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(kernel, unix.MNT_DETACH) })
	must(t, c.Attach("bound", dir, "/srv/bound"))
	want(t, c, "head -c1 /srv/bound/kernel/uptime >/dev/null && echo there; stat -c %u /srv/bound", "there\n0")
}

// TestHostWhatIsNotedAndNotAttachedIsAttachedAgain, as after an agent that was killed
// between the two.
func TestHostWhatIsNotedAndNotAttachedIsAttachedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	if _, own := c.Numbers(); own == 0 {
		t.Skip("nothing can be unmounted inside here")
	}
	dir := filepath.Join(w.dir, "bound")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	must(t, c.Attach("bound", dir, "/srv/bound"))
	want(t, c, "umount /srv/bound && rmdir /srv/bound && ls /srv", "")
	must(t, c.Attach("bound", dir, "/srv/bound"))
	want(t, c, "ls /srv/bound", "file")
}
