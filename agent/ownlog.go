package agent

import (
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/juju/errors"
)

// agentLogFile is what an agent in the background prints to, in the data directory.
const agentLogFile = "agent.log"

// reopens has a SIGHUP, which ends other commands, be told by the channel: the
// agent is to begin logs anew that somebody has renamed or removed. The one that
// this process prints to, if it was started in the background, is begun anew then.
func reopens(dir string) (_ <-chan struct{}, stop func()) {
	path := filepath.Join(dir, agentLogFile)
	own := false
	if st, err := os.Stat(path); err == nil {
		is, err := os.Stderr.Stat()
		own = err == nil && os.SameFile(st, is)
	}
	hung, stop := hangups(func() {
		if own {
			_ = reopenOwn(path) // it goes on with the old one
		}
	})
	return hung, stop
}

// reopenOwn has this process print to the file that now is at path.
func reopenOwn(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	for _, fd := range []int{syscall.Stdout, syscall.Stderr} {
		if err := duplicate(int(f.Fd()), fd); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
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
