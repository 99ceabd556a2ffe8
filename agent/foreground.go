package agent

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
)

// foregroundFile is in the data directory while "unitd up" runs, which takes the
// machines of isolated units down when it ends.
const foregroundFile = "up.running"

// MarkForeground says that an "up" has begun; unmark that it has left nothing.
func MarkForeground(dir string) (unmark func(), err error) {
	path := filepath.Join(dir, foregroundFile)
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Annotate(err, "cannot note that up runs")
	}
	return func() { os.Remove(path) }, nil
}

// ClearForeground takes down what an "up" that was killed has left running. Any
// command does so first.
func (h *Host) ClearForeground() error {
	dir, err := DataDirPath()
	if err != nil {
		return nil // a command that needs it says so
	}
	path := filepath.Join(dir, foregroundFile)
	if _, err := os.Lstat(path); err != nil {
		return nil
	}
	lock, err := TakeLock()
	if errors.Is(err, errors.AlreadyExists) {
		return nil // it runs
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := machine.NewCells(dir, "").Halt(); err != nil {
		return errors.Annotate(err, "cannot clear what a killed \"unitd up\" has left running")
	}
	h.Note("an earlier \"unitd up\" was killed; what it had left running in isolated units has been ended")
	return errors.Annotate(os.Remove(path), "cannot clear what a killed \"unitd up\" has left")
}
