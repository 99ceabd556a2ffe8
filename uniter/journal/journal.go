// Package journal keeps what a unit's agent remembers, one resolver.Local, on
// disk: the only disk format of the agent's progress.
//
// There are two slots, the files journal-0 and journal-1. A slot begins with a
// record that has all, and goes on with records of what is different, each
// from the one before it:
//
//	unitd-journal 2 <generation> <length> <crc32c>\n<JSON>\n
//	unitd-change 2 <generation+1> <length> <crc32c>\n<JSON>\n
//	…
//
// So a record costs what has changed, however many members the unit's relations
// have. Once the changes have become much longer than a whole record is, and
// where an agent starts, a whole one overwrites the other slot, which then is
// the one that goes on. Records overwrite in place what was there, as that is
// what disks do soonest. There is one sync for each record, before Store
// returns.
//
// Each record carries its generation, its length and a checksum; what doesn't
// match them isn't read. A newest record that was cut off leaves the one before
// it, in the same slot or at the other's end, which is then the truth, because
// what the cut-off record announced had not begun. Where a record can't be read
// and a later one can, it was not cut off but damaged afterwards: that is
// ErrCorrupt, and never an older truth.
//
// A record need not be stored when a run has committed: the model has the
// run's stamp, and resolver.Finish takes it from there.
package journal

