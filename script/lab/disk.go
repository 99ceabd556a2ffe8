package lab

import (
	"os/signal"
	"sync"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// fullDisk remembers the limit that was there before the disk became full.
type fullDisk struct {
	mu     sync.Mutex
	before *unix.Rlimit
}

// full says whether the disk is.
func (d *fullDisk) full() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.before != nil
}

// fill makes every write to a file fail in this process and in the hooks that
// it starts, as on a full disk (the error is "file too large"), or lets them
// succeed again.
func (d *fullDisk) fill(full bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case full && d.before == nil:
		var was unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
			return errors.Trace(err)
		}
		signal.Ignore(unix.SIGXFSZ) // the write's error is what is wanted
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 0, Max: was.Max}); err != nil {
			return errors.Trace(err)
		}
		d.before = &was
	case !full && d.before != nil:
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, d.before); err != nil {
			return errors.Trace(err)
		}
		d.before = nil
	}
	return nil
}
