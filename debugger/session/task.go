package session

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/debugger"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/terminal"
)

// debugTask is what is run in the place of a hook: the charm's own executable,
// commands, or else a shell for a person.
type debugTask struct {
	Offer    debugger.Offer `json:"offer"`
	Code     bool           `json:"code,omitempty"`
	At       string         `json:"at,omitempty"`
	Debugpy  *Debugpy       `json:"debugpy,omitempty"`
	Commands []byte         `json:"commands,omitempty"`
}

func (p *Person) task(o debugger.Offer) debugTask {
	return debugTask{Offer: o, Code: p.Code, At: p.At, Debugpy: p.Debugpy, Commands: p.Commands}
}

// errGone ends what runs in the place of a hook that nobody waits for.
const errGone = errors.ConstError("the agent has ended the hook")

// errClosed is that nobody can have ended what ran on purpose.
const errClosed = errors.ConstError("its terminal was closed")

// goodbye is how long what runs has between SIGHUP and SIGKILL.
const goodbye = 2 * time.Second

// runInTerminal runs a task and returns its exit code. It is ended with ctx, or
// once gone is closed; then it is an error.
func runInTerminal(ctx context.Context, gone <-chan struct{}, t debugTask, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	dir, err := os.MkdirTemp(t.Offer.Tmp, "unitd-debug-")
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer removeGiven(dir)
	cmd, err := t.command(dir)
	if err != nil {
		return 0, err
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if cmd.Stdin == nil {
		cmd.Stdin = stdin
	}
	if t.Commands == nil {
		fmt.Fprint(stderr, t.banner())
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	tty, ok := cmd.Stdin.(*os.File)
	if ok = ok && terminal.Is(tty); ok {
		// Ctrl-C is for what runs there, not for who waits for it.
		cmd.SysProcAttr.Foreground, cmd.SysProcAttr.Ctty = true, int(tty.Fd())
		defer takeBack(tty)
	}
	if err := cmd.Start(); err != nil {
		return 0, errors.Annotate(err, "cannot run it")
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err = <-done:
	case <-gone:
		hangUp(cmd, done)
		return 0, errGone
	case <-ctx.Done():
		hangUp(cmd, done)
		return 0, errors.Trace(ctx.Err())
	}
	if ok && hungUp(tty) {
		return 0, errClosed // a shell that finds no more to read takes that for its orderly end
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, errors.Trace(err)
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil // as shells say it
	}
	return cmd.ProcessState.ExitCode(), nil
}

// hungUp says whether a terminal was closed.
func hungUp(tty *os.File) bool {
	fds := []unix.PollFd{{Fd: int32(tty.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&unix.POLLHUP != 0
}

// hangUp ends a process and those of its group.
func hangUp(cmd *exec.Cmd, done <-chan error) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGHUP)
	select {
	case <-done:
	case <-time.After(goodbye):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-done
	}
}

// takeBack makes this process group the one that the terminal is for.
func takeBack(tty *os.File) {
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSPGRP, syscall.Getpgrp())
}

// command is what is run; what it needs is put into dir, which is in the /tmp of
// a unit that is isolated.
func (t debugTask) command(dir string) (*exec.Cmd, error) {
	seen := dir // as what is run sees it
	if t.Offer.Cell != "" {
		seen = filepath.Join("/tmp", filepath.Base(dir))
	}
	env := append([]string{}, t.Offer.Env...)
	env = append(env, "JUJU_DEBUG="+seen)
	// A person's terminal is of another kind than the hook's, which is none.
	for _, name := range []string{"TERM", "HOME"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	var cmd *exec.Cmd
	switch {
	case t.Debugpy != nil:
		if t.Offer.Cell != "" {
			return nil, errors.NewNotSupported(nil, "an isolated unit can't be reached by an editor: deploy it with --isolate=off to debug it with debugpy")
		}
		var err error
		if env, err = t.Debugpy.install(dir, env); err != nil {
			return nil, err
		}
		cmd = exec.Command(t.Offer.Path)
	case t.Code:
		cmd = exec.Command(t.Offer.Path)
		env = append(env, "JUJU_DEBUG_AT="+t.At)
	case t.Commands != nil:
		cmd = exec.Command("sh")
		cmd.Stdin = bytes.NewReader(t.Commands)
	default:
		rc := filepath.Join(dir, "shellrc")
		prompt := fmt.Sprintf("PS1='%s:%s %% '\n", t.Offer.Unit, t.Offer.Hook)
		if err := os.WriteFile(rc, []byte(prompt), 0o600); err != nil {
			return nil, errors.Trace(err)
		}
		cmd = exec.Command("sh", "-i")
		if bash, err := exec.LookPath("bash"); err == nil {
			cmd = exec.Command(bash, "--noprofile", "--rcfile", filepath.Join(seen, "shellrc"), "-i")
		}
		env = append(env, "ENV="+filepath.Join(seen, "shellrc"))
	}
	cmd.Dir, cmd.Env = t.Offer.Dir, env
	if t.Offer.Cell == "" {
		return cmd, nil
	}
	return t.inCell(cmd, dir)
}

// giveTo has a directory, and what is in it, belong to whom hooks run as.
func giveTo(cell *isolate.Cell, dir string) error {
	p := cell.Person()
	if p.UID == 0 {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return cell.Give(path, p.UID, p.GID)
	})
	return errors.Annotate(err, "cannot give the hook's user what it is to read")
}

// removeGiven removes such a directory, whoever it belongs to by now.
func removeGiven(dir string) {
	cells := machine.NewCells(dir, "")
	defer cells.Close()
	_ = cells.Through(durable.Disk{}).RemoveAll(dir)
}

// inCell is a command of the host as it is run in the unit's cell; what it needs is
// in dir.
func (t debugTask) inCell(cmd *exec.Cmd, dir string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, errors.Trace(err)
	}
	cell, err := isolate.At(t.Offer.Cell, self)
	if err != nil {
		return nil, err
	}
	if err := giveTo(cell, dir); err != nil {
		return nil, err
	}
	program, args := cell.Command(cmd.Dir, cmd.Path, cmd.Args[1:]...)
	in := exec.Command(program, args...)
	in.Stdin, in.Env = cmd.Stdin, cmd.Env
	return in, nil
}

// banner says to a person where they are.
func (t debugTask) banner() string {
	o := t.Offer
	if t.Debugpy != nil {
		return fmt.Sprintf("%s: %s, run %d\n%s", o.Unit, o.About, o.Run, t.Debugpy.attach(o.Dir))
	}
	if t.Code {
		return fmt.Sprintf("%s: %s, run %d\n", o.Unit, o.About, o.Run)
	}
	run := "the charm has no such hook"
	if rel, err := filepath.Rel(o.Dir, o.Path); err == nil && o.Path != "" {
		run = strings.TrimPrefix("./"+rel, "./hooks/")
		if run != "./"+rel {
			run = "hooks/" + run
		}
	}
	return fmt.Sprintf(`
%s: %s, run %d: this shell is the hook
  its executable:  %s
  exit 0           it has succeeded: what hook tools have written is committed
  exit 1           it has failed: nothing is; any other code says the same

`, o.Unit, o.About, o.Run, run)
}
