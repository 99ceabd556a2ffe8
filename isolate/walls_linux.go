package isolate

import (
	"io/fs"
	"os"
	"runtime"
	"slices"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// What nothing in a cell may do. In a user name space the kernel refuses most of it by
// itself, as the rights of root are for what is the name space's; where root inside is
// the host's, this is all that holds it. Source: docs/isolation.md, "Walls", and
// docs/spec/machine-isolation.md §4.

// withheld are capabilities that nothing in any cell has.
var withheld = []int{
	unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_TIME, unix.CAP_SYSLOG, unix.CAP_MAC_ADMIN, unix.CAP_MAC_OVERRIDE,
	unix.CAP_SYS_PACCT, unix.CAP_WAKE_ALARM, unix.CAP_BLOCK_SUSPEND, unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_CHECKPOINT_RESTORE,
	unix.CAP_IPC_LOCK, unix.CAP_MKNOD,
}

// withheldFromRoot are those that nothing has besides where root inside is the host's:
// by mounts, handles of files, a new kernel or the audit it would get out.
var withheldFromRoot = []int{
	unix.CAP_SYS_ADMIN, unix.CAP_SYS_BOOT, unix.CAP_DAC_READ_SEARCH, unix.CAP_LINUX_IMMUTABLE, unix.CAP_AUDIT_CONTROL, unix.CAP_AUDIT_READ,
	unix.CAP_SYS_TTY_CONFIG,
}

// withhold are the capabilities that programs don't have, a bit each: of a cell in a user
// name space or not, with a network of its own or the host's.
func withhold(user, ownNet bool) (bits uint64) {
	all := withheld
	if !user {
		all = slices.Concat(all, withheldFromRoot)
		if !ownNet {
			all = append(all, unix.CAP_NET_ADMIN)
		}
	}
	for _, c := range all {
		bits |= 1 << c
	}
	return bits
}

// withhold is that of the cell.
func (c *Cell) withhold() uint64 { return withhold(c.record.User, c.record.hasNetwork()) }

// hasNetwork says whether the network isn't the host's.
func (r record) hasNetwork() bool { return r.Net.Address != "" }

// caps are a thread's capabilities, as the kernel has them.
type caps struct {
	header unix.CapUserHeader
	data   [2]unix.CapUserData
}

// dropRights takes capabilities away from this thread, and from whatever program it
// becomes, for good.
func dropRights(bits uint64) error {
	for c := range uintptr(64) {
		if bits&(1<<c) == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL { // which no kernel has
			return errors.Annotate(err, "cannot take rights away")
		}
	}
	k := caps{header: unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}}
	if err := unix.Capget(&k.header, &k.data[0]); err != nil {
		return errors.Trace(err)
	}
	for i := range k.data {
		keep := ^uint32(bits >> (32 * i))
		k.data[i].Effective &= keep
		k.data[i].Permitted &= keep
		k.data[i].Inheritable &= keep
	}
	return errors.Annotate(unix.Capset(&k.header, &k.data[0]), "cannot take rights away")
}

// ReapCommand is the first argument by which this program is the parent of what has lost
// its own; see Main.
const ReapCommand = "--cell-reap"

// reapWithout is this init from here on, without capabilities. By becoming this program
// once more all of its threads lose them.
func reapWithout(bits uint64) error {
	runtime.LockOSThread()
	if err := dropRights(bits); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(unix.Exec("/proc/self/exe", []string{os.Args[0], ReapCommand}, os.Environ()))
}

// What of the kernel's own files programs can't write to, and can't see, where they are
// root's of the host.
var (
	readOnlyOfKernel = []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/asound", "/proc/mtrr"}
	hiddenOfKernel   = []string{
		"/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/key-users", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/kallsyms", "/proc/latency_stats",
		"/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/proc/slabinfo", "/proc/vmallocinfo",
		"/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/bpf", "/sys/devices/virtual/powercap",
	}
)

// maskKernel has them so. The settings of a network that is the cell's own can be written
// to. In a user name space the kernel refuses it, and what is mounted there could be
// unmounted.
func maskKernel(user, ownNet bool) error {
	if user {
		return nil
	}
	net := -1
	if ownNet {
		var err error
		if net, err = clone("/proc/sys/net"); err == nil {
			defer unix.Close(net)
		}
	}
	for _, path := range readOnlyOfKernel {
		if err := overItself(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Annotatef(err, "cannot protect %s", path)
		}
	}
	if net >= 0 {
		if err := unix.MoveMount(net, "", unix.AT_FDCWD, "/proc/sys/net", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return errors.Annotate(err, "cannot have the settings of the network")
		}
	}
	for _, path := range hiddenOfKernel {
		if err := hideOfKernel(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Annotatef(err, "cannot hide %s", path)
		}
	}
	return nil
}

// overItself mounts what is at a path over it, read-only.
func overItself(path string) error {
	if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	const flags = unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	return unix.Mount("", path, "", flags, "")
}

// hideOfKernel has a file be empty, and a directory have nothing.
func hideOfKernel(path string) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if st.IsDir() {
		return unix.Mount("tmpfs", path, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=0,mode=555")
	}
	err = unix.Mount("/dev/null", path, "", unix.MS_BIND, "")
	if err == syscall.ENOTDIR {
		return nil
	}
	return err
}
