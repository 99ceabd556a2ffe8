package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/machine"
)

// endings are the signals by which people, terminals and service managers end a
// command in good order. A command that was begun by nohup outlives its terminal.
func endings() []os.Signal {
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// hangups has SIGHUP call do and then be told by the channel, and not end this
// command, until stop is called.
func hangups(do func()) (_ <-chan struct{}, stop func()) {
	got, told, over := make(chan os.Signal, 1), make(chan struct{}, 1), make(chan struct{})
	signal.Ignore(syscall.SIGHUP) // it has been notified of as an end
	signal.Notify(got, syscall.SIGHUP)
	go func() {
		defer close(over)
		for range got {
			do()
			select {
			case told <- struct{}{}:
			default:
			}
		}
	}()
	return told, func() {
		signal.Stop(got)
		close(got)
		<-over
	}
}

// endWithTerminal ends the command in good order once nobody can read any more
// what it prints: its terminal, or the pipe that it writes to, is gone. stop ends
// the watching for that.
func (a *app) endWithTerminal() (stop func()) {
	// A write is an error then, to the end of this process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(a.ctx)
	a.ctx = ctx
	fds := []unix.PollFd{}
	for _, w := range []any{a.stdout, a.stderr} {
		if f, ok := w.(*os.File); ok {
			fds = append(fds, unix.PollFd{Fd: int32(f.Fd())})
		}
	}
	wake, end, err := os.Pipe()
	if err != nil {
		return cancel // it ends by what else ends it
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if vanished(append(fds, unix.PollFd{Fd: int32(wake.Fd())})) {
			cancel()
		}
	}()
	return func() {
		end.Close()
		<-over
		wake.Close()
		cancel()
	}
}

// vanished waits until nobody can read any more what is written to one of the
// files; false: the last one, whose end of file says that nobody wants to know.
func vanished(fds []unix.PollFd) bool {
	last := len(fds) - 1
	fds[last].Events = unix.POLLIN
	for {
		if _, err := unix.Poll(fds, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return false
		}
		if fds[last].Revents != 0 {
			return false
		}
		for _, fd := range fds {
			if fd.Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
				return true
			}
		}
		return false // one that can't be waited for
	}
}

// foregroundFile is in the data directory while "unitd up" runs, which takes the
// machines of isolated units down when it ends.
const foregroundFile = "up.running"

// markForeground says that an "up" has begun; unmark that it has left nothing.
func markForeground(dir string) (unmark func(), err error) {
	path := filepath.Join(dir, foregroundFile)
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Annotate(err, "cannot note that up runs")
	}
	return func() { os.Remove(path) }, nil
}

// clearForeground takes down what an "up" that was killed has left running. Any
// command does so first.
func (a *app) clearForeground() error {
	dir, err := dataDirPath()
	if err != nil {
		return nil // a command that needs it says so
	}
	path := filepath.Join(dir, foregroundFile)
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	lock, err := takeLock()
	if errors.Is(err, errors.AlreadyExists) {
		return nil // it runs
	}
	if err != nil {
		return err
	}
	defer lock.release()
	if err := machine.NewCells(dir, "").Halt(); err != nil {
		return errors.Annotate(err, "cannot clear what a killed \"unitd up\" has left running")
	}
	a.note("an earlier \"unitd up\" was killed; what it had left running in isolated units has been ended")
	return errors.Annotate(os.Remove(path), "cannot clear what a killed \"unitd up\" has left")
}
