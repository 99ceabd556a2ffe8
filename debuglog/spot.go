package debuglog

import (
	"io"
	"os"

	"github.com/juju/errors"
)

// Spot is where a log ended at some time; the zero value is its beginning. It stays right
// when the log is copied, with the file that was set aside.
type Spot struct {
	aside, size int64 // of the file that was set aside, and of the log's
}

// End is where the log at path ends now.
func End(path string) (Spot, error) {
	aside, err := sizeOf(path + ".1")
	if err != nil {
		return Spot{}, err
	}
	size, err := sizeOf(path)
	return Spot{aside, size}, err
}

func sizeOf(path string) (int64, error) {
	st, err := os.Stat(path)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, errors.Annotate(err, "cannot look at the log")
	}
	return st.Size(), nil
}

// ReadSince is ReadAll for the entries after a spot. Of a log that was set aside more than
// once since then it has what is left.
func ReadSince(path string, from Spot, fn func(Entry) error) error {
	now, err := End(path)
	if err != nil {
		return err
	}
	if now.aside == from.aside {
		return readFrom(path, from.size, fn)
	}
	if err := readFrom(path+".1", from.size, fn); err != nil {
		return err
	}
	return readFrom(path, 0, fn)
}

// readFrom passes on the entries of one file that begin at an offset or after it.
func readFrom(path string, offset int64, fn func(Entry) error) error {
	r, err := NewReader(path)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	defer r.Close()
	if _, err := r.file.Seek(offset, io.SeekStart); err != nil {
		return errors.Annotate(err, "cannot read the log")
	}
	return r.drain(fn)
}
