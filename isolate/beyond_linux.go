package isolate

import (
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/durable"
)

// FilesCommand is the first argument by which this program does to files what its
// user may do as root of a name space with many ids; see Main and Cells.Beyond.
const FilesCommand = "--cell-files"

// beyond is a process of this one's that is root of a name space with the ids of the
// user's cells, where the user has many. It ends with this process.
type beyond struct {
	mu    sync.Mutex
	asked bool
	ids   IDs
	why   error // why there is one id alone
	conn  *net.UnixConn
	end   func()
}

// demand is what that process is asked, of which one is set.
type demand struct {
	Call *durable.Call `json:"call,omitempty"`
	Open *opening      `json:"open,omitempty"`
	// Chown is for a file that comes with it.
	Chown *owner `json:"chown,omitempty"`
}

type owner struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// opening is a file that is to be opened below a root that comes with it, or a
// directory that is to be made there.
type opening struct {
	Path  string      `json:"path"`
	Flag  int         `json:"flag,omitempty"`
	Perm  os.FileMode `json:"perm,omitempty"`
	As    Person      `json:"as,omitzero"`
	Mkdir bool        `json:"mkdir,omitempty"`
	// Root: with all rights, though what is made belongs to As. For this process only.
	Root bool `json:"-"`
}

// done is its answer; the file comes with it.
type done struct {
	Op, Path, Err string
	Errno         syscall.Errno
}

// IDs are those that new cells have: the user's own and subordinate ones, where
// this process isn't root's and its user has any. why is the reason, in a line, if
// not: then there is one user inside. What they are is found out once, by trying it.
func (c *Cells) IDs() (ids IDs, why error) {
	if os.Geteuid() == 0 {
		return IDs{}, nil
	}
	b := &c.beyond
	b.mu.Lock()
	defer b.mu.Unlock()
	b.find(c.program())
	return b.ids, b.why
}

// program is Program, or the one that this process runs.
func (c *Cells) program() string {
	if c.Program != "" {
		return c.Program
	}
	self, _ := os.Executable() // without it nothing can be started, which says so
	return self
}

// find has the ids known, and the process there if there are many.
func (b *beyond) find(program string) {
	if b.asked {
		return
	}
	b.asked = true
	if b.ids, b.why = findIDs(); b.why != nil {
		return
	}
	if b.why = b.start(program); b.why != nil {
		b.ids = IDs{}
	}
}

// start has the process there.
func (b *beyond) start(program string) error {
	ours, theirs, err := pair()
	if err != nil {
		return errors.Trace(err)
	}
	defer theirs.Close()
	in, say, err := os.Pipe()
	if err != nil {
		ours.Close()
		return errors.Trace(err)
	}
	defer in.Close()
	defer say.Close()
	cmd := b.ids.command(program, FilesCommand)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.ExtraFiles = "/", []string{"PATH=" + Path}, in, []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWUSER}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return noRights("cannot make a name space of users", err)
	}
	ended := make(chan struct{})
	go func() { // it ends once nobody has the other end of its socket
		_ = cmd.Wait()
		close(ended)
	}()
	if err := b.ids.begun(cmd.Process, say); err != nil {
		ours.Close()
		<-ended
		return errors.Trace(err)
	}
	b.conn = ours
	b.end = func() {
		ours.Close()
		<-ended
	}
	return nil
}

// pair is a socket with its other end.
func pair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "theirs")
	if ours, err = asConn(fds[0]); err != nil {
		theirs.Close()
		return nil, nil, errors.Trace(err)
	}
	return ours, theirs, nil
}

// asConn is a socket of this process as a connection.
func asConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, errors.Trace(err)
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, errors.NotValidf("a socket that isn't local")
	}
	return unix, nil
}

// Beyond does for a durable.Disk what this process has no rights to, as root of the
// name space of the user's cells. The owners of a call are the host's. The error is
// the operating system's; where the user has one id alone, that it isn't permitted.
func (c *Cells) Beyond(call durable.Call) (*os.File, error) {
	ids, _ := c.IDs()
	if !ids.Many() {
		return nil, &fs.PathError{Op: string(call.Do), Path: call.Path, Err: unix.EPERM}
	}
	call.UID, call.GID = ids.Inside(call.UID, call.GID)
	return c.demand(demand{Call: &call})
}

