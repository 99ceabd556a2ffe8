package recording

import (
	"cmp"
	"encoding/json"
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

// Keep is how many recordings of a unit are kept.
const Keep = 100

// Dir is where the recordings of a unit are, below the directory that has those
// of its model.
func Dir(dir string, unit model.UnitName) string { return filepath.Join(dir, unit.Tag()) }

// Ref is a recording that is kept.
type Ref struct {
	Run     int64
	Path    string
	Written time.Time
}

// List are the recordings that are kept in a unit's directory, the newest
// first; none where there is no directory.
func List(dir string) ([]Ref, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.Annotate(err, "cannot list the recordings")
	}
	var refs []Ref
	for _, e := range entries {
		name, isRecording := strings.CutSuffix(e.Name(), ".json")
		run, err := strconv.ParseInt(name, 10, 64)
		if !isRecording || err != nil {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // removed meanwhile, for a newer one
		}
		refs = append(refs, Ref{Run: run, Path: filepath.Join(dir, e.Name()), Written: info.ModTime()})
	}
	slices.SortFunc(refs, func(a, b Ref) int {
		return cmp.Or(b.Written.Compare(a.Written), cmp.Compare(b.Run, a.Run))
	})
	return refs, nil
}

// Keeper keeps the newest recordings of a unit. It is for one goroutine.
type Keeper struct {
	disk durable.Disk
	dir  string
	// kept are the files that there are, the oldest first; nil: nobody has
	// looked yet.
	kept []string
}

// NewKeeper keeps recordings in dir, a unit's own, which is made when needed.
func NewKeeper(disk durable.Disk, dir string) *Keeper { return &Keeper{disk: disk, dir: dir} }

// Keep writes a recording, in place of that of a former unit's run with the
// same number, and removes what is too old. A recording is not worth waiting
// for the disk: one that was torn by a crash can't be read.
func (k *Keeper) Keep(r *Recording) error {
	if err := k.look(); err != nil {
		return errors.Annotate(err, "cannot keep the recording of a hook")
	}
	b, err := json.Marshal(toDisk(r))
	if err != nil {
		return errors.Annotate(err, "cannot keep the recording of a hook")
	}
	path := filepath.Join(k.dir, strconv.FormatInt(r.Run, 10)+".json")
	if err := k.disk.WriteFile(path, b, 0o600); err != nil {
		return errors.Annotate(err, "cannot keep the recording of a hook")
	}
	if i := slices.Index(k.kept, path); i >= 0 {
		k.kept = slices.Delete(k.kept, i, i+1)
	}
	k.kept = append(k.kept, path)
	for len(k.kept) > Keep {
		if err := k.disk.Remove(k.kept[0]); err != nil && !os.IsNotExist(err) {
			return errors.Annotate(err, "cannot remove an old recording")
		}
		k.kept = k.kept[1:]
	}
	return nil
}

// look finds what earlier agents have kept.
func (k *Keeper) look() error {
	if k.kept != nil {
		return nil
	}
	if err := k.disk.MkdirAll(k.dir, 0o700); err != nil {
		return errors.Trace(err)
	}
	refs, err := List(k.dir)
	if err != nil {
		return errors.Trace(err)
	}
	k.kept = make([]string, 0, len(refs)+1)
	for _, ref := range slices.Backward(refs) {
		k.kept = append(k.kept, ref.Path)
	}
	return nil
}

// Read reads a recording that was kept.
func Read(path string) (*Recording, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the recording")
	}
	var d disk
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, errors.NotValidf("recording %s, which an agent was killed in while it wrote it,", path)
	}
	return d.recording(), nil
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
