package isolate_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// secretText is what no unit may read: in the key, in another unit's files.
const secretText = "the-secret-of-another"

// escape is a way in which root inside of a container has got out of it somewhere: as
// the program in Go, which says how far it has come, or as a shell's commands. What it has got is
// told by its output, which then has the secret or "ESCAPED".
type escape struct {
	name  string
	shell string
	do    func(data string) error // nil: it has got out
	// onHost: it may be tried on the host, where it does get out: that shows that
	// it is tried rightly.
	onHost bool
}

// escapes are those that docs/isolation.md lists.
var escapes = []escape{
	{name: "the data directory by its path", shell: `cat $DATA/secret.key $DATA/agents/*/* $DATA/cells/*/*/layers/*/*/etc/mine`, onHost: true},
	{name: "the data directory with all unmounted", shell: `for i in 1 2 3; do grep " $DATA" /proc/mounts | cut -d' ' -f2 | xargs -r -n1 umount -l; umount -l $DATA; done; find $DATA -type f | xargs -r cat`},
	{name: "the data directory by every mount", shell: `cut -d' ' -f2 /proc/mounts | while read m; do cat $m/secret.key $m$DATA/secret.key $m/../secret.key; done`},
	{name: "what a bind of the root shows", shell: `mkdir -p /mnt/x && mount --bind / /mnt/x && cat /mnt/x$DATA/secret.key`},
	{name: "an overlay over the root", shell: `mkdir -p /mnt/o && mount -t overlay x -o lowerdir=/:/etc /mnt/o && cat /mnt/o$DATA/secret.key`},
	{name: "/proc/1/root", shell: `cat /proc/1/root$DATA/secret.key /proc/1/root/../..$DATA/secret.key /proc/1/cwd$DATA/secret.key`},
	{name: "open files of PID 1", shell: `for f in /proc/1/fd/*; do cat $f/secret.key $f/agents/*/*; ls -l $f | grep -q "$DATA" && echo ESCAPED $f; done`},
	{name: "open files of the program itself", shell: `for f in /proc/self/fd/*; do cat $f/secret.key $f/../secret.key; done`},
	{name: "nested chroot", shell: `mkdir -p /mnt/c; cat > /tmp/c.sh <<'X'
cd /; for i in 1 2 3 4 5 6 7 8 9; do cd ..; done; cat .$DATA/secret.key
X
chroot /mnt/c /bin/true; sh /tmp/c.sh`},
	{name: "raw disks", do: rawDisks},
	{name: "a file system of a raw disk", shell: `major=$(stat -c %Hd /); for d in $(cut -d' ' -f3 /proc/self/mountinfo | sort -u); do mknod /tmp/disk b ${d%:*} ${d#*:} && mkdir -p /mnt/d && mount -o ro /tmp/disk /mnt/d && find /mnt/d -name secret.key | xargs -r cat; rm -f /tmp/disk; done`},
	{name: "the kernel's memory", shell: `for n in 1:mem 2:kmem 4:port; do mknod /tmp/${n#*:} c 1 ${n%:*} && head -c 1 /tmp/${n#*:} >/dev/null && echo ESCAPED; done; head -c 64 /proc/kcore | grep -q ELF && echo ESCAPED`},
	{name: "devtmpfs", shell: `mkdir -p /mnt/dev && mount -t devtmpfs x /mnt/dev && ls /mnt/dev | grep -q . && for d in /mnt/dev/vd* /mnt/dev/sd* /mnt/dev/nvme*; do head -c 1 $d >/dev/null 2>&1 && echo ESCAPED $d; done`},
	{name: "cgroup v1 release_agent", shell: `for c in memory rdma devices freezer name=x; do mkdir -p /mnt/cg && mount -t cgroup -o ${c},none x /mnt/cg || mount -t cgroup -o $c x /mnt/cg || continue; echo "$DATA/x" > /mnt/cg/release_agent && echo ESCAPED; umount /mnt/cg; done`},
	{name: "cgroup v1 release_agent in a name space", shell: `unshare -UrCm sh -c 'mkdir -p /mnt/cg; for c in memory devices freezer; do mount -t cgroup -o $c x /mnt/cg && echo x > /mnt/cg/release_agent && echo ESCAPED; done'`},
	{name: "core_pattern", shell: `echo '|/bin/escaped' > /proc/sys/kernel/core_pattern && echo ESCAPED`},
	{name: "core_pattern with /proc/sys mounted for writing", shell: `mount -o remount,rw /proc/sys; mount -o remount,rw /proc; umount -l /proc/sys; echo '|/bin/escaped' > /proc/sys/kernel/core_pattern && echo ESCAPED`},
	{name: "core_pattern in another /proc", shell: `mkdir -p /mnt/p; mount -t proc x /mnt/p && echo '|/bin/escaped' > /mnt/p/sys/kernel/core_pattern && echo ESCAPED`},
	{name: "the kernel's helper for modules", shell: `echo /bin/escaped > /proc/sys/kernel/modprobe && echo ESCAPED`},
	{name: "uevent_helper", shell: `mount -o remount,rw /sys; mkdir -p /mnt/s; mount -t sysfs x /mnt/s; for f in /sys/kernel/uevent_helper /mnt/s/kernel/uevent_helper; do [ -e $f ] && echo /bin/escaped > $f && echo ESCAPED; done`},
	{name: "binfmt_misc", shell: `mkdir -p /mnt/b; mount -t binfmt_misc x /mnt/b; for d in /mnt/b /proc/sys/fs/binfmt_misc; do echo ':unitdtest:M::ESCAPE::/bin/escaped:CF' > $d/register && [ -e /proc/1/root/../proc/sys/fs/binfmt_misc/unitdtest ] && echo ESCAPED; done`},
	{name: "sysrq-trigger", shell: `[ -w /proc/sysrq-trigger ] && (echo h > /proc/sysrq-trigger) && echo ESCAPED`},
	{name: "debugfs and tracefs", shell: `mkdir -p /mnt/t; for k in debugfs tracefs securityfs bpf; do mount -t $k x /mnt/t && ls /mnt/t | grep -q . && echo ESCAPED $k; done`},
	{name: "a kernel module", do: refusedBy(func() error { return unix.FinitModule(0, "", 0) }, unix.ENOEXEC, unix.EBADF, unix.EINVAL)},
	{name: "another kernel", do: refusedBy(func() error {
		_, _, errno := unix.Syscall6(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xffff0000, 0, 0)
		return noError(errno)
	}, unix.EINVAL)},
	{name: "handles of files (shocker)", do: fileHandles, onHost: true},
	{name: "PID 1's program file", do: ownProgram},
	{name: "tracing PID 1", do: tracePID1},
	{name: "name spaces of the host", do: joinHost},
	{name: "processes of the host", do: hostProcesses},
	{name: "keys of the host's root", shell: `grep -q unitd-escape /proc/keys && echo ESCAPED`},
	{name: "the agent's socket", do: agentSocket, onHost: true},
	{name: "programs in the kernel", do: refusedBy(func() error {
		var attr [128]byte // of a map
		attr[0], attr[4], attr[8], attr[12] = 2, 4, 4, 1
		fd, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), 128)
		if errno == 0 {
			unix.Close(int(fd))
		}
		return noError(errno)
	})},
	{name: "counters of all processes", do: refusedBy(func() error {
		fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}, -1, 0, -1, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	})},
	{name: "the clock", do: refusedBy(func() error {
		now := unix.NsecToTimeval(time.Now().UnixNano())
		return unix.Settimeofday(&now)
	})},
	{name: "the kernel's messages", do: refusedBy(func() error {
		_, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_UNREAD, nil)
		if err == nil {
			_, err = unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, make([]byte, 64))
		}
		return err
	})},
	{name: "loop devices and FUSE", shell: `for d in loop-control loop0 fuse mapper/control kvm net/tun; do [ -e /dev/$d ] && echo ESCAPED $d; done; mknod /tmp/lc c 10 237 && exec 3<>/tmp/lc && echo ESCAPED; mknod /tmp/fu c 10 229 && exec 3<>/tmp/fu && echo ESCAPED; true`},
	{name: "what is bound read-only", shell: `mount -o remount,bind,rw /var/lib/juju/tools/client; echo x >> /var/lib/juju/tools/client && echo ESCAPED`},
}

