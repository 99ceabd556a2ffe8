package isolate

import (
	"encoding/binary"
	"io"
	"os"
	"strconv"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// entry is a program that is to run in name spaces that are there already. A Go program
// has threads, and none with threads can join a name space of users. So a copy of this
// process, which has one, joins them; a copy of that one is in its name space of processes
// as well, and becomes the program, as a child of this process. The copies do
// nothing but system calls until then: of Go's runtime there is nothing in them.
//
// The copy in the middle can't be reached from inside. The last one can, by the
// numbers of processes, before it is the program: it can't be traced, as whoever has
// joined a name space of users can't.
type entry struct {
	path      string
	args, env []string // with the program's name
	dir       string
	// files are the program's from 0 on. terminal: the first is its terminal.
	files    []*os.File
	terminal bool
	// as is who it runs as. alone: there is one user inside, who has no groups to give.
	as    Person
	alone bool
	// spaces are joined in this order.
	spaces []space
	// group is the open list of processes of the cgroup that it is to be in; nil: it is in
	// that of this process.
	group *os.File
	// more are the flags of name spaces of its own.
	more uintptr
	// withhold are the capabilities that it doesn't have, a bit each.
	withhold uint64
	// tied: it ends with the thread that has started it.
	tied bool
}

// space is an open name space.
type space struct {
	file *os.File
	kind int // the flag of its kind
}

// spaceKinds are the kinds of name spaces in the order in which they are joined: that of
// users gives the rights to the others.
var spaceKinds = []struct {
	name string
	flag int
}{
	{"user", unix.CLONE_NEWUSER},
	{"mnt", unix.CLONE_NEWNS},
	{"pid", unix.CLONE_NEWPID},
	{"uts", unix.CLONE_NEWUTS},
	{"ipc", unix.CLONE_NEWIPC},
	{"net", unix.CLONE_NEWNET},
	{"cgroup", unix.CLONE_NEWCGROUP},
}

// spacesOf opens the name spaces of a process that aren't this process's. Close them.
func spacesOf(pid int) (_ []space, err error) {
	var all []space
	defer func() {
		if err != nil {
			closeSpaces(all)
		}
	}()
	for _, k := range spaceKinds {
		f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/" + k.name)
		if os.IsNotExist(err) && k.name == "cgroup" {
			continue // a kernel that has none
		}
		if err != nil {
			return nil, errors.Trace(err)
		}
		theirs, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, errors.Trace(err)
		}
		if own, err := os.Stat("/proc/self/ns/" + k.name); err == nil && os.SameFile(own, theirs) {
			f.Close()
			continue
		}
		all = append(all, space{f, k.flag})
	}
	return all, nil
}

func closeSpaces(all []space) {
	for _, s := range all {
		s.file.Close()
	}
}

// errNotEntered is that the name spaces can't be joined.
const errNotEntered = errors.ConstError("cannot be entered")

// start starts the program, whose number on the host it is. The error is errNotEntered, or the operating system's of
// what the program needs.
func (e entry) start() (pid int, err error) {
	c, err := e.prepare()
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer c.close()
	syscall.ForkLock.Lock()
	first, errno := c.fork()
	syscall.ForkLock.Unlock()
	c.letGo()
	if errno != 0 {
		return 0, errors.WithType(errors.Annotate(errno, "cannot make a process"), errNotEntered)
	}
	said, err := io.ReadAll(c.ours) // until there is one copy, which is the program, or none
	reap(int(first))
	if err != nil {
		return 0, errors.Trace(err)
	}
	var why error
	for len(said) >= reportSize {
		r := said[:reportSize]
		if n := int(binary.NativeEndian.Uint32(r[8:])); n != 0 {
			pid = n
		}
		if err := refused(r); err != nil {
			why = err
		}
		said = said[reportSize:]
	}
	switch {
	case pid == 0 && why == nil:
		return 0, errors.WithType(errors.New("the process that enters it was killed"), errNotEntered)
	case why != nil && pid != 0:
		reap(pid)
	}
	return pid, why
}

