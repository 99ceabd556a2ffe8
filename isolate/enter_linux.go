package isolate

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// enterArgs is how many arguments an EnterCommand has at least: the program's
// name, the command, the cell's directory, the user, the working directory, the
// program.
const enterArgs = 6

// The exit codes of a program that couldn't be started, as shells have them.
const (
	cannotRun = 126
	notFound  = 127
)

// enterMain runs a program in a cell as if it were this one: with its
// environment, its files, in its cgroup, and with its end. A terminal is passed
// on. TERM and what a terminal sends besides is for the program, which gets it by
// itself.
func enterMain(args []string) int {
	dir, cwd, path := args[0], args[2], args[3]
	runtime.LockOSThread() // with which the program ends
	ownFilesAlone()
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	fail := func(code int, err error) int {
		fmt.Fprintf(os.Stderr, "cannot run %s in the unit's cell: %v\n", filepath.Base(path), err)
		return code
	}
	as, err := parsePerson(args[1])
	if err != nil {
		return fail(cannotRun, err)
	}
	c := &Cell{dir: dir}
	ended := errors.New("the cell has ended: the agent makes it anew")
	if readRecord(c.recordPath(), &c.record) != nil || c.ending() {
		return fail(NoCell, ended)
	}
	e := entry{
		path: path, args: append([]string{path}, args[4:]...), env: os.Environ(), dir: cwd,
		files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, as: as, alone: c.record.single(), tied: true, withhold: c.withhold(),
	}
	if e.spaces, err = spacesOf(c.record.Pid); err != nil || c.ending() {
		return fail(NoCell, ended)
	}
	defer closeSpaces(e.spaces)
	group := c.groupFor(os.Environ())
	defer group.leave()
	e.group = group.procs
	back := func() {}
	if term.IsTerminal(0) && term.IsTerminal(1) {
		master, slave, err := c.openTerminal()
		if err != nil {
			return fail(cannotRun, errors.Annotate(err, "cannot open a terminal"))
		}
		e.files, e.terminal = []*os.File{slave, slave, slave}, true
		back = passOn(master)
	}
	c.giveOutput(e)
	pid, err := e.start()
	if e.terminal {
		e.files[0].Close() // or the other end would never see that nobody is at it
	}
	var status syscall.WaitStatus
	if err == nil {
		status = reap(pid)
	}
	back()
	switch {
	case errors.Is(err, errNotEntered) && c.ending():
		return fail(NoCell, ended)
	case err == syscall.ENOENT:
		return fail(notFound, err)
	case err != nil:
		return fail(cannotRun, err)
	case status.Signaled() && status.Signal() == syscall.SIGKILL && c.ending():
		return fail(NoCell, errors.New("the cell has ended"))
	case status.Signaled():
		return dieBy(status.Signal())
	}
	return status.ExitStatus()
}

// giveOutput has the pipes and the terminal that a program is given belong to whom it runs
// as, who may open them by name, as /dev/stderr: inside nobody is whom they belong to here.
func (c *Cell) giveOutput(e entry) {
	if os.Geteuid() != 0 {
		return // they are its own, or it gives them by itself
	}
	uid, gid := c.OfProcess(e.as.UID, e.as.GID)
	for _, f := range e.files {
		st, err := f.Stat()
		switch {
		case err != nil:
		case e.terminal:
			_ = f.Chown(uid, -1)
		case st.Mode()&os.ModeNamedPipe != 0:
			_ = f.Chown(uid, gid)
		}
	}
}

// ending says whether the cell's first process has ended, or is about to: then all
// that runs in there is killed, before it is no more.
func (c *Cell) ending() bool {
	if c.process() < 0 {
		return true
	}
	const (
		exiting = 0x4                     // PF_EXITING of the kernel's include/linux/sched.h
		killed  = 1 << (unix.SIGKILL - 1) // it is told to, and hasn't been run since
	)
	f := statFields(c.record.Pid)
	if len(f) < 29 {
		return true
	}
	flags, _ := strconv.ParseUint(f[6], 10, 64) // see proc_pid_stat(5)
	pending, _ := strconv.ParseUint(f[28], 10, 64)
	return flags&exiting != 0 || pending&killed != 0
}

// openTerminal makes a terminal in the cell.
func (c *Cell) openTerminal() (master, slave *os.File, err error) {
	root, err := c.root()
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(root)
	if master, err = (opening{Path: "/dev/pts/ptmx", Flag: unix.O_RDWR | unix.O_NOCTTY}).open(root); err != nil {
		return nil, nil, err
	}
	err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	if err == nil {
		var fd uintptr
		var errno syscall.Errno
		fd, _, errno = syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if errno == 0 {
			return master, os.NewFile(fd, "terminal"), nil
		}
		err = errno
	}
	master.Close()
	return nil, nil, err
}

// dieBy ends this process as the program was ended.
func dieBy(s syscall.Signal) int {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}) // nobody wants a second core
	// The runtime would print where it was for some: the kernel is to have its way.
	var byDefault [64]byte
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	_ = syscall.Kill(os.Getpid(), s)
	return 128 + int(s)
}

// passOn joins this terminal and that of a program until back is called.
func passOn(master *os.File) (back func()) {
	was, err := term.MakeRaw(0)
	resize := func() {
		if size, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ); err == nil {
			_ = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, size)
		}
	}
	resize()
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		for range changed {
			resize()
		}
	}()
	go func() { _, _ = io.Copy(master, os.Stdin) }()
	printed := make(chan struct{})
	go func() {
		defer close(printed)
		_, _ = io.Copy(os.Stdout, master)
	}()
	return func() {
		<-printed // the last words; a terminal has an end when nobody is at it
		if err == nil {
			_ = term.Restore(0, was)
		}
	}
}