// Through is a disk that reaches what belongs to subordinate ids too, where this
// process isn't root's.
func (c *Cells) Through(d durable.Disk) durable.Disk {
	if d.Beyond == nil && os.Geteuid() != 0 {
		d.Beyond = c.Beyond
	}
	return d
}

func (c *Cells) disk() durable.Disk { return c.Through(c.Disk) }

// demand asks the process, each demand by a connection of its own.
func (c *Cells) demand(d demand, fds ...int) (*os.File, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer ours.Close()
	err = c.beyond.hand(c.program(), theirs)
	theirs.Close()
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := send(ours, d, fds); err != nil {
		return nil, errors.Annotate(err, "what does it for the agent has ended")
	}
	var a done
	files, err := receive(ours, &a)
	if err != nil || a.Err != "" || a.Errno != 0 || len(files) == 0 {
		closeAll(files)
	}
	switch {
	case err != nil:
		return nil, errors.Annotate(err, "what does it for the agent has ended")
	case a.Errno != 0:
		return nil, &fs.PathError{Op: a.Op, Path: a.Path, Err: a.Errno}
	case a.Err != "":
		return nil, errors.New(a.Err)
	case len(files) == 0:
		return nil, nil
	}
	defer closeAll(files)
	fd, err := unix.FcntlInt(files[0].Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return os.NewFile(uintptr(fd), d.path()), nil
}

func (d demand) path() string {
	switch {
	case d.Open != nil:
		return d.Open.Path
	case d.Call != nil:
		return d.Call.Path
	}
	return ""
}

// hand gives the process the other end of a connection; it is begun anew if somebody
// has ended it.
func (b *beyond) hand(program string, theirs *os.File) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.find(program); b.why != nil {
		return errors.Trace(b.why)
	}
	if b.conn != nil && send(b.conn, struct{}{}, []int{int(theirs.Fd())}) == nil {
		return nil
	}
	if b.end != nil {
		b.end()
	}
	b.conn, b.end = nil, nil
	if err := b.start(program); err != nil {
		return errors.Trace(err)
	}
	return send(b.conn, struct{}{}, []int{int(theirs.Fd())})
}

// Close ends the process that does to files what the user may do by subordinate ids,
// if there is one; whatever needs it begins another.
func (c *Cells) Close() {
	b := &c.beyond
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end != nil {
		b.end()
	}
	b.conn, b.end = nil, nil
}

// filesMain is that process.
func filesMain() int {
	_ = syscall.Setgroups(nil) // of all threads
	unix.CloseOnExec(firstFile)
	conn, err := asConn(firstFile)
	if err != nil {
		return 1
	}
	for {
		var none struct{}
		files, err := receive(conn, &none)
		if err != nil || len(files) != 1 {
			return 0 // whoever has begun it has gone
		}
		go func() {
			defer closeAll(files)
			one, err := net.FileConn(files[0])
			if err != nil {
				return
			}
			defer one.Close()
			if c, ok := one.(*net.UnixConn); ok {
				satisfy(c)
			}
		}()
	}
}

// satisfy does what one connection asks for.
func satisfy(conn *net.UnixConn) {
	var d demand
	files, err := receive(conn, &d)
	defer closeAll(files)
	if err != nil {
		return
	}
	var f *os.File
	switch {
	case d.Call != nil:
		f, err = d.Call.Perform()
	case d.Open != nil && len(files) == 1:
		f, err = d.Open.in(int(files[0].Fd()))
	case d.Chown != nil && len(files) == 1:
		err = files[0].Chown(d.Chown.UID, d.Chown.GID)
	default:
		err = errors.New("nothing is asked for")
	}
	var fds []int
	if f != nil {
		defer f.Close()
		fds = []int{int(f.Fd())}
	}
	_ = send(conn, answerOf(err), fds)
}

// answerOf has an error as it is sent.
func answerOf(err error) done {
	var a done
	if err == nil {
		return a
	}
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		a.Op, a.Path = path.Op, path.Path
	case errors.As(err, &link):
		a.Op, a.Path = link.Op, link.Old
	}
	if !errors.As(err, &a.Errno) {
		a.Err = err.Error()
	}
	return a
}
