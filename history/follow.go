package history

import (
	"bytes"
	stderrors "errors"
	"io"
	"os"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Follower reads the histories of all units below a directory, and what is appended to
// them later. It isn't safe for use by several goroutines.
type Follower struct {
	dir string
	// at is how far each history was read.
	at map[model.UnitName]mark
}

// mark is how far a history was read: the file, the bytes of it, and the file that was set
// aside by then.
type mark struct {
	file, aside known
	read        int64
}

// known is a file that was read: its name is none, as it is set aside, and its inode is none
// either, as another file may get it. So its first bytes, which never change, tell as well.
type known struct {
	info os.FileInfo
	head []byte
}

// headSize is how many bytes of a file tell it from others: each begins with another run.
const headSize = 128

func know(file *os.File) (known, error) {
	info, err := file.Stat()
	if err != nil {
		return known{}, errors.Trace(err)
	}
	head := make([]byte, min(headSize, info.Size()))
	_, err = file.ReadAt(head, 0)
	return known{info, head}, errors.Trace(err)
}

// is says whether it is the file that was known before, to which more may have been appended.
func (k known) is(before known) bool {
	return before.info != nil && os.SameFile(k.info, before.info) && bytes.HasPrefix(k.head, before.head)
}

// NewFollower follows the histories below dir, which needn't be there yet.
func NewFollower(dir string) *Follower {
	return &Follower{dir: dir, at: map[model.UnitName]mark{}}
}

// Next passes on the entries that were appended since the last call, a unit at a time, those
// of a unit in their order. The first call passes on the newest most that there are of each.
// A line whose end isn't written yet comes with a later call. Histories that can't be read
// hold up no others, and are tried again by the next call; the error says which.
func (f *Follower) Next(most int, pass func([]Entry)) error {
	units, err := Units(f.dir)
	if err != nil {
		return errors.Trace(err)
	}
	var failed []error
	for _, unit := range units {
		entries, err := f.next(unit)
		if err != nil {
			failed = append(failed, errors.Annotatef(err, "cannot read the history of %s", unit))
		}
		if entries = entries[max(0, len(entries)-most):]; len(entries) > 0 {
			pass(entries)
		}
	}
	return stderrors.Join(failed...)
}

func (f *Follower) next(unit model.UnitName) ([]Entry, error) {
	path, was := Path(f.dir, unit), f.at[unit]
	if now, err := os.Stat(path); err == nil && was.file.info != nil && os.SameFile(was.file.info, now) && now.Size() == was.read && now.ModTime().Equal(was.file.info.ModTime()) {
		return nil, nil
	}
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil // it is being set aside, or was removed
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer file.Close()
	now, err := know(file)
	if err != nil {
		return nil, errors.Trace(err)
	}
	next := mark{file: now, aside: was.aside, read: was.read}
	var all []Entry
	if !now.is(was.file) {
		// What is left of those that were set aside meanwhile, or all of it at first.
		if all, next.aside, err = aside(path+".1", was); err != nil {
			return nil, errors.Trace(err)
		}
		next.read = 0
	}
	entries, read, err := readFrom(file, now.info, next.read)
	if err != nil {
		return nil, errors.Trace(err)
	}
	next.read = read
	f.at[unit] = next
	return append(all, entries...), nil
}

// aside reads the history that was set aside: the rest, if it is the one that was being
// read, and all of it, if nobody has read it yet.
func aside(path string, was mark) ([]Entry, known, error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, known{}, nil
	}
	if err != nil {
		return nil, known{}, errors.Trace(err)
	}
	defer file.Close()
	now, err := know(file)
	if err != nil {
		return nil, known{}, errors.Trace(err)
	}
	from := int64(0)
	switch {
	case now.is(was.file):
		from = was.read
	case now.is(was.aside):
		return nil, now, nil
	}
	entries, _, err := readFrom(file, now.info, from)
	return entries, now, errors.Trace(err)
}

// readFrom reads whole lines of a file from an offset on, and says how far.
func readFrom(file *os.File, now os.FileInfo, offset int64) ([]Entry, int64, error) {
	if now.Size() < offset {
		offset = 0 // somebody has cut it
	}
	b, err := io.ReadAll(io.NewSectionReader(file, offset, now.Size()-offset))
	if err != nil {
		return nil, 0, errors.Trace(err)
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	entries, err := read(bytes.NewReader(b))
	return entries, offset + int64(len(b)), errors.Trace(err)
}
