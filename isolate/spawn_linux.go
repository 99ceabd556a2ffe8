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
}

// spawn starts the init in its name spaces.
func (c *Cell) spawn(set setUp) (_ *child, err error) {
	p := &child{log: filepath.Join(c.dir, "init.log")}
	defer func() {
		if err != nil {
			p.release()
		}
	}()
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
	p.cmd = exec.Command(c.cells.Program, InitCommand)
	p.cmd.Dir, p.cmd.Env = "/", []string{"PATH=" + Path}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = theirIn, theirOut, log, []*os.File{socket}
	p.cmd.SysProcAttr = nameSpaces(set)
	if err := p.cmd.Start(); err != nil {
		p.cmd.Process = nil
		return nil, noRights("cannot make name spaces", err)
	}
	go func() { _ = p.cmd.Wait() }() // it has gone, or the agent goes
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
		text, _ := os.ReadFile(p.log)
		line, _, _ := strings.Cut(string(text), "\n")
		return nil, errors.Errorf("the cell's init has ended: %s", line)
	case r.Rights:
		return nil, errors.WithType(errors.New(r.Err), ErrNoRights)
	case r.Err != "":
		return nil, errors.New(r.Err)
	}
	return r.Without, nil
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
