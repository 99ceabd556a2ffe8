package isolate

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fork makes the copies. In this process it returns the number of the first; in them it
// doesn't return. Nothing in it may need Go's runtime: no memory, no growth of the
// stack, no lock.
//
//go:norace
//go:nosplit
func (c *copies) fork() (pid uintptr, errno syscall.Errno) {
	// No signal may find a copy with Go's handlers.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&c.all)), uintptr(unsafe.Pointer(&c.mask)), 8, 0, 0)
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if errno == 0 && pid == 0 {
		c.enter()
	}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&c.mask)), 0, 8, 0, 0)
	return pid, errno
}

// enter is the first copy: it joins the name spaces, and copies itself.
//
//go:norace
//go:nosplit
func (c *copies) enter() {
	var pid uintptr
	var errno syscall.Errno
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0)
	if c.procs != noFile { // not to be in it is no failure
		zero := [1]byte{'0'}
		_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, c.procs, uintptr(unsafe.Pointer(&zero)), 1)
	}
	for i := 0; i < c.joined; i++ {
		if _, _, errno = syscall.RawSyscall(unix.SYS_SETNS, c.spaces[i][0], c.spaces[i][1], 0); errno != 0 {
			c.fail(stepJoin, errno)
		}
	}
	// Who joins a name space of users becomes somebody, which may undo it.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0)
	if errno = c.dropRights(); errno != 0 { // before it is seen from inside
		c.fail(stepJoin, errno)
	}
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD)|unix.CLONE_PARENT|c.more, 0, 0, 0, 0, 0)
	if errno != 0 {
		c.fail(stepFork, errno)
	}
	if pid == 0 {
		c.become()
	}
	c.said[2] = uint32(pid)
	c.fail(stepNone, 0)
}

// dropRights is the function of that name, for a copy.
//
//go:norace
//go:nosplit
func (c *copies) dropRights() (errno syscall.Errno) {
	if c.withhold == 0 {
		return 0
	}
	for i := uintptr(0); i < 64; i++ {
		if c.withhold&(1<<i) == 0 {
			continue
		}
		_, _, errno = syscall.RawSyscall6(syscall.SYS_PRCTL, unix.PR_CAPBSET_DROP, i, 0, 0, 0, 0)
		if errno != 0 && errno != syscall.EINVAL {
			return errno
		}
	}
	c.caps.header.Version = unix.LINUX_CAPABILITY_VERSION_3
	_, _, errno = syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&c.caps.header)), uintptr(unsafe.Pointer(&c.caps.data)), 0)
	if errno != 0 {
		return errno
	}
	low, high := ^uint32(c.withhold), ^uint32(c.withhold>>32)
	c.caps.data[0].Effective &= low
	c.caps.data[0].Permitted &= low
	c.caps.data[0].Inheritable &= low
	c.caps.data[1].Effective &= high
	c.caps.data[1].Permitted &= high
	c.caps.data[1].Inheritable &= high
	_, _, errno = syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&c.caps.header)), uintptr(unsafe.Pointer(&c.caps.data)), 0)
	return errno
}

// fail reports, and ends the copy.
//
//go:norace
//go:nosplit
func (c *copies) fail(step uint32, errno syscall.Errno) {
	c.said[0], c.said[1] = step, uint32(errno)
	_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, c.report, uintptr(unsafe.Pointer(&c.said)), reportSize)
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 1, 0, 0)
	}
}

// become is the second copy: it becomes the program.
//
//go:norace
//go:nosplit
func (c *copies) become() {
	errno := c.dress()
	if errno == 0 {
		_, _, errno = syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(c.path)), uintptr(unsafe.Pointer(&c.argv[0])), uintptr(unsafe.Pointer(&c.envv[0])))
	}
	c.fail(stepRun, errno)
}

// dress gives the second copy what is the program's.
//
//go:norace
//go:nosplit
func (c *copies) dress() (errno syscall.Errno) {
	var ignored [4]uint64 // a signal's default, as the kernel has it
	for i := uintptr(1); i <= 64; i++ {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, i, uintptr(unsafe.Pointer(&ignored)), 0, 8, 0, 0)
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_UMASK, 0o022, 0, 0) // as a machine begins
	_, _, _ = syscall.RawSyscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
	if c.limit.Cur != 0 {
		_, _, _ = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&c.limit)), 0, 0, 0)
	}
	if _, _, errno = syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0); errno != 0 {
		return errno
	}
	for i := 0; i < len(c.files); i++ {
		if _, _, errno = syscall.RawSyscall(unix.SYS_DUP3, c.files[i], uintptr(i), 0); errno != 0 {
			return errno
		}
	}
	// What this process has open without a flag for it may lead out of the cell.
	_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE_RANGE, uintptr(len(c.files)), uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC)
	if c.terminal {
		if _, _, errno = syscall.RawSyscall(syscall.SYS_IOCTL, 0, unix.TIOCSCTTY, 0); errno != 0 {
			return errno
		}
		_, _, _ = syscall.RawSyscall(syscall.SYS_FCHOWN, 0, c.uid, noFile) // for who opens it by its name
	}
	if errno = c.identify(); errno != 0 {
		return errno
	}
	if _, _, errno = syscall.RawSyscall(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(c.dir)), 0, 0); errno != 0 {
		return errno
	}
	if c.tied {
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
	}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&c.mask)), 0, 8, 0, 0)
	return 0
}

// identify makes the second copy whom the program runs as.
//
//go:norace
//go:nosplit
func (c *copies) identify() (errno syscall.Errno) {
	if !c.alone {
		var groups uintptr
		if len(c.groups) > 0 {
			groups = uintptr(unsafe.Pointer(&c.groups[0]))
		}
		if _, _, errno = syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(c.groups)), groups, 0); errno != 0 {
			return errno
		}
	}
	if _, _, errno = syscall.RawSyscall(syscall.SYS_SETRESGID, c.gid, c.gid, c.gid); errno != 0 {
		return errno
	}
	_, _, errno = syscall.RawSyscall(syscall.SYS_SETRESUID, c.uid, c.uid, c.uid)
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0, 0)
	return errno
}