import (
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// Version is the version of the format that this package writes. It reads those
// before it: in version 1 all records were whole.
const Version = 2

const (
	// ErrCorrupt is returned where a record can't be read that was durable once:
	// a later one can be read, or there were records and none can. The agent must
	// not guess: it would run hooks again, or install. A first record that was
	// cut off is none: what it announced had not begun, as of any other.
	ErrCorrupt = errors.ConstError("journal is corrupt")
	// ErrNewer is returned by Open for a record of a later version of unitd.
	ErrNewer = errors.ConstError("journal was written by a newer unitd")

	maxRecord = 64 << 20
	// leastRoom is the room for changes after a whole record, and roomRatio how
	// many times the record it is where that is more: whole records are seldom. A unit
	// that is deployed writes all of the room once, and half of it is enough for what
	// it does then.
	leastRoom = 16 << 10
	roomRatio = 2
)

// Journal is the open journal of one unit. It is for one goroutine.
type Journal struct {
	disk  durable.Disk
	dir   string
	file  held // the slot that goes on, once it was written to
	shelf *shelf
	progress
	io fileCalls
}

// progress is how far a journal has come.
type progress struct {
	newest     int // the slot that goes on; the other one is written next
	generation uint64
	last       resolver.Local // what was stored last
	// end is where the next change goes, and limit where it has to end; 0: the
	// next record is a whole one.
	end, limit int64
}

// fileCalls are the calls that make a record durable; tests make one fail.
type fileCalls struct {
	writeAt func(f *durable.File, b []byte, off int64) error
	sync    func(f *durable.File) error
}

func realCalls() fileCalls {
	return fileCalls{
		writeAt: func(f *durable.File, b []byte, off int64) error {
			_, err := f.WriteAt(b, off)
			return err
		},
		sync: (*durable.File).SyncData,
	}
}

// Open opens the journal of the unit with that id in dir, an existing
// directory; the first Store makes its file. It returns what was last stored, or
// resolver.New(unit) with the id for a new journal. Errors: ErrCorrupt,
// ErrNewer, NotValid for another unit's journal, and those of the file system;
// each names the file.
func Open(disk durable.Disk, dir string, unit model.UnitName, id string) (*Journal, resolver.Local, error) {
	j := &Journal{disk: disk, dir: dir, shelf: &opened, io: realCalls()}
	local, err := j.find()
	if err != nil {
		return nil, resolver.Local{}, errors.Trace(err)
	}
	if j.generation == 0 {
		local = resolver.New(unit)
		local.ID = id
	}
	if local.Unit != unit || local.ID != id {
		return nil, resolver.Local{}, errors.NotValidf("journal of %s in %s, which is %s's,", name(local.Unit, local.ID), dir, name(unit, id))
	}
	return j, local, nil
}

// Read returns what was last stored in dir, by whichever unit's agent, and
// false where nothing was. It changes nothing; the errors are those of Open.
func Read(dir string) (resolver.Local, bool, error) {
	j := &Journal{dir: dir}
	local, err := j.find()
	return local, j.generation > 0, errors.Trace(err)
}

func name(unit model.UnitName, id string) string { return fmt.Sprintf("%s (%s)", unit, id) }

// find finds the newest record.
func (j *Journal) find() (local resolver.Local, err error) {
	var damaged, behind error
	var beyond uint64
	empty := 0
	j.newest = 1
	for i := range 2 {
		path := j.slot(i)
		s, err := j.read(path)
		switch {
		case errors.Is(err, ErrNewer), errors.Is(err, errOpen):
			return local, errors.Annotatef(err, "cannot read %s", path)
		case err != nil:
			damaged = errors.Annotatef(err, "cannot read %s", path)
		case s.empty:
			empty++
		}
		if s.generation > j.generation {
			j.generation, j.newest, local = s.generation, i, s.local
		}
		if s.beyond > beyond {
			beyond = s.beyond
			behind = errors.Annotatef(ErrCorrupt, "cannot read %s: a record before number %d", path, beyond)
		}
	}
	switch {
	case beyond > j.generation:
		return local, errors.Trace(behind)
	case j.generation == 0 && empty == 0:
		return local, errors.Trace(damaged)
	}
	return local, nil
}

// Store makes l durable. When it returns nil a power cut leaves l; when it
// fails, or the machine stops in it, it leaves l or what was stored before. l,
// and what it refers to, must not change any more.
func (j *Journal) Store(l resolver.Local) error {
	if j.end > 0 {
		b, err := encode(changeWord, j.generation+1, difference(j.last, l))
		if err != nil {
			return errors.Trace(err)
		}
		if j.end+int64(len(b)) <= j.limit {
			return errors.Trace(j.add(l, b))
		}
	}
	return errors.Trace(j.begin(l))
}

// add writes a change to the slot that goes on.
func (j *Journal) add(l resolver.Local, b []byte) error {
	f, done, err := j.goOn()
	if err != nil {
		return errors.Trace(err)
	}
	defer done()
	at := j.end
	// If this fails nobody knows what is there, and the number is spent: what is
	// stored next is a whole record, in the other slot.
	j.generation++
	j.end = 0
	if err := j.write(f, b, at); err != nil {
		return errors.Trace(err)
	}
	j.end, j.last = at+int64(len(b)), l
	return nil
}

// begin writes a whole record to the other slot, and makes it the one that goes
// on. It takes the room for the changes that will follow: where a file grows
// with each record, each sync takes longer.
func (j *Journal) begin(l resolver.Local) error {
	b, err := encode(wholeWord, j.generation+1, l)
	if err != nil {
		return errors.Trace(err)
	}
	slot, size := 1-j.newest, int64(len(b))
	limit := size + max(leastRoom, roomRatio*size)
	f, made, err := j.other(slot)
	if err != nil {
		return errors.Trace(err)
	}
	if err := j.beginIn(f, b, limit, made); err != nil {
		_ = f.Close() // the error that matters is there
		return errors.Trace(err)
	}
	j.hold(f)
	j.generation++
	j.newest, j.last, j.end, j.limit = slot, l, size, limit
	return nil
}

// beginIn writes a whole record, b, to a slot, which has room up to limit then.
func (j *Journal) beginIn(f *durable.File, b []byte, limit int64, made bool) error {
	st, err := f.Stat()
	if err != nil {
		return errors.Annotate(err, "cannot write the journal")
	}
	if st.Size() < limit {
		b = append(b, make([]byte, limit-int64(len(b)))...)
	}
	if err := j.write(f, b, 0); err != nil || !made {
		return errors.Trace(err)
	}
	return errors.Annotatef(j.disk.SyncDir(j.dir), "cannot make the journal in %s", j.dir)
}

func (j *Journal) write(f *durable.File, b []byte, at int64) error {
	if err := j.io.writeAt(f, b, at); err != nil {
		return errors.Annotate(err, "cannot write the journal")
	}
	return errors.Annotatef(j.io.sync(f), "cannot sync %s", f.Name())
}
