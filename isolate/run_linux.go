package isolate

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/durable"
)

// Running says whether the cell's first process is there.
func (c *Cell) Running() bool { return c.record.Ready && c.process() > 0 }

// Pid is the number of the cell's first process on the host; negative: it has
// ended.
func (c *Cell) Pid() int { return c.process() }

// Joined says whether a workload container has the network that the unit's cell
// has now; a cell that was started anew has another one. With nil, whether it has
// no cell's.
func (c *Cell) Joined(with *Cell) bool {
	if with == nil || c.record.With == nil {
		return with == nil && c.record.With == nil
	}
	return *c.record.With == with.record.process
}

// Wait waits until the first program of a workload container has ended, which may
// have been before. The error is that the context has.
func (c *Cell) Wait(ctx context.Context) (Exit, error) {
	pid := c.process()
	if pid > 0 {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil { // or it has ended just now
			f := pollable(fd)
			defer f.Close()
			if c.process() == pid {
				if err := awaitEnd(ctx, f); err != nil {
					return Exit{}, errors.Trace(err)
				}
			}
		}
	}
	if c.first == nil {
		return Exit{}, nil
	}
	select {
	case <-c.first.ended:
	case <-ctx.Done():
		return Exit{}, errors.Trace(ctx.Err())
	}
	if c.first.state == nil { // somebody else was told
		return Exit{}, nil
	}
	status, ok := c.first.state.Sys().(syscall.WaitStatus)
	e := Exit{Known: ok, Code: c.first.state.ExitCode()}
	if ok && status.Signaled() {
		e.Signal = int(status.Signal())
	}
	return e, nil
}

// pollable is a process as a file that the runtime waits for, and no thread.
func pollable(pidfd int) *os.File {
	_ = unix.SetNonblock(pidfd, true)
	return os.NewFile(uintptr(pidfd), "process")
}

// awaitEnd waits until a process has ended.
func awaitEnd(ctx context.Context, pidfd *os.File) error {
	conn, err := pidfd.SyscallConn()
	if err != nil {
		return errors.Trace(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = pidfd.SetReadDeadline(time.Now()) })
	defer stop()
	err = conn.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
	if ctx.Err() != nil {
		return errors.Trace(ctx.Err())
	}
	return errors.Trace(err)
}

// Stop ends a workload container: its first program gets TERM, and whatever still
// runs after the grace period is killed. Where the context ends before, that is the
// error, and nothing is killed. Not to run is no error.
func (c *Cell) Stop(ctx context.Context, grace time.Duration) error {
	// A first process that has no handler for it isn't even told.
	if err := c.tell(ctx, unix.SIGTERM, grace); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(c.kill())
}

// tell sends the first process a signal by which it ends, and waits so long for that. It
// may still run then. The error is that of the context.
func (c *Cell) tell(ctx context.Context, signal syscall.Signal, patience time.Duration) error {
	pid := c.process()
	if pid < 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil // it has ended just now
	}
	f := pollable(fd)
	defer f.Close()
	if c.process() != pid {
		return nil
	}
	err = c.cells.disk().Do(durable.Step{Do: stepEnd, Path: c.dir}, func() error { return unix.PidfdSendSignal(fd, signal, nil, 0) })
	if err != nil && err != unix.ESRCH {
		return errors.Annotate(err, "cannot have the first process end")
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := awaitEnd(patient, f); err == nil || patient.Err() == nil {
		return errors.Trace(err)
	}
	return errors.Trace(ctx.Err())
}

// removeFirst takes away what there is of a workload container beside its files.
func (c *Cell) removeFirst() error {
	if _, err := os.Stat(c.dir); os.IsNotExist(err) {
		return nil
	}
	lock, err := c.lock()
	if err != nil {
		return errors.Trace(err)
	}
	defer lock.Close()
	return errors.Trace(c.endGroup())
}
