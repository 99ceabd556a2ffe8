package charmbuild

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/juju/errors"
)

// errLocked is that another process has a lock.
const errLocked = errors.ConstError("the cache's lock is held")

// tryLock takes the lock that a file is, alone (LOCK_EX) or beside others (LOCK_SH), or
// is errLocked.
func tryLock(path string, how int) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, errors.Annotate(err, "cannot lock the cache")
		}
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, errLocked
		case err != nil && !errors.Is(err, syscall.EINTR):
			f.Close()
			return nil, errors.Annotate(err, "cannot lock the cache")
		case err == nil && isAt(f, path):
			return f, nil
		}
		f.Close() // interrupted, or who had it before has removed the file
	}
}

// isAt says whether a file that is open is still the one with that name.
func isAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(open, there)
}

// lockFile is tryLock that waits as long as the context is valid; step, if it isn't nil,
// is told once that it does.
func lockFile(ctx context.Context, path string, how int, step func(string)) (*os.File, error) {
	for told := false; ; told = true {
		f, err := tryLock(path, how)
		if !errors.Is(err, errLocked) {
			return f, errors.Trace(err)
		}
		if !told && step != nil {
			step("waiting for another unitd that makes the same packages")
		}
		select {
		case <-ctx.Done():
			return nil, errors.Trace(ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
