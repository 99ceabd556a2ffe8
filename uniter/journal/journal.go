// Package journal keeps what a unit's agent remembers, one resolver.Local, on
// disk: the only disk format of the agent's progress.
//
// There are two slots, the files journal-0 and journal-1, that hold the newest
// record and the one before it. A new record overwrites the older slot in
// place and is synced before Store returns: one sync for each record, and a
// record that was cut off leaves the one before it, which is then the truth,
// because what the cut-off record announced had not begun. Each record carries
// its generation, its length and a checksum; what doesn't match them isn't
// read.
//
//	unitd-journal 1 <generation> <length> <crc32c>\n<JSON>\n
//
// A record need not be stored when a run has committed: the model has the
// run's stamp, and resolver.Finish takes it from there.
package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// Version is the version of the format that this package writes.
const Version = 1

const (
	// ErrCorrupt is returned where there were two records at least and neither
	// slot has one that matches its checksum. The agent must not guess: it would
	// run install again. A first record that was cut off is none: what it
	// announced had not begun, as of any other.
	ErrCorrupt = errors.ConstError("journal is corrupt")
	// ErrNewer is returned by Open for a record of a later version of unitd.
	ErrNewer = errors.ConstError("journal was written by a newer unitd")

	maxRecord = 64 << 20
)

// Journal is the open journal of one unit. It is for one goroutine.
type Journal struct {
	disk       durable.Disk
	slots      [2]*durable.File
	next       int // the slot that the next record goes to
	generation uint64
	io         fileCalls
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
// directory, and makes it if there is none. It returns what was last stored, or
// resolver.New(unit) with the id for a new journal. Errors: ErrCorrupt,
// ErrNewer, NotValid for another unit's journal, and those of the file system;
// each names the file.
func Open(disk durable.Disk, dir string, unit model.UnitName, id string) (*Journal, resolver.Local, error) {
	j := &Journal{disk: disk, io: realCalls()}
	local, err := j.open(dir, unit, id)
	if err != nil {
		j.Close()
		return nil, resolver.Local{}, errors.Trace(err)
	}
	return j, local, nil
}

// Read returns what was last stored in dir, by whichever unit's agent, and
// false where nothing was. It changes nothing; the errors are those of Open.
func Read(dir string) (resolver.Local, bool, error) {
	j := &Journal{io: realCalls()}
	defer j.Close()
	local, _, err := j.newest(dir, os.O_RDONLY)
	return local, j.generation > 0, errors.Trace(err)
}

func (j *Journal) open(dir string, unit model.UnitName, id string) (resolver.Local, error) {
	local, made, err := j.newest(dir, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return local, errors.Trace(err)
	}
	if j.generation == 0 {
		local = resolver.New(unit)
		local.ID = id
	}
	switch {
	case local.Unit != unit || local.ID != id:
		return local, errors.NotValidf("journal of %s in %s, which is %s's,", name(local.Unit, local.ID), dir, name(unit, id))
	case made:
		return local, errors.Annotatef(j.disk.SyncDir(dir), "cannot make the journal in %s", dir)
	}
	return local, nil
}

func name(unit model.UnitName, id string) string { return fmt.Sprintf("%s (%s)", unit, id) }

// newest opens the slots and reads the newest record. made says that there was
// none of them.
func (j *Journal) newest(dir string, flag int) (local resolver.Local, made bool, err error) {
	var damaged error
	empty := 0
	for i := range j.slots {
		path := filepath.Join(dir, fmt.Sprintf("journal-%d", i))
		if _, err := os.Lstat(path); os.IsNotExist(err) {
			made = true
			if flag&os.O_CREATE == 0 {
				empty++
				continue
			}
		}
		f, err := j.disk.OpenFile(path, flag, 0o600)
		if err != nil {
			return local, made, errors.Annotate(err, "cannot open the unit's journal")
		}
		j.slots[i] = f
		r, err := read(f)
		switch {
		case errors.Is(err, ErrNewer):
			return local, made, errors.Annotatef(err, "cannot read %s", path)
		case err != nil:
			damaged = errors.Annotatef(err, "cannot read %s", path)
		case r == nil:
			empty++
		case r.generation > j.generation:
			j.generation, j.next, local = r.generation, 1-i, r.local
		}
	}
	if j.generation == 0 && empty == 0 {
		return local, made, errors.Trace(damaged)
	}
	return local, made, nil
}

// Store makes l durable. When it returns nil a power cut leaves l; when it
// fails, or the machine stops in it, it leaves l or what was stored before.
func (j *Journal) Store(l resolver.Local) error {
	body, err := json.Marshal(l)
	if err != nil {
		return errors.Annotate(err, "cannot write the journal")
	}
	if len(body) > maxRecord {
		return errors.Errorf("cannot write the journal: record of %d bytes", len(body))
	}
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "unitd-journal %d %d %d %08x\n", Version, j.generation+1, len(body), checksum(j.generation+1, body))
	buf.Write(body)
	buf.WriteByte('\n')
	f := j.slots[j.next]
	if err := j.io.writeAt(f, buf.Bytes(), 0); err != nil {
		return errors.Annotate(err, "cannot write the journal")
	}
	if err := j.io.sync(f); err != nil {
		return errors.Annotatef(err, "cannot sync %s", f.Name())
	}
	j.generation++
	j.next = 1 - j.next
	return nil
}

// Close releases the files.
func (j *Journal) Close() error {
	var first error
	for _, f := range j.slots {
		if f == nil {
			continue
		}
		if err := f.Close(); err != nil && first == nil {
			first = errors.Trace(err)
		}
	}
	return first
}

type record struct {
	generation uint64
	local      resolver.Local
}

// read returns the slot's record; nil where the slot was never written.
func read(f io.ReaderAt) (*record, error) {
	br := bufio.NewReader(io.NewSectionReader(f, 0, maxRecord+1024))
	header, err := br.ReadString('\n')
	if err == io.EOF && header == "" {
		return nil, nil
	}
	var version, length int
	var generation uint64
	var sum uint32
	if n, err := fmt.Sscanf(header, "unitd-journal %d %d %d %x\n", &version, &generation, &length, &sum); n != 4 || err != nil {
		if n >= 1 && version > Version {
			return nil, errors.Trace(ErrNewer)
		}
		return nil, errors.Annotate(ErrCorrupt, "header")
	}
	if length < 0 || length > maxRecord {
		return nil, errors.Annotate(ErrCorrupt, "length")
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(br, body); err != nil {
		return nil, errors.Annotate(ErrCorrupt, "cut off")
	}
	if checksum(generation, body) != sum {
		return nil, errors.Annotate(ErrCorrupt, "checksum")
	}
	if version > Version {
		return nil, errors.Trace(ErrNewer)
	}
	r := &record{generation: generation}
	if err := json.Unmarshal(body, &r.local); err != nil {
		return nil, errors.Annotatef(ErrCorrupt, "content: %v", err)
	}
	return r, nil
}

// checksum covers the generation too: a flipped digit there would make the
// older record the newer one.
func checksum(generation uint64, body []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Checksum([]byte(fmt.Sprint(generation)), table)
	return crc32.Update(sum, table, body)
}
