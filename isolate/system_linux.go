package isolate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/model"
)

// A cell of model.IsolateMachine has systemd as its first process, on a root of its own.
// The init makes the root and the network as for any cell, gives systemd what its
// interface for containers asks for, and becomes systemd: pid and start time stay, by which
// the record knows it. Source: docs/spec/machine-isolation.md §5.

// systemd is where roots have it, the first that is there.
var systemd = []string{"/usr/lib/systemd/systemd", "/lib/systemd/systemd"}

// What systemd finds of the agent: the directory of its interface for containers, with the
// socket by which it says that it is up.
const (
	hostDir      = "/run/host"
	notifyName   = "notify"
	notifySocket = hostDir + "/" + notifyName
)

// How long a machine may take to boot; and to shut down, and to do so in a reboot, before
// what still runs is killed: systemd gives each service 90 s.
const (
	bootPatience   = 90 * time.Second
	haltPatience   = 10 * time.Second
	rebootPatience = 2 * time.Minute
)

// masked are units that do in a machine what isn't a cell's to do: devices, consoles, kernel
// settings and file systems are there, and a network that the agent has set up.
var masked = []string{
	"console-getty.service", "dev-hugepages.mount", "dev-mqueue.mount", "getty.target", "kmod-static-nodes.service", "modprobe@.service", "networking.service",
	"proc-sys-fs-binfmt_misc.automount", "proc-sys-fs-binfmt_misc.mount", "sys-fs-fuse-connections.mount", "sys-kernel-config.mount", "sys-kernel-debug.mount",
	"sys-kernel-tracing.mount", "systemd-binfmt.service", "systemd-hwdb-update.service", "systemd-modules-load.service", "systemd-networkd.service",
	"systemd-networkd.socket", "systemd-networkd-wait-online.service", "systemd-remount-fs.service", "systemd-resolved.service", "systemd-timesyncd.service",
	"systemd-udev-trigger.service", "systemd-udevd-control.socket", "systemd-udevd-kernel.socket", "systemd-udevd.service", "tmp.mount",
}

// quiet are units of bases that work by themselves, at times of their own: not in tests.
var quiet = []string{"apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer", "man-db.timer", "motd-news.timer"}

// journal keeps the system's journal in memory, as the host's log has what hooks say.
const journal = "[Journal]\nStorage=volatile\nRuntimeMaxUse=16M\nReadKMsg=no\nForwardToSyslog=no\nAudit=no\n"

// isSystem says whether the cell's first process is to be systemd.
func (s Spec) isSystem() bool { return s.Mode == model.IsolateMachine }

// checkSystem looks whether it can be, on this host.
func (s Spec) checkSystem() error {
	if !s.isSystem() {
		return nil
	}
	if s.Root == "" {
		return errors.WithType(errors.New("a machine with systemd needs a root of its own (--isolate-root DIR), not the host's"), ErrNoRights)
	}
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return errors.Trace(err)
	}
	defer root.Close()
	for _, path := range systemd {
		if _, err := root.Stat(strings.TrimPrefix(path, "/")); err == nil {
			return errors.Trace(checkWatches())
		}
	}
	return errors.WithType(errors.Errorf("%s has no systemd: install systemd-sysv and dbus there", s.Root), ErrNoRights)
}

// takeSystemGroup has the init's cgroup be the topmost that its name space shows, and mounts it.
func takeSystemGroup() (part, error) {
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return part{}, noRights("cannot have cgroups for a machine", err)
	}
	fd, err := detached("cgroup2", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return part{}, noRights("cannot have cgroups for a machine", err)
	}
	return part{to: "/sys/fs/cgroup", mount: fd}, nil
}

// furnishSystem writes what systemd is to find.
func furnishSystem(s setUp) error {
	if !s.isSystem() {
		return nil
	}
	for _, dir := range []string{"/run/systemd/system", "/run/systemd/journald.conf.d", hostDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return errors.Trace(err)
		}
	}
	for _, unit := range append(append([]string(nil), masked...), quiet...) {
		if err := os.Symlink("/dev/null", filepath.Join("/run/systemd/system", unit)); err != nil {
			return errors.Trace(err)
		}
	}
	if err := os.WriteFile("/run/systemd/journald.conf.d/unitd.conf", []byte(journal), 0o644); err != nil {
		return errors.Trace(err)
	}
	if err := os.WriteFile(filepath.Join(hostDir, "container-manager"), []byte("unitd\n"), 0o644); err != nil {
		return errors.Trace(err)
	}
	if !s.Fresh {
		return nil
	}
	// All machines of a root have its id else: an empty one is the container_uuid.
	if err := os.Remove("/var/lib/dbus/machine-id"); err != nil && !os.IsNotExist(err) {
		return errors.Trace(err)
	}
	return replace("/etc/machine-id", "")
}

// shareMounts has what one process mounts in a machine be there for the others, also for those
// that have a name space of their own, as systemd does by itself where it isn't in a container:
// it mounts a service's credentials in a name space of a helper. The host sees nothing of it, as
// the machine's mounts are parted from its own.
func shareMounts(s setUp) error {
	if !s.isSystem() {
		return nil
	}
	return noRights("cannot share the mounts of a machine", unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""))
}

