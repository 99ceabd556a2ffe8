package isolate

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// Main is this program as a cell's init, as the program that enters one, or as what
// has the subordinate ids of the agent's user; ok says that the arguments, os.Args,
// are of those. Call it first of all. Where it hasn't to wait any more, as one of
// those with ids of its own, other arguments are for whoever knows them.
func Main(args []string) (code int, ok bool) {
	switch {
	case len(args) == 2 && args[1] == InitCommand:
		return initMain(), true
	case len(args) == 2 && args[1] == FilesCommand:
		return filesMain(), true
	case len(args) > 2 && args[1] == MappedCommand:
		return mappedMain(args[2:]), true
	case len(args) >= enterArgs && args[1] == EnterCommand:
		return enterMain(args[2:]), true
	case len(args) >= placeArgs && args[1] == PlaceCommand:
		return placeMain(args[2:]), true
	case len(args) >= placeArgs && args[1] == placedCommand:
		return placedMain(args[2:]), true
	}
	return 0, false
}

// listenerFile is the number of the init's file for who wants programs run.
const listenerFile = 3

// initMain is a cell's init: it makes the cell's root, says so, waits for the
// host's part, and then runs programs until somebody kills it.
func initMain() int {
	in, out := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	var s setUp
	if err := in.Decode(&s); err != nil {
		return 1
	}
	unix.Umask(0o022) // as a machine begins; nobody else's matters in there
	if s.IDs.Many() {
		_ = syscall.Setgroups(nil) // those of the agent's user are nobody's in there; unix.Setgroups is for one thread
	}
	if s.First != nil {
		return firstMain(s, in)
	}
	data, without, err := makeRoot(s)
	if err != nil {
		rights := errors.Is(err, ErrNoRights)
		_ = out.Encode(report{Err: err.Error(), Rights: rights})
		return 1
	}
	if out.Encode(report{Without: without}) != nil {
		return 1
	}
	var ahead goAhead
	if err := in.Decode(&ahead); err != nil {
		return 1 // the agent was killed
	}
	if s.OwnNet {
		if err := setUpNetwork(s.Network, ahead.Link); err != nil {
			_ = out.Encode(report{Err: err.Error()})
			return 1
		}
	}
	if out.Encode(report{}) != nil {
		return 1
	}
	given := os.NewFile(listenerFile, "listener")
	listener, err := net.FileListener(given)
	if err != nil {
		return 1
	}
	given.Close() // its finalizer would close whatever has the number by then
	letGo()
	i := &cellInit{waiting: map[int]chan syscall.WaitStatus{}, data: data, attached: map[string]string{}}
	go i.reap()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return 1
		}
		go i.serve(conn.(*net.UnixConn))
	}
}

// letGo leaves the files of whoever has started this process.
func letGo() {
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer null.Close()
	for fd := range 2 {
		_ = unix.Dup2(int(null.Fd()), fd)
	}
}

// cellInit is the first process of a cell.
type cellInit struct {
	mu sync.Mutex
	// waiting has who waits for the end of a process.
	waiting map[int]chan syscall.WaitStatus

	// data is what keepData has kept. attached has the names of what was attached,
	// by place, which one at a time changes.
	data      *os.File
	attaching sync.Mutex
	attached  map[string]string
}

// reap reaps all that ends in the cell: also what has lost its parent. Signals
// are taken and not ignored, as the programs of the cell would inherit that.
func (i *cellInit) reap() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	for {
		i.mu.Lock()
		for {
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
			if err == syscall.EINTR {
				continue
			}
			if err != nil || pid <= 0 {
				break
			}
			if c, ok := i.waiting[pid]; ok {
				delete(i.waiting, pid)
				c <- status
			}
		}
		i.mu.Unlock()
		<-signals
	}
}

// serve runs what one connection asks for, and says how it has ended. If the
// connection goes before, the program and its group are ended: nobody waits for
// it any more.
func (i *cellInit) serve(conn *net.UnixConn) {
	defer conn.Close()
	var c call
	files, err := receive(conn, &c)
	defer closeAll(files)
	if err != nil {
		return
	}
	if c.Attach != nil {
		_ = send(conn, i.attach(*c.Attach, files), nil)
		return
	}
	if c.Files == 0 {
		_ = send(conn, answer{Started: true}, nil) // somebody asks whether it lives
		return
	}
	pid, ended, terminal, err := i.start(c, files)
	if err != nil {
		_ = send(conn, answer{Err: err.Error()}, nil)
		return
	}
	if terminal != nil {
		err = send(conn, answer{Started: true, Terminal: true}, []int{int(terminal.Fd())})
		terminal.Close()
	} else {
		err = send(conn, answer{Started: true}, nil)
	}
	closeAll(files)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, conn)
	}()
	if err != nil {
		conn.Close()
	}
	var status syscall.WaitStatus
	select {
	case status = <-ended:
	case <-gone:
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		<-ended
		return
	}
	a := answer{Exit: status.ExitStatus()}
	if status.Signaled() {
		a.Signal = int(status.Signal())
	}
	_ = send(conn, a, nil)
}

// start starts a program. It is the first of a session of its own, in its
// caller's cgroup where it has one.
func (i *cellInit) start(c call, files []*os.File) (pid int, ended chan syscall.WaitStatus, terminal *os.File, err error) {
	need := c.Files
	if len(files) != need || need < 3 || c.Cgroup && need < 4 {
		return 0, nil, nil, errors.Errorf("%d files came with the call", len(files))
	}
	fds := []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()}
	attr := &syscall.ProcAttr{Dir: c.Dir, Env: c.Env, Files: fds, Sys: &syscall.SysProcAttr{Setsid: true}}
	if c.As.String() != "" {
		attr.Sys.Credential = c.As.credential()
	}
	if c.Terminal {
		var slave *os.File
		if terminal, slave, err = openTerminal(); err != nil {
			return 0, nil, nil, errors.Annotate(err, "cannot open a terminal")
		}
		defer slave.Close()
		if err = slave.Chown(c.As.UID, -1); err != nil { // for who opens it by its name
			terminal.Close()
			return 0, nil, nil, err
		}
		attr.Files = []uintptr{slave.Fd(), slave.Fd(), slave.Fd()}
		attr.Sys.Setctty, attr.Sys.Ctty = true, 0
	}
	ended = make(chan syscall.WaitStatus, 1)
	argv := append([]string{c.Path}, c.Args...)
	i.mu.Lock() // nobody reaps it before it is known
	defer i.mu.Unlock()
	err = syscall.EBADF
	if c.Cgroup {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(files[3].Fd())
		pid, err = syscall.ForkExec(c.Path, argv, attr)
	}
	if err != nil {
		attr.Sys.UseCgroupFD = false
		pid, err = syscall.ForkExec(c.Path, argv, attr)
	}
	if err != nil {
		if terminal != nil {
			terminal.Close()
		}
		return 0, nil, nil, err
	}
	i.waiting[pid] = ended
	return pid, ended, terminal, nil
}

// openTerminal makes a terminal in the cell.
func openTerminal() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}
