package recording

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
)

// Keep is how many recordings of a unit are kept at least: the newest. There may be up
// to twice as many.
const Keep = 100

// Path is the file that has the recordings of a unit, a line for each, below the
// directory that has those of its model. Older ones are in the file beside it that ends
// in ".1": a full file takes its place.
func Path(dir string, unit model.UnitName) string { return filepath.Join(dir, unit.Tag()+".jsonl") }

// formerDir is where an earlier version kept them, a file for each.
func formerDir(dir string, unit model.UnitName) string { return filepath.Join(dir, unit.Tag()) }

// Ref is a recording that is kept.
type Ref struct {
	Run    int64
	path   string
	offset int64
	length int
}

// List are the recordings of a unit that are kept, the newest first, of runs of the same
// number the newest alone; none where there are no files.
func List(dir string, unit model.UnitName) ([]Ref, error) {
	refs, err := listFormer(formerDir(dir, unit))
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, path := range []string{Path(dir, unit) + ".1", Path(dir, unit)} {
		more, err := listFile(path)
		if err != nil {
			return nil, errors.Trace(err)
		}
		refs = append(refs, more...)
	}
	slices.Reverse(refs)
	seen := map[int64]bool{}
	return slices.DeleteFunc(refs, func(r Ref) bool {
		again := seen[r.Run]
		seen[r.Run] = true
		return again
	}), nil
}

// listFile are the recordings in a file, oldest first. A line that was cut off is none.
func listFile(path string) ([]Ref, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot list the recordings")
	}
	defer f.Close()
	var refs []Ref
	at := int64(0)
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return refs, nil
		}
		if err != nil {
			return nil, errors.Annotate(err, "cannot list the recordings")
		}
		var is struct{ Run int64 }
		if json.Unmarshal(line, &is) == nil && is.Run > 0 {
			refs = append(refs, Ref{Run: is.Run, path: path, offset: at, length: len(line)})
		}
		at += int64(len(line))
	}
}

// listFormer are the recordings of an earlier version in a directory, oldest first.
func listFormer(dir string) ([]Ref, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.Annotate(err, "cannot list the recordings")
	}
	written := map[int64]time.Time{}
	var refs []Ref
	for _, e := range entries {
		name, isRecording := strings.CutSuffix(e.Name(), ".json")
		run, err := strconv.ParseInt(name, 10, 64)
		if !isRecording || err != nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // moved to the file meanwhile
		}
		written[run] = info.ModTime()
		refs = append(refs, Ref{Run: run, path: filepath.Join(dir, e.Name()), length: int(info.Size())})
	}
	slices.SortFunc(refs, func(a, b Ref) int {
		return cmp.Or(written[a.Run].Compare(written[b.Run]), cmp.Compare(a.Run, b.Run))
	})
	return refs, nil
}

// Read reads the recording. The error is NotFound where it had to give way to newer
// ones meanwhile, and NotValid where it can't be read.
func (r Ref) Read() (*Recording, error) {
	b, err := r.bytes()
	if err != nil {
		return nil, errors.Annotatef(err, "cannot read the recording of run %d", r.Run)
	}
	var d disk
	switch err := json.Unmarshal(b, &d); {
	case err != nil:
		return nil, errors.NotValidf("recording of run %d in %s, which an agent was killed in while it wrote it,", r.Run, r.path)
	case d.Run != r.Run:
		return nil, errors.NotFoundf("recording of run %d in %s", r.Run, r.path)
	}
	return d.recording(), nil
}

func (r Ref) bytes() ([]byte, error) {
	f, err := os.Open(r.path)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer f.Close()
	b := make([]byte, r.length)
	n, err := f.ReadAt(b, r.offset)
	if err == io.EOF {
		err = nil
	}
	return b[:n], errors.Trace(err)
}

// Keeper keeps the newest recordings of a unit. It is for one goroutine.
type Keeper struct {
	disk durable.Disk
	dir  string
	unit model.UnitName
	// lines is how many there are in the file; -1: nobody has looked. torn: the last of
	// them may have been cut off.
	lines int
	torn  bool
}

