package oci

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/juju/errors"
)

// lock is one that a process has on a file of the cache; it goes with the process.
type lock struct{ file *os.File }

// errHeld is that somebody has the lock.
const errHeld = errors.ConstError("the cache's lock is held")

// tryLock takes a lock, for this one alone or beside others, or is errHeld.
func (c *Cache) tryLock(name string, alone bool) (*lock, error) {
	f, err := os.OpenFile(filepath.Join(c.Dir, locksDir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Annotate(err, "cannot lock the cache")
	}
	l := &lock{f}
	if err := l.change(alone); err != nil {
		f.Close()
		return nil, errors.Trace(err)
	}
	return l, nil
}

// change makes it a lock for this one alone, or for several.
func (l *lock) change(alone bool) error {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(l.file.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errHeld
		case !errors.Is(err, syscall.EINTR):
			return errors.Annotate(err, "cannot lock the cache")
		}
	}
}

// takeLock waits for a lock as long as the context is valid.
func (c *Cache) takeLock(ctx context.Context, name string, alone bool) (*lock, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		l, err := c.tryLock(name, alone)
		if !errors.Is(err, errHeld) {
			return l, errors.Trace(err)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Trace(ctx.Err())
		case <-time.After(wait):
		}
	}
}

// release gives it up; that of nil does nothing.
func (l *lock) release() {
	if l != nil {
		l.file.Close()
	}
}