func noError(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// refusedBy is a call that gets out if it isn't refused for want of rights: also if it fails
// by one of the errors, which come after the rights were looked at.
func refusedBy(call func() error, after ...error) func(string) error {
	return func(string) error {
		err := call()
		if err == nil || slices.ContainsFunc(after, func(e error) bool { return e == err }) {
			return nil
		}
		return err
	}
}

func rawDisks(string) error {
	const disk = "/tmp/raw-disk"
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	err = fmt.Errorf("no disk")
	for line := range strings.Lines(string(b)) {
		var major, minor uint32
		if f := strings.Fields(line); len(f) < 3 {
			continue
		} else if _, e := fmt.Sscanf(f[2], "%d:%d", &major, &minor); e != nil || major == 0 {
			continue
		}
		os.Remove(disk)
		if err = unix.Mknod(disk, unix.S_IFBLK|0o600, int(unix.Mkdev(major, minor))); err != nil {
			continue
		}
		var f *os.File
		if f, err = os.Open(disk); err == nil {
			f.Close()
			return nil
		}
	}
	return err
}

// fileHandles opens the root of a file system, and what is in it, by a number.
func fileHandles(data string) error {
	for _, at := range []string{"/", "/tmp", isolate.Juju} {
		mount, err := unix.Open(at, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(mount)
		for _, size := range []int{8, 12} {
			handle := make([]byte, size)
			handle[0] = 2 // the root's inode of ext4
			fd, err := unix.OpenByHandleAt(mount, unix.NewFileHandle(1, handle), unix.O_RDONLY)
			if err == nil || err == unix.ESTALE {
				unix.Close(fd)
				return nil
			}
		}
	}
	return unix.EPERM
}

func ownProgram(string) error {
	f, err := os.OpenFile("/proc/1/exe", os.O_WRONLY, 0)
	if err == nil {
		f.Close()
		return nil
	}
	var st unix.Statfs_t
	if err := unix.Statfs("/proc/1/exe", &st); err != nil {
		return err
	}
	if st.Flags&unix.ST_RDONLY == 0 && strings.Contains(err.Error(), "busy") {
		return nil // once it isn't, it can be written to
	}
	return err
}

// tracePID1 has PID 1 do something that it has more rights for.
func tracePID1(string) error {
	b, err := os.ReadFile("/proc/1/status")
	if err != nil {
		return err
	}
	own, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	if caps(b)&^caps(own) == 0 {
		return unix.EPERM // there is nothing to get
	}
	if err := unix.PtraceSeize(1); err != nil {
		return err
	}
	return nil
}

func caps(status []byte) (bits uint64) {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("CapPrm:")); ok {
			bits, _ = strconv.ParseUint(string(bytes.TrimSpace(rest)), 16, 64)
		}
	}
	return bits
}

