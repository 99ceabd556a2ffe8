package agent

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// Lock is the lock file that a running agent holds; its content is the
// agent's process id. The kernel gives it back however the agent ends.
type Lock struct{ file *os.File }

func lockPath() (string, error) {
	dir, err := DataDir()
	return filepath.Join(dir, "agent.lock"), errors.Trace(err)
}

// TakeLock takes the lock for this process. The error is AlreadyExists, and
// names the process, if another agent has it.
func TakeLock() (*Lock, error) {
	path, err := lockPath()
	if err != nil {
		return nil, errors.Trace(err)
	}
	l, err := LockAt(path)
	if errors.Is(err, errors.AlreadyExists) {
		return nil, err
	}
	return l, errors.Annotate(err, "cannot lock the data directory")
}

// LockAt takes the lock file at path. Whoever finds it locked reads in it which
// process has it, to signal that one, so it says so before it is locked. Locked
// for sharing it is for nobody: whoever asks has it so for a moment, too. Of
// processes that begin at the same time the lock of its directory lets one
// after the other do this.
func LockAt(path string) (*Lock, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer dir.Close()
	if err := flockSoon(dir); err != nil {
		return nil, errors.Trace(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		pid := readPid(f)
		f.Close()
		return nil, errors.NewAlreadyExists(nil, fmt.Sprintf("an agent is running already (process %d)", pid))
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err == nil {
		err = flockSoon(f)
	}
	if err != nil {
		f.Close()
		return nil, errors.Trace(err)
	}
	return &Lock{f}, nil
}

// flockSoon locks a file that others lock for a moment only. It gives up on one
// that a stopped process has, such as a "unitd wait" after Ctrl-Z.
func flockSoon(f *os.File) error {
	var err error
	for range 100 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != syscall.EWOULDBLOCK {
			return errors.Trace(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.Annotatef(err, "another process keeps %s locked", f.Name())
}

func readPid(f *os.File) int {
	b, _ := io.ReadAll(io.NewSectionReader(f, 0, 32))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}

// Release gives up the lock.
func (l *Lock) Release() { l.file.Close() }

// Release gives up the lock once the store is closed: who waits for the end of
// the agent, as shutdown does, finds all of the store in its file.
func (h *Host) Release(l *Lock) {
	if err := h.CloseStore(); err != nil {
		h.Note("WARNING %v", err)
	}
	l.Release()
}

// LockHere takes the lock for an agent in this process. The error is AlreadyExists
// where none is needed, as there is one: in this data directory, or on the host of
// another one that manages the models.
func (h *Host) LockHere() (*Lock, error) {
	lock, err := TakeLock()
	if err != nil {
		return nil, err
	}
	dir, err := DataDir()
	var managed *state.ManagedError
	if err == nil {
		managed, err = h.ManagedElsewhere(dir)
	}
	switch {
	case err != nil:
	case managed == nil && h.StoreIsServed():
		h.elsewhere = true
		err = errors.NewAlreadyExists(nil, "the agent that serves the store runs the models' units")
	case managed != nil && managed.Alive:
		h.elsewhere = true
		err = errors.NewAlreadyExists(nil, managed.Error())
	case managed != nil:
		err = h.ToDo(managed)
	default:
		return lock, nil
	}
	lock.Release()
	return nil, err
}

// Running is the process id of the agent that holds the lock; 0: none.
func Running() (int, error) {
	path, err := lockPath()
	if err != nil {
		return 0, errors.Trace(err)
	}
	pid, err := holder(path)
	return pid, errors.Trace(err)
}

// holder is the process that has locked the file at path; 0: none.
func holder(path string) (int, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err == nil {
		return 0, nil
	}
	pid := readPid(f)
	if pid <= 0 {
		return 0, errors.Errorf("something has locked %s that doesn't say which process it is", path)
	}
	return pid, nil
}

// WaitForEnd waits until no agent holds the lock.
func WaitForEnd(ctx context.Context) error {
	path, err := lockPath()
	if err != nil {
		return errors.Trace(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return errors.Trace(err)
	}
	free := make(chan error, 1)
	go func() {
		defer f.Close()
		free <- syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
	}()
	select {
	case err := <-free:
		return errors.Trace(err)
	case <-ctx.Done():
		return errors.Trace(ctx.Err())
	}
}