// reap waits for the end of a child.
func reap(pid int) (status syscall.WaitStatus) {
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			return status
		}
	}
}

// The steps of the copies, as they report what has failed.
const (
	stepNone uint32 = iota
	stepJoin
	stepFork
	stepRun
)

// reportSize is that of a report of the copies: step, error and number.
const reportSize = 12

// copies has all that the copies of this process need, as the kernel takes it.
type copies struct {
	path      *byte
	argv      []*byte
	envv      []*byte
	dir       *byte
	files     []uintptr
	held      []*os.File
	spaces    [8][2]uintptr
	joined    int
	groups    []uint32
	uid, gid  uintptr
	alone     bool // groups can't be set
	tied      bool
	more      uintptr
	withhold  uint64
	caps      caps
	terminal  bool
	procs     uintptr // of the cgroup; noFile
	report    uintptr
	ours      *os.File
	theirs    *os.File
	limit     syscall.Rlimit
	mask, all uint64 // blocked signals
	said      [3]uint32
}

// noFile is no file.
const noFile = ^uintptr(0)

// prepare has all there that the copies need. Close it.
func (e entry) prepare() (_ *copies, err error) {
	c := &copies{
		uid: uintptr(e.as.UID), gid: uintptr(e.as.GID), alone: e.alone, terminal: e.terminal, tied: e.tied, more: e.more, withhold: e.withhold,
		all: ^uint64(0), procs: noFile,
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &c.limit) == nil {
		c.limit.Cur = min(c.limit.Max, openFiles)
	}
	for _, g := range e.as.Groups {
		c.groups = append(c.groups, uint32(g))
	}
	if c.path, err = syscall.BytePtrFromString(e.path); err != nil {
		return nil, err
	}
	if c.argv, err = syscall.SlicePtrFromStrings(e.args); err != nil {
		return nil, err
	}
	if c.envv, err = syscall.SlicePtrFromStrings(e.env); err != nil {
		return nil, err
	}
	if c.dir, err = syscall.BytePtrFromString(e.dir); err != nil {
		return nil, err
	}
	if c.ours, c.theirs, err = os.Pipe(); err != nil {
		return nil, errors.Trace(err)
	}
	for _, f := range e.files {
		n, err := c.hold(f)
		if err != nil {
			return nil, errors.Trace(err)
		}
		c.files = append(c.files, n)
	}
	if c.report, err = c.hold(c.theirs); err != nil {
		return nil, errors.Trace(err)
	}
	if e.group != nil {
		c.procs = e.group.Fd()
	}
	for i, s := range e.spaces {
		c.spaces[i] = [2]uintptr{s.file.Fd(), uintptr(s.kind)}
	}
	c.joined = len(e.spaces)
	return c, nil
}

// openFiles is how many files a program of a cell may have open, unless it asks for more:
// what Juju's agent, whose service begins with that limit, hands on to hooks. This
// process's own is no measure: Go has raised it.
const openFiles = 64000

// aboveFiles is the least number of a file that no program's own takes the place of.
const aboveFiles = 16

// hold is another number of a file, out of the way of the program's own.
func (c *copies) hold(f *os.File) (uintptr, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, aboveFiles)
	if err != nil {
		return 0, errors.Trace(err)
	}
	c.held = append(c.held, os.NewFile(uintptr(fd), f.Name()))
	return uintptr(fd), nil
}

// letGo closes what was for the copies.
func (c *copies) letGo() {
	for _, f := range c.held {
		f.Close()
	}
	c.held = nil
	c.theirs.Close()
}

func (c *copies) close() {
	if c.ours != nil {
		c.letGo()
		c.ours.Close()
	}
}

// refused is the error that a report tells; nil: none.
func refused(said []byte) error {
	step, errno := binary.NativeEndian.Uint32(said), syscall.Errno(binary.NativeEndian.Uint32(said[4:]))
	switch step {
	case stepNone:
		return nil
	case stepRun:
		return errno
	}
	return errors.WithType(errors.Annotate(errno, "cannot join its name spaces"), errNotEntered)
}