// joinHost asks for the name spaces above its own ones.
func joinHost(string) error {
	const nsGetUserNS, nsGetParent = 0xb701, 0xb702
	for _, kind := range []string{"user", "pid", "mnt", "net"} {
		f, err := os.Open("/proc/1/ns/" + kind)
		if err != nil {
			continue
		}
		for _, ask := range []uintptr{nsGetParent, nsGetUserNS} {
			fd, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), ask, 0)
			if errno != 0 {
				continue
			}
			for range 2 { // to the host's
				next, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, nsGetParent, 0)
				if errno != 0 {
					break
				}
				fd = next
			}
			if unix.Setns(int(fd), 0) == nil {
				return nil
			}
		}
		f.Close()
	}
	return unix.EPERM
}

// hostProcesses looks for a process by the number that it has on the host.
func hostProcesses(data string) error {
	b, err := os.ReadFile("/tmp/host-pid")
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return err
	}
	if c, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err == nil && bytes.Contains(c, []byte("isolate.test")) && !bytes.Contains(c, []byte("escape")) {
		return nil
	}
	return unix.ESRCH
}

func agentSocket(data string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: data + "/run.socket"})
}

// escapeMain tries one of them that is a program.
func escapeMain(name, data string) int {
	for _, e := range escapes {
		if e.name == name && e.do != nil {
			if err := e.do(data); err != nil {
				fmt.Println("refused:", err)
			} else {
				fmt.Println("ESCAPED")
			}
		}
	}
	return 0
}

// TestHostRootOfAMachineDoesNotGetOut by anything that others have got out by.
func TestHostRootOfAMachineDoesNotGetOut(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]struct {
		mode      string
		hostUsers bool
	}{
		"in a user name space":                      {model.IsolateOn, false},
		"as the host's root":                        {model.IsolateOn, true},
		"as the host's root, on the host's network": {model.IsolateFiles, true},
		"with systemd":                              {model.IsolateMachine, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, spec := secretive(t)
			w.cells.HostUsers, spec.Mode = m.hostUsers, m.mode
			if m.mode == model.IsolateMachine {
				spec.Root = w.machine("app/0").Root
			}
			hide(t, w)
			c := w.openBy(spec)
			if _, size := c.Numbers(); size == 0 && !m.hostUsers {
				t.Skipf("no user name space here: %s", c.Lost())
			}
			must(t, os.WriteFile(filepath.Join(c.Tmp(), "host-pid"), []byte(strconv.Itoa(os.Getpid())), 0o644))
			for _, e := range escapes {
				if m.mode == model.IsolateMachine && e.name == "PID 1's program file" {
					continue // it is systemd, the machine's own
				}
				t.Run(e.name, func(t *testing.T) { tryEscape(t, w, c, e) })
			}
		})
	}
}

