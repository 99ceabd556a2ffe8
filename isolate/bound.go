package isolate

import (
	"io"
	"os"

	"github.com/juju/errors"
)

// maxEdited bounds what EditFile and EditBound read.
const maxEdited = 16 << 20

// EditBound is EditFile for a small file of the host that containers have by
// Spec.Binds: it keeps its inode, as they would go on with the former file else.
func EditBound(path string, edit func(string) string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	was, now, err := edited(f, path, edit)
	if err != nil || now == was {
		return errors.Trace(err)
	}
	return errors.Annotatef(overwrite(f, len(was), now), "cannot write %s", path)
}

// edited is what a file has, and what edit makes of it. path is for the error.
func edited(f *os.File, path string, edit func(string) string) (was, now string, err error) {
	st, err := f.Stat()
	if err != nil {
		return "", "", errors.Trace(err)
	}
	if !st.Mode().IsRegular() { // a pipe would be waited for
		return "", "", errors.Errorf("%s is no regular file, and can't be kept current", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxEdited+1))
	if err != nil {
		return "", "", errors.Trace(err)
	}
	if len(b) > maxEdited {
		return "", "", errors.Errorf("%s is too long to be kept current", path)
	}
	return string(b), edit(string(b)), nil
}

// overwrite writes a text over one of that length in the same file.
func overwrite(f *os.File, length int, text string) error {
	b := []byte(text)
	for len(b) < length {
		b = append(b, '\n')
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(f.Truncate(int64(len(text))))
}
