package durable

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/juju/errors"
)

// OpenRegular opens a file to read it, below a directory whose content a unit can have
// made: links in it may lead to other places in it alone, and what isn't a regular file,
// such as a pipe or a device, is refused and not waited for. Without a base links may lead
// anywhere. The error is the operating
// system's, or ErrNotRegular.
func OpenRegular(base, path string) (*os.File, error) {
	open := os.OpenFile
	if base != "" {
		root, err := os.OpenRoot(base)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		open = root.OpenFile
	}
	f, err := open(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: filepath.Join(base, path), Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ErrNotRegular is that something isn't a regular file.
const ErrNotRegular = errors.ConstError("not a regular file")

// ReadRegular is all that such a file has; one that has more than most bytes is refused.
func ReadRegular(base, path string, most int64) ([]byte, error) {
	f, err := OpenRegular(base, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = &fs.PathError{Op: "read", Path: filepath.Join(base, path), Err: syscall.EFBIG}
	}
	return b, err
}