// TestHostTheAgentOpensNoFilesOfTheKernel for who names one inside, by itself or by a link:
// hook tools read and write files that a hook names.
func TestHostTheAgentOpensNoFilesOfTheKernel(t *testing.T) {
	t.Parallel()
	for _, hostUsers := range []bool{false, true} {
		w, spec := secretive(t)
		w.cells.HostUsers = hostUsers
		c := w.openBy(spec)
		want(t, c, "ln -s /proc/sys/kernel/core_pattern /etc/link; echo ok", "ok")
		for _, path := range []string{"/proc/sys/kernel/core_pattern", "/etc/link", "/proc/kcore", "/proc/1/environ", "/sys/kernel/uevent_seqnum"} {
			for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREATE} {
				if f, err := c.OpenAsPerson(path, flag, 0o600); err == nil {
					f.Close()
					t.Errorf("%s was opened (%#x)", path, flag)
				}
			}
		}
	}
}

// TestHostWhatIsOthersTooCannotBeWrittenTo, whatever is done to its mount.
func TestHostWhatIsOthersTooCannotBeWrittenTo(t *testing.T) {
	t.Parallel()
	for _, hostUsers := range []bool{false, true} {
		w, spec := secretive(t)
		w.cells.HostUsers = hostUsers
		c := w.openBy(spec)
		program := filepath.Join(w.dir, "program")
		must(t, os.WriteFile(program, []byte("#!/bin/sh\necho mine\n"), 0o755))
		want(t, c, "touch /opt/program; echo ok", "ok")
		must(t, c.AttachBind("program", isolate.Bind{From: program, To: "/opt/program", ReadOnly: true, Theirs: true}))
		want(t, c, "/opt/program; mount -o remount,bind,rw /opt/program 2>/dev/null; chmod 777 /opt/program 2>/dev/null; (echo x >>/opt/program) 2>/dev/null || echo refused", "mine\nrefused")
	}
}

// hide has secrets where nobody may find them.
func hide(t *testing.T, w *world) {
	t.Helper()
	for _, f := range []string{"secret.key", "agents/unit-app-1/theirs", "cells/model/unit-app-1/layers/root/upper/etc/mine"} {
		path := filepath.Join(w.dir, f)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(secretText), 0o644))
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: w.dir + "/run.socket"}))
	must(t, unix.Listen(fd, 8))
	_, err = unix.AddKey("user", "unitd-escape", []byte(secretText), unix.KEY_SPEC_SESSION_KEYRING)
	must(t, err)
}

func tryEscape(t *testing.T, w *world, c *isolate.Cell, e escape) {
	settings := []string{"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe"}
	before := map[string]string{}
	for _, f := range settings {
		b, _ := os.ReadFile(f)
		before[f] = string(b)
	}
	program, args := isolate.Juju+"/tools/client", []string{"escape", e.name, w.dir}
	if e.do == nil {
		program, args = "/bin/sh", []string{"-c", "DATA=" + w.dir + "\nexport DATA\n" + e.shell}
	}
	inside, all := c.Command("/", program, args...)
	out, _ := exec.Command(inside, all...).CombinedOutput()
	if got(out) {
		t.Errorf("%s", out)
	}
	for f, was := range before {
		if b, _ := os.ReadFile(f); string(b) != was {
			t.Errorf("%s is %q, was %q", f, b, was)
			_ = os.WriteFile(f, []byte(was), 0o644)
		}
	}
	if !e.onHost {
		return
	}
	if e.do != nil {
		program = w.cells.Program
	}
	if out, _ := exec.Command(program, args...).CombinedOutput(); !got(out) {
		t.Errorf("the host's root is refused it, so it shows nothing: %s", out)
	}
}

func got(out []byte) bool {
	return bytes.Contains(out, []byte("ESCAPED")) || bytes.Contains(out, []byte(secretText))
}