// NewKeeper keeps the recordings of a unit below dir, which is made when needed.
func NewKeeper(disk durable.Disk, dir string, unit model.UnitName) *Keeper {
	return &Keeper{disk: disk, dir: dir, unit: unit, lines: -1}
}

// Keep adds a recording, and lets go of what is too old. A recording is not worth
// waiting for the disk: one that was torn by a crash can't be read.
func (k *Keeper) Keep(r *Recording) error {
	if err := k.look(); err != nil {
		return errors.Annotate(err, "cannot keep the recording of a hook")
	}
	b, err := json.Marshal(toDisk(r))
	if err != nil {
		return errors.Annotate(err, "cannot keep the recording of a hook")
	}
	return errors.Annotate(k.add(b), "cannot keep the recording of a hook")
}

// add adds a line.
func (k *Keeper) add(line []byte) error {
	path := Path(k.dir, k.unit)
	if k.lines >= Keep {
		if err := k.disk.Rename(path, path+".1"); err != nil && !os.IsNotExist(err) {
			return errors.Trace(err)
		}
		k.lines = 0
	}
	f, err := k.disk.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Trace(err)
	}
	if k.torn {
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(append(line, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	k.lines, k.torn = k.lines+1, err != nil
	return errors.Trace(err)
}

// look finds what earlier agents have kept, and moves what an earlier version has to
// where it is kept now.
func (k *Keeper) look() error {
	if k.lines >= 0 {
		return nil
	}
	if err := k.disk.MkdirAll(k.dir, 0o700); err != nil {
		return errors.Trace(err)
	}
	refs, err := listFile(Path(k.dir, k.unit))
	if err != nil {
		return errors.Trace(err)
	}
	former, err := listFormer(formerDir(k.dir, k.unit))
	if err != nil {
		return errors.Trace(err)
	}
	// Whether an agent was killed as it wrote isn't worth a look: an empty line is none.
	st, err := os.Stat(Path(k.dir, k.unit))
	k.lines, k.torn = len(refs), err == nil && st.Size() > 0
	for _, ref := range former {
		b, err := ref.bytes()
		if err == nil && json.Valid(b) {
			err = k.add(b)
		}
		if err != nil {
			return errors.Trace(err)
		}
	}
	if len(former) == 0 {
		return nil
	}
	return errors.Trace(k.disk.RemoveAll(formerDir(k.dir, k.unit)))
}

// disk is a recording as JSON, which knows text in UTF-8 only: what may be
// other bytes is apart.
type disk struct {
	Recording
	Message anyText
	Env     []anyText
	Calls   []diskCall
}

type diskCall struct {
	Args     []anyText
	StdinSet bool     `json:",omitempty"`
	Stdin    anyText  `json:",omitempty"`
	File     *anyText `json:",omitempty"`
	Code     int
	Stdout   anyText `json:",omitempty"`
	Stderr   anyText `json:",omitempty"`
	At, Took time.Duration
}

func toDisk(r *Recording) disk {
	d := disk{Recording: *r, Message: anyText(r.Message), Env: anyTexts(r.Env), Calls: make([]diskCall, len(r.Calls))}
	for i, c := range r.Calls {
		d.Calls[i] = diskCall{
			Args: anyTexts(c.Args), StdinSet: c.StdinSet, Stdin: anyText(c.Stdin), Code: c.Code,
			Stdout: anyText(c.Stdout), Stderr: anyText(c.Stderr), At: c.At, Took: c.Took,
		}
		if c.File != nil {
			file := anyText(c.File)
			d.Calls[i].File = &file
		}
	}
	return d
}

func (d disk) recording() *Recording {
	r := d.Recording
	r.Message, r.Env, r.Calls = string(d.Message), texts(d.Env), nil
	for _, c := range d.Calls {
		call := Call{
			Args: texts(c.Args), StdinSet: c.StdinSet, Stdin: bytesOf(c.Stdin), Code: c.Code,
			Stdout: bytesOf(c.Stdout), Stderr: bytesOf(c.Stderr), At: c.At, Took: c.Took,
		}
		if c.File != nil {
			call.File = []byte(*c.File)
		}
		r.Calls = append(r.Calls, call)
	}
	return &r
}
