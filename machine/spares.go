package machine

import (
	"os"
	"sync"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/uniter"
)

// sparesKept is how many descriptors are kept in reserve: for the pipes and the
// start of a program, tool calls, and what reads the store.
const sparesKept = 24

// spares are descriptors that nobody uses, which are given up where the process
// has no others left. So what has begun comes to its end; and no hook begins before
// they are there again. It is safe for use by many goroutines.
type spares struct {
	mu   sync.Mutex
	held []*os.File
}

// fill has the spares be there. Where there are too few descriptors for all of them
// none is held, so that the agent itself can go on, and the error says so.
func (s *spares) fill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.held) < sparesKept {
		f, err := os.Open(os.DevNull)
		if err != nil {
			lacking := sparesKept - len(s.held)
			s.close()
			return errors.WithType(errors.Errorf("%v: %d more are needed", errors.Cause(sysError(err)), lacking), uniter.ErrNotNow)
		}
		s.held = append(s.held, f)
	}
	return nil
}

// give gives them up; false: there were none.
func (s *spares) give() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	gave := len(s.held) > 0
	s.close()
	return gave
}

// close closes them; s.mu is held.
func (s *spares) close() {
	for _, f := range s.held {
		f.Close()
	}
	s.held = nil
}

// sysError is what the system said, without the file that it said it of.
func sysError(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}

// hosts are what the system says for what is no fault of the program that is to be
// run: descriptors, processes, memory or room that there aren't, a disk that can't
// be read.
var hosts = []syscall.Errno{
	syscall.EMFILE, syscall.ENFILE, syscall.EBADF, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS, syscall.ESTALE,
}

// isHosts says whether the host is to blame for an error.
func isHosts(err error) bool {
	for _, number := range hosts {
		if errors.Is(err, number) {
			return true
		}
	}
	return false
}

// outOfDescriptors says whether there are too few for what was tried. The start of a
// program moves its descriptors up: to numbers beyond the limit, where the last ones
// are in use, which the system calls bad.
func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EBADF)
}
