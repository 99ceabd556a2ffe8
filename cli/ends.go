package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// endWithTerminal ends the command in good order once nobody can read any more
// what it prints: its terminal, or the pipe that it writes to, is gone. stop ends
// the watching for that.
func (a base) endWithTerminal() (stop func()) {
	// A write is an error then, to the end of this process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(a.Context())
	a.Within(ctx)
	fds := []unix.PollFd{}
	for _, w := range []any{a.Out, a.Err} {
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
