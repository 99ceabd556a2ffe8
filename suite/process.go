package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// usage is what processes have had of the processor.
type usage struct{ user, sys time.Duration }

// command is a program to be run.
type command struct {
	args   []string
	env    []string
	stdout *os.File
	group  bool // in a process group of its own
}

// process is a command that runs.
type process struct {
	pid     int
	group   bool
	signals chan os.Signal
	before  usage
}

// start starts the command. Signals that would end this program are handed on to
// it; a terminal sends them itself to all that are in its group.
func (c command) start() (*process, error) {
	path, err := exec.LookPath(c.args[0])
	if err != nil {
		return nil, err
	}
	p := &process{group: c.group, signals: make(chan os.Signal, 8), before: children()}
	signal.Notify(p.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	started, err := os.StartProcess(path, c.args, &os.ProcAttr{
		Env: c.env, Files: []*os.File{os.Stdin, c.stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Setpgid: c.group},
	})
	if err != nil {
		signal.Stop(p.signals)
		return nil, err
	}
	p.pid = started.Pid
	_ = started.Release() // wait waits by its id
	go func() {
		for s := range p.signals {
			if s != os.Interrupt || c.group {
				p.send(s.(syscall.Signal))
			}
		}
	}()
	return p, nil
}

// send sends a signal to the process, and to its group if it has one.
func (p *process) send(s syscall.Signal) {
	pid := p.pid
	if p.group {
		pid = -pid
	}
	_ = syscall.Kill(pid, s)
}

// wait waits until the process has ended, and returns its exit code, with what it
// and all that it has started have had of the processor: also what nobody has
// waited for, where it could be adopted.
func (p *process) wait() (int, usage) {
	defer signal.Stop(p.signals)
	code := 1
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			break
		}
		if pid != p.pid || !status.Exited() && !status.Signaled() {
			continue
		}
		if code = status.ExitStatus(); status.Signaled() {
			code = 128 + int(status.Signal())
		}
		break
	}
	reap()
	now := children()
	return code, usage{now.user - p.before.user, now.sys - p.before.sys}
}

// reap waits for those that have ended and were left.
func reap() {
	for {
		var status syscall.WaitStatus
		if pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil); err == syscall.EINTR {
			continue
		} else if err != nil || pid == 0 {
			return
		}
	}
}

// children is what processes that have ended have had of the processor.
func children() usage {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		return usage{}
	}
	return usage{time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())}
}
