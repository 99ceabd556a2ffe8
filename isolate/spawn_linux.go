package isolate

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// child is an init that is being started.
type child struct {
	process *os.Process
	// state is how it has ended, once ended is closed.
	state *os.ProcessState
	in    *json.Encoder
	out   *json.Decoder
	ends  []*os.File
	log   string
	// hands is where the init asks for what of the host it has; nil: it takes it itself.
	hands *net.UnixConn
	// began is that of the process's record. Of a workload container's first program
	// ended is closed when it has ended.
	began string
	ended chan struct{}
}

// initLog is what an init has said, in the cell's directory.
const initLog = "init.log"

// spawn starts the init in its name spaces.
func (c *Cell) spawn(set setUp) (*child, error) {
	in := spaces{attr: nameSpaces(set), asks: set.Mapped.Many()}
	if !set.isSystem() {
		return c.begin(in)
	}
	dir, err := os.Open(c.record.Group)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer dir.Close()
	in.attr.UseCgroupFD, in.attr.CgroupFD = true, int(dir.Fd())
	return c.begin(in)
}

// begin starts this program as an init with those files, from firstFile on, and after
// them, if it asks, with what it asks hands by.
func (c *Cell) begin(s spaces, files ...*os.File) (_ *child, err error) {
	p := &child{log: filepath.Join(c.dir, initLog), ended: make(chan struct{})}
	defer func() {
		if err != nil {
			p.release()
		}
	}()
	ownFilesAlone()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer log.Close()
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, errors.Trace(err)
	}
	defer theirOut.Close()
	if s.asks {
		ours, theirs, err := pair()
		if err != nil {
			in.Close()
			out.Close()
			return nil, errors.Trace(err)
		}
		defer theirs.Close()
		p.hands, files = ours, append(files, theirs)
	}
	p.ends, p.in, p.out = []*os.File{in, out}, json.NewEncoder(in), json.NewDecoder(out)
	cmd := c.record.IDs.command(c.cells.Program, InitCommand)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + Path}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = theirIn, theirOut, log, files
	cmd.SysProcAttr = s.attr
	if os.Geteuid() == 0 {
		program, err := untouchable(c.cells.Program)
		if err != nil {
			return nil, errors.Trace(err)
		}
		defer program.Close()
		cmd.Path = inProc(program)
	}
	if p.process, err = s.start(cmd); err != nil {
		return nil, noRights("cannot make name spaces", err)
	}
	go func() { // until it has gone, or the agent goes
		p.state, _ = p.process.Wait()
		close(p.ended)
	}()
	if err := c.record.IDs.begun(p.process, in); err != nil {
		<-p.ended
		return nil, errors.Trace(err)
	}
	return p, nil
}

// spaces are the name spaces of an init: attr's, which are new ones, and of those that
// there are joined ones, and the cgroup whose list of processes is group.
type spaces struct {
	attr   *syscall.SysProcAttr
	asks   bool // for what of the host it has
	joined []space
	group  *os.File
}

// start starts the program.
func (s spaces) start(cmd *exec.Cmd) (*os.Process, error) {
	if len(s.joined) == 0 {
		err := cmd.Start()
		return cmd.Process, err
	}
	e := entry{
		path: cmd.Path, args: cmd.Args, env: cmd.Env, dir: cmd.Dir, spaces: s.joined, more: s.attr.Cloneflags, group: s.group,
	}
	for _, f := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		e.files = append(e.files, f.(*os.File))
	}
	e.files = append(e.files, cmd.ExtraFiles...)
	pid, err := e.start()
	if err != nil {
		return nil, err
	}
	return os.FindProcess(pid)
}

func nameSpaces(set setUp) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Setsid: true, Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
	}
	if set.OwnNet {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	if set.User {
		attr.Cloneflags |= unix.CLONE_NEWUSER
	}
	if set.Mapped.Many() {
		attr.UidMappings, attr.GidMappings, attr.GidMappingsEnableSetgroups = set.Mapped.forProcess(), set.Mapped.forProcess(), true
		attr.Credential = &syscall.Credential{} // root of the name space
	}
	if set.single() {
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

// forProcess are ids that are the same for users and groups, as a process is started with
// them.
func (i IDs) forProcess() (all []syscall.SysProcIDMap) {
	for _, r := range i.UIDs {
		all = append(all, syscall.SysProcIDMap{ContainerID: r.Inside, HostID: r.Host, Size: r.Size})
	}
	return all
}

// untouchable is a program of the host, open by a mount of its own to which nothing can be
// written: whoever is root in a cell gets to the file that the init runs, by
// /proc/1/exe, and there is no other way to that. Who can't have such a mount has the file itself.
func untouchable(program string) (*os.File, error) {
	fd, err := clone(program)
	if err == nil && readOnly(fd) != nil {
		unix.Close(fd)
		err = unix.EPERM
	}
	if err != nil {
		if fd, err = unix.Open(program, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			return nil, errors.Annotatef(err, "cannot open %s", program)
		}
	}
	defer unix.Close(fd)
	// Out of the way of the files that the process is given.
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, aboveFiles)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return os.NewFile(uintptr(high), program), nil
}

// ownFilesAlone has programs that this process starts not inherit what it has itself
// inherited, by which they could get to the host.
var ownFilesAlone = sync.OnceFunc(func() {
	syscall.ForkLock.Lock() // or it would take away what this process is about to hand over
	defer syscall.ForkLock.Unlock()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= firstFile {
			unix.CloseOnExec(fd)
		}
	}
})

// inProc is a path to an open file.
func inProc(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// ask tells the init something and waits for its report.
func (p *child) ask(v any) (without []string, err error) {
	var r report
	err = p.in.Encode(v)
	if err == nil {
		err = p.out.Decode(&r)
	}
	switch {
	case err != nil:
		return nil, p.hasEnded()
	case r.Rights:
		return nil, errors.WithType(errors.New(r.Err), ErrNoRights)
	case r.Err != "":
		return nil, errors.New(r.Err)
	}
	return r.Without, nil
}

// hasEnded is the error of an init that says no more.
func (p *child) hasEnded() error {
	text, _ := os.ReadFile(p.log)
	line, _, _ := strings.Cut(string(text), "\n")
	return errors.Errorf("the cell's init has ended: %s", line)
}

// settle waits until the init has become the program that goes on: until then its first
// thread may seem to end.
func (p *child) settle() error {
	var r report
	if p.out.Decode(&r) == nil {
		return errors.New(r.Err)
	}
	return nil // that program doesn't report
}

// goAhead has the init become the first program, and is the error of one that can't.
func (p *child) goAhead() error {
	if err := p.in.Encode(goAhead{}); err != nil {
		return p.hasEnded()
	}
	return p.settle()
}

// abort ends an init that isn't to be.
func (p *child) abort() {
	if p.process != nil {
		_ = p.process.Kill()
	}
}

func (p *child) release() {
	for _, f := range p.ends {
		f.Close()
	}
	if p.hands != nil {
		p.hands.Close()
	}
}
