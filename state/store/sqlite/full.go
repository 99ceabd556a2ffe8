package sqlite

import (
	"os"
	"path/filepath"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
	"modernc.org/sqlite"

	"github.com/unitd/unitd/state/store"
)

// The codes of SQLite for a disk that takes no more. A quota, and a limit on the
// size of files, come as errors of writing.
const (
	codeFull    = 13   // SQLITE_FULL
	codeIOWrite = 778  // SQLITE_IOERR_WRITE
	codeShmSize = 4874 // SQLITE_IOERR_SHMSIZE
)

// filled is the error in words, and a store.ErrFull, where the disk took no more.
func (s *Store) filled(err error) error {
	var e *sqlite.Error
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) { // of the side file
		return errors.WithType(errors.Errorf("cannot write to the store: the disk of %s is full", s.path), store.ErrFull)
	}
	if err == nil || !errors.As(err, &e) {
		return err
	}
	switch e.Code() {
	case codeFull:
		return errors.WithType(errors.Errorf("cannot write to the store: the disk of %s is full", s.path), store.ErrFull)
	case codeIOWrite, codeShmSize:
		return errors.WithType(errors.Errorf("cannot write to the store: the disk of %s takes no more: %v", s.path, e), store.ErrFull)
	}
	return err
}

// reserveSize is how much room the store keeps for itself: for the largest commit,
// in the log and in the database, and some small ones.
const reserveSize = 4 << 20

// modest is the store.Option of what comes again and again by itself: the reserve
// isn't for that.
const modest store.Option = -1

// reservePath is the file that has it.
func reservePath(path string) string { return path + "-reserve" }

// Reserve keeps some room on the disk, in the file "<path>-reserve", which is
// given up to whoever commits when there is no other room any more. So what
// has happened can be written down on a full disk, and what a person does about
// it. Once it is gone it is had again when there is room for it twice. It is for
// the one process that looks after the store.
func (s *Store) Reserve() error {
	path := reservePath(s.path)
	if st, err := os.Lstat(path); err == nil && st.Size() == reserveSize {
		return nil
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &disk); err != nil {
		return errors.Annotate(err, "cannot tell how much room there is")
	}
	if disk.Blocks > 0 && int64(disk.Bavail)*int64(disk.Bsize) < 2*reserveSize {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot reserve room")
	}
	err = reserve(f, reserveSize)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path)
		return errors.Annotate(err, "cannot reserve room")
	}
	return nil
}

// giveUpReserve says whether there was a reserve, which is free now.
func giveUpReserve(path string) bool { return os.Remove(reservePath(path)) == nil }

// fill writes so many bytes to a file: where the system can't do better.
func fill(f *os.File, size int64) error {
	piece := make([]byte, 1<<20)
	for ; size > 0; size -= int64(len(piece)) {
		if _, err := f.Write(piece[:min(size, int64(len(piece)))]); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