// becomeSystem is systemd from here on; it returns only if it can't be.
func becomeSystem(s setUp) error {
	runtime.LockOSThread() // whose rights, and cgroups, are systemd's
	if err := dropRights(withhold(s.User, s.OwnNet)); err != nil {
		return errors.Trace(err)
	}
	env := []string{"PATH=" + Path, "container=unitd", "container_uuid=" + machineID(s.ID), "NOTIFY_SOCKET=" + notifySocket, "TERM=vt220"}
	err := error(unix.ENOENT)
	for _, path := range systemd {
		if err = unix.Exec(path, []string{"/sbin/init"}, env); err != unix.ENOENT {
			break
		}
	}
	return errors.Annotate(err, "cannot run systemd")
}

// machineID is that of a unit's machine, whenever it is started.
func machineID(unit string) string {
	sum := sha256.Sum256([]byte("unitd machine\x00" + unit))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // as one that is chance
	h := hex.EncodeToString(sum[:16])
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

// How deep a machine may nest cgroups, so that the path of each is short enough to remove
// it, and how many it may have, each of which takes memory of the kernel's.
const (
	maxDepth       = "12"
	maxDescendants = "4096"
)

// delegated are the files of a cgroup that belong to who may divide it.
var delegated = []string{"", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control", "memory.oom.group", "memory.reclaim"}

// errNoSystem is why there can be none.
var errNoSystem = errors.WithType(errors.New("a machine with systemd needs users of its own: an agent that is root, Linux 5.19, and a file system that supports idmapped mounts"), ErrNoRights)

// prepareSystem has the machine's cgroup, below above, and the socket there; nil: it is no
// system.
func (c *Cell) prepareSystem(above string) (*net.UnixConn, error) {
	if !c.record.System {
		return nil, nil
	}
	c.makeGroup(above, Limits{})
	if c.record.Group == "" {
		return nil, errors.WithType(errors.New("a machine with systemd needs a cgroup of version 2"), ErrNoRights)
	}
	for name, most := range map[string]string{"cgroup.max.depth": maxDepth, "cgroup.max.descendants": maxDescendants} {
		if err := os.WriteFile(filepath.Join(c.record.Group, name), []byte(most), 0o644); err != nil {
			return nil, errors.Annotate(err, "cannot limit the cgroups of a unit's machine")
		}
	}
	uid, gid := c.OfProcess(0, 0)
	for _, name := range delegated {
		if err := os.Lchown(filepath.Join(c.record.Group, name), uid, gid); err != nil && !os.IsNotExist(err) {
			return nil, errors.Annotate(err, "cannot delegate the cgroup of a unit's machine")
		}
	}
	return listenNotify(filepath.Join(c.dir, notifyName), uid)
}

// listenNotify makes the socket at which the root of the machine says that it is up.
func listenNotify(path string, uid int) (*net.UnixConn, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, errors.Trace(err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer dir.Close()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: inProc(dir) + "/" + filepath.Base(path), Net: "unixgram"})
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := os.Lchown(path, uid, -1); err != nil {
		conn.Close()
		return nil, errors.Trace(err)
	}
	return conn, nil
}

// booted waits until systemd has started what it starts.
func (c *Cell) booted(ctx context.Context, p *child, at *net.UnixConn) error {
	ctx, cancel := context.WithTimeout(ctx, bootPatience)
	defer cancel()
	up := make(chan struct{})
	go func() {
		defer close(up)
		b := make([]byte, 4096)
		for {
			n, err := at.Read(b)
			if err != nil || strings.Contains("\n"+string(b[:n])+"\n", "\nREADY=1\n") {
				return
			}
		}
	}()
	defer func() { <-up }()
	defer at.Close()
	select {
	case <-up:
		return nil
	case <-p.ended:
		return errors.New("systemd has ended while the machine booted")
	case <-ctx.Done():
		return errors.Annotatef(ctx.Err(), "the machine isn't up after %v", bootPatience)
	}
}

// System says whether the cell's first process is systemd.
func (c *Cell) System() bool { return c.record.System }

// The signals by which systemd shuts down, and reboots; see systemd(1). They are counted
// from SIGRTMIN of C programs, which have 34 there.
const (
	haltSignal   = syscall.Signal(34 + 3)
	rebootSignal = syscall.Signal(34 + 5)
)

// Reboot has systemd reboot the machine: it stops its services and ends, after which the
// agent opens the cell again. One that doesn't end is killed. The error is that of the
// context, or the kernel's.
func (c *Cell) Reboot(ctx context.Context) error {
	if err := c.tell(ctx, rebootSignal, rebootPatience); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(c.kill())
}

// haltSystem has systemd shut the machine down, if it will.
func (c *Cell) haltSystem() error {
	return errors.Trace(c.cells.apart(func() error { return c.tell(context.Background(), haltSignal, haltPatience) }))
}
