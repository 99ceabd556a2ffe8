package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// errOpen marks that a slot couldn't be opened, of which nobody knows what it has.
const errOpen = errors.ConstError("cannot open the unit's journal")

// slot is the path of a slot.
func (j *Journal) slot(i int) string { return filepath.Join(j.dir, fmt.Sprintf("journal-%d", i)) }

// read reads the slot at path, which is empty where it isn't there.
func (j *Journal) read(path string) (slot, error) {
	f, err := j.disk.OpenFile(path, os.O_RDONLY, 0)
	if os.IsNotExist(err) {
		return slot{empty: true}, nil
	}
	if err != nil {
		return slot{}, errors.WithType(err, errOpen)
	}
	defer f.Close()
	return readSlot(f)
}

// other opens the slot that is to begin again, which is made if it isn't there.
func (j *Journal) other(slot int) (f *durable.File, made bool, err error) {
	path := j.slot(slot)
	_, err = os.Lstat(path)
	made = os.IsNotExist(err)
	f, err = j.disk.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	return f, made, errors.Annotate(err, "cannot open the unit's journal")
}

// held is the file to which a journal writes. It is open while few others were written
// to since; see shelf.
type held struct {
	mu   sync.Mutex    // is had by whoever uses it, or lets it go
	file *durable.File // nil: it isn't open
	// was says which file it is.
	was os.FileInfo
}

// hold has a file be the one that is written to.
func (j *Journal) hold(f *durable.File) {
	j.file.mu.Lock()
	defer j.file.mu.Unlock()
	j.file.letGo()
	j.file.file, j.file.was = f, nil
	j.shelf.use(&j.file)
}

// goOn is the file that is written to; done is called when it has been.
func (j *Journal) goOn() (f *durable.File, done func(), err error) {
	j.file.mu.Lock()
	if j.file.file == nil {
		if err := j.openAgain(); err != nil {
			j.file.mu.Unlock()
			return nil, nil, errors.Annotate(err, "cannot open the unit's journal")
		}
	}
	j.shelf.use(&j.file)
	return j.file.file, j.file.mu.Unlock, nil
}

// openAgain opens the file that was let go. Its caller has it.
func (j *Journal) openAgain() error {
	f, err := j.disk.OpenFile(j.slot(j.newest), os.O_RDWR, 0)
	if err != nil {
		return errors.Trace(err)
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(now, j.file.was) {
		err = errors.Annotatef(ErrCorrupt, "%s is another file now", f.Name())
	}
	if err != nil {
		_ = f.Close() // the error that matters is there
		return errors.Trace(err)
	}
	j.file.file = f
	return nil
}

// letGo closes the file. Its caller has it.
func (h *held) letGo() (err error) {
	if h.file == nil {
		return nil
	}
	var stat error
	h.was, stat = h.file.Stat()
	err = h.file.Close()
	h.file = nil
	if err == nil {
		err = stat
	}
	return errors.Trace(err)
}

// Close releases the file.
func (j *Journal) Close() error {
	j.shelf.drop(&j.file)
	j.file.mu.Lock()
	defer j.file.mu.Unlock()
	return j.file.letGo()
}

// shelf has the files that are open, of all journals of this process, in the order in
// which they were used. Each process that is started gets a copy of all descriptors, and
// closes it, so those of many units would make each hook cost more.
type shelf struct {
	room int
	mu   sync.Mutex
	open []*held
}

// opened is this process's.
var opened = shelf{room: 64}

// use notes that a file is used, by whoever has it, and closes the one that wasn't for
// the longest time if there are too many.
func (s *shelf) use(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(slices.DeleteFunc(s.open, func(o *held) bool { return o == h }), h)
	for i := 0; len(s.open) > s.room && i < len(s.open)-1; {
		former := s.open[i]
		if !former.mu.TryLock() {
			i++ // it is used
			continue
		}
		_ = former.letGo() // what was written is synced
		former.mu.Unlock()
		s.open = slices.Delete(s.open, i, i+1)
	}
}

// drop forgets a file.
func (s *shelf) drop(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(o *held) bool { return o == h })
}
