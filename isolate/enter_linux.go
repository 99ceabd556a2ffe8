package isolate

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/unitd/unitd/hooks/runner"
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
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	fail := func(code int, err error) int {
		fmt.Fprintf(os.Stderr, "cannot run %s in the unit's cell: %v\n", filepath.Base(path), err)
		return code
	}
	as, err := parsePerson(args[1])
	if err != nil {
		return fail(cannotRun, err)
	}
	conn, err := dial(dir)
	if err != nil {
		return fail(NoCell, errors.New("the cell has ended: the agent makes it anew"))
	}
	defer conn.Close()
	c := call{Path: path, Args: args[4:], As: as, Dir: cwd, Env: os.Environ(), Files: 3, Terminal: term.IsTerminal(0) && term.IsTerminal(1)}
	fds := []int{0, 1, 2}
	if group, err := ownGroup(); err == nil {
		defer group.Close()
		fds, c.Cgroup, c.Files = append(fds, int(group.Fd())), true, 4
	}
	if err := send(conn, c, fds); err != nil {
		return fail(NoCell, err)
	}
	var a answer
	files, err := receive(conn, &a)
	switch {
	case err != nil:
		return fail(NoCell, errors.New("the cell has ended"))
	case a.Err == syscall.ENOENT.Error():
		return fail(notFound, errors.New(a.Err))
	case a.Err != "":
		return fail(cannotRun, errors.New(a.Err))
	}
	if a.Terminal && len(files) == 1 {
		back := passOn(files[0])
		defer back()
	}
	a = answer{}
	if _, err := receive(conn, &a); err != nil {
		return fail(NoCell, errors.New("the cell has ended"))
	}
	if a.Signal != 0 {
		return dieBy(syscall.Signal(a.Signal))
	}
	return a.Exit
}

// ownGroup is the cgroup of the program that this process stands for, if it was
// given one of its own.
func ownGroup() (*os.File, error) {
	dir, ok := runner.OwnCgroup()
	if !ok || !strings.Contains(dir, "/unitd-") {
		return nil, errors.NotFoundf("cgroup")
	}
	return os.Open(dir)
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
