package isolate

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// child is an init that is being started.
type child struct {
	cmd  *exec.Cmd
	in   *json.Encoder
	out  *json.Decoder
	ends []*os.File
	log  string
	// began is that of the process's record. Of a workload container's first program
	// ended is closed when it has ended.
	began string
	ended chan struct{}
}

// initLog is what an init has said, in the cell's directory.
const initLog = "init.log"

// spawn starts the init in its name spaces, with a socket to listen at.
func (c *Cell) spawn(set setUp) (_ *child, err error) {
	listener, err := listen(c.dir)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer listener.Close()
	socket, err := listener.File()
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer socket.Close()
	return c.begin(nameSpaces(set), socket)
}

// begin starts this program as an init with those files, from initFiles on.
func (c *Cell) begin(attr *syscall.SysProcAttr, files ...*os.File) (_ *child, err error) {
	p := &child{log: filepath.Join(c.dir, initLog), ended: make(chan struct{})}
	defer func() {
		if err != nil {
			p.release()
		}
	}()
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
	p.ends, p.in, p.out = []*os.File{in, out}, json.NewEncoder(in), json.NewDecoder(out)
	ids := c.record.IDs
	p.cmd = ids.command(c.cells.Program, InitCommand)
	p.cmd.Dir, p.cmd.Env = "/", []string{"PATH=" + Path}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = theirIn, theirOut, log, files
	p.cmd.SysProcAttr = attr
	if err := p.cmd.Start(); err != nil {
		p.cmd.Process = nil
		return nil, noRights("cannot make name spaces", err)
	}
	go func() { // until it has gone, or the agent goes
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	if err := ids.begun(p.cmd, in); err != nil {
		<-p.ended
		return nil, errors.Trace(err)
	}
	return p, nil
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
	if set.User && !set.IDs.Many() {
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

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

// goAhead has the init become the first program, and is the error of one that can't.
func (p *child) goAhead() error {
	if err := p.in.Encode(goAhead{}); err != nil {
		return p.hasEnded()
	}
	var r report
	if p.out.Decode(&r) == nil {
		return errors.New(r.Err)
	}
	return nil // the program doesn't report
}

// abort ends an init that isn't to be.
func (p *child) abort() {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Kill()
	}
}

func (p *child) release() {
	for _, f := range p.ends {
		f.Close()
	}
}
