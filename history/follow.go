package history

import (
	"bytes"
	"io"
	"os"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Follower reads the histories of all units below a directory, and what is appended to
// them later. It isn't safe for use by several goroutines.
type Follower struct {
	dir string
	// at is how far each history was read: the file, and the bytes of it.
	at map[model.UnitName]mark
}

type mark struct {
	file os.FileInfo
	read int64
}

// NewFollower follows the histories below dir, which needn't be there yet.
func NewFollower(dir string) *Follower {
	return &Follower{dir: dir, at: map[model.UnitName]mark{}}
}

// Next are the entries that were appended since the last call, by unit and then in
// their order; the first call gives all that there are. A line whose end isn't written
// yet comes with a later call.
func (f *Follower) Next() ([]Entry, error) {
	units, err := Units(f.dir)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var all []Entry
	for _, unit := range units {
		entries, err := f.next(unit)
		if err != nil {
			return nil, errors.Annotatef(err, "cannot read the history of %s", unit)
		}
		all = append(all, entries...)
	}
	return all, nil
}

func (f *Follower) next(unit model.UnitName) ([]Entry, error) {
	path, was := Path(f.dir, unit), f.at[unit]
	now, err := os.Stat(path)
	if os.IsNotExist(err) {
		return nil, nil // it is being set aside, or was removed
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	if was.file != nil && os.SameFile(was.file, now) && now.Size() == was.read {
		return nil, nil
	}
	var all []Entry
	if was.file == nil || !os.SameFile(was.file, now) {
		// What is left of the one that was set aside meanwhile, or all of it at first.
		if all, err = f.aside(path, was); err != nil {
			return nil, errors.Trace(err)
		}
		was = mark{}
	}
	entries, m, err := readFrom(path, was.read)
	if err != nil || m.file == nil {
		return all, errors.Trace(err)
	}
	f.at[unit] = m
	return append(all, entries...), nil
}

// aside reads the history that was set aside: from where was has come, if it is that
// file, and all of it if nothing was read yet.
func (f *Follower) aside(path string, was mark) ([]Entry, error) {
	old, err := os.Stat(path + ".1")
	if os.IsNotExist(err) || err == nil && was.file != nil && !os.SameFile(was.file, old) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	entries, _, err := readFrom(path+".1", was.read)
	return entries, errors.Trace(err)
}

// readFrom reads whole lines of a file from an offset on; the mark says how far. Its
// file is nil where there is none (any more).
func readFrom(path string, offset int64) ([]Entry, mark, error) {
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, mark{}, nil
	}
	if err != nil {
		return nil, mark{}, errors.Trace(err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, mark{}, errors.Trace(err)
	}
	if st.Size() < offset {
		offset = 0 // somebody has cut it
	}
	b, err := io.ReadAll(io.NewSectionReader(file, offset, st.Size()-offset))
	if err != nil {
		return nil, mark{}, errors.Trace(err)
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	entries, err := read(bytes.NewReader(b))
	return entries, mark{st, offset + int64(len(b))}, errors.Trace(err)
}
