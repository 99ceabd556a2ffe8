// Package history is the record of a unit's runs of hooks and tasks: one JSON line for each
// run that has ended, appended by the unit's agent and never changed. It
// outlives the unit. People and tests read it; no agent decides by it.
package history

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// Outcome says how a run ended.
type Outcome string

// The outcomes.
const (
	Committed   Outcome = "committed"   // the hook succeeded and its writes are in the model
	Failed      Outcome = "failed"      // it failed; nothing that it wrote is anywhere
	Interrupted Outcome = "interrupted" // the agent was killed in it
	Stopped     Outcome = "stopped"     // the agent was stopped in it; it is run again
	Skipped     Outcome = "skipped"     // resolved without running it again
	Dropped     Outcome = "dropped"     // given up after a failure, as its cause is gone
	CutShort    Outcome = "cut-short"   // ended at its limit, and taken as run; nothing that it wrote is anywhere
)

// Entry is one run.
type Entry struct {
	Unit model.UnitName `json:"unit"`
	// ID tells the unit from former and later ones of the same name, whose runs
	// are numbered from 1 too.
	ID  string `json:"id,omitempty"`
	Run int64  `json:"run"`
	// Newest is the newest run that had begun by then, where that is another
	// one: a failed hook may be skipped after tasks have run.
	Newest  int64      `json:"newest,omitempty"`
	Hook    hooks.Info `json:"hook"`
	Name    string     `json:"name"` // the hook's, "db-relation-joined"
	Outcome Outcome    `json:"outcome"`
	// Changed are the names of what the hook's cause is about, where they are
	// known: options, or keys of a databag.
	Changed []string `json:"changed,omitempty"`
	// Missing: the charm has no such hook.
	Missing  bool          `json:"missing,omitempty"`
	Exit     int           `json:"exit"`
	Message  string        `json:"message,omitempty"` // of a failure
	Started  time.Time     `json:"started,omitzero"`
	Duration time.Duration `json:"duration"` // in ns
	// Took is how long it took by the host's clock, in ns, if the agent goes by another one; else 0.
	Took  time.Duration `json:"took,omitempty"`
	Tools int           `json:"tools"` // hook tool calls
	// Calls are the first of them, in the order in which they ended.
	Calls []Call `json:"calls,omitempty"`
	// Seen is the store's revision that the hook was decided on at, and Rev the one at
	// which the run was committed; 0: not known, or it wasn't.
	Seen int64 `json:"seen,omitempty"`
	Rev  int64 `json:"rev,omitempty"`
	// Written is what the run has committed.
	Written Written `json:"written,omitzero"`
	// Debugged: a person has run it, in the place of the agent.
	Debugged bool `json:"debugged,omitempty"`
	// Charm is the URL of the charm that ran; empty where nobody knows it any
	// more, as of a run in which the agent was killed.
	Charm string `json:"charm,omitempty"`
	// Notes say what a person should know of what came before the run: files of
	// hooks that have given way to the charm's.
	Notes []string `json:"notes,omitempty"`
}

// Path is where the history of a unit is, below dir.
func Path(dir string, unit model.UnitName) string {
	return filepath.Join(dir, unit.Tag()+".jsonl")
}

// rotateAt is the size in bytes at which a history is set aside as
// "<path>.1", in place of the one before. Some ten thousand runs fit in it, or
// a thousand of hooks that call many tools.
const rotateAt = 4 << 20

// Append adds an entry to its unit's history below dir, an existing directory.
func Append(disk durable.Disk, dir string, e Entry) error {
	e.Name = e.Hook.Name()
	b, err := json.Marshal(e)
	if err != nil {
		return errors.Trace(err)
	}
	path := Path(dir, e.Unit)
	if st, err := os.Stat(path); err == nil && st.Size() > rotateAt {
		if err := disk.Rename(path, path+".1"); err != nil {
			return errors.Annotate(err, "cannot set the full history aside")
		}
	}
	f, err := disk.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot write the history")
	}
	b = append(b, '\n')
	if torn(f) {
		b = append([]byte{'\n'}, b...)
	}
	_, err = f.Write(b)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return errors.Annotate(err, "cannot write the history")
}

// torn says whether the last line of a file has no end: what wrote it was
// killed, or the disk was full.
func torn(f *durable.File) bool {
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	n, _ := f.ReadAt(last, st.Size()-1)
	return n == 1 && last[0] != '\n'
}

// Read reads the history of a unit, oldest first; empty where there is none. A
// line that was cut off is left out.
func Read(dir string, unit model.UnitName) ([]Entry, error) {
	var all []Entry
	for _, path := range []string{Path(dir, unit) + ".1", Path(dir, unit)} {
		f, err := os.Open(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, errors.Annotate(err, "cannot read the history")
		}
		entries, err := read(f)
		f.Close()
		if err != nil {
			return nil, errors.Annotate(err, "cannot read the history")
		}
		all = append(all, entries...)
	}
	return all, nil
}

func read(from io.Reader) ([]Entry, error) {
	var all []Entry
	r := bufio.NewReader(from)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, errors.Trace(err)
		}
		var e Entry
		if json.Unmarshal(line, &e) == nil {
			all = append(all, e)
		}
	}
}

// tail is how many bytes at the end of a history Last looks at; no entry is
// nearly as long.
const tail = 64 << 10

// Last is the newest entry of a unit's history; the zero one where there is
// none.
func Last(dir string, unit model.UnitName) (Entry, error) {
	f, err := os.Open(Path(dir, unit))
	if os.IsNotExist(err) {
		return Entry{}, nil
	}
	if err != nil {
		return Entry{}, errors.Annotate(err, "cannot read the history")
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Entry{}, errors.Annotate(err, "cannot read the history")
	}
	if _, err := f.Seek(max(0, st.Size()-tail), io.SeekStart); err != nil {
		return Entry{}, errors.Annotate(err, "cannot read the history")
	}
	entries, err := read(f) // the first line may be half of one
	if err != nil || len(entries) == 0 {
		return Entry{}, errors.Annotate(err, "cannot read the history")
	}
	return entries[len(entries)-1], nil
}

// Units are the units that have a history below dir, in their order.
func Units(dir string) ([]model.UnitName, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, errors.Annotate(err, "cannot list the histories")
	}
	var units []model.UnitName
	for _, e := range entries {
		tag, ok := strings.CutSuffix(e.Name(), ".jsonl")
		i := strings.LastIndexByte(tag, '-')
		if rest, is := strings.CutPrefix(tag, "unit-"); ok && is && i >= len("unit-") {
			units = append(units, model.UnitName(rest[:i-len("unit-")]+"/"+tag[i+1:]))
		}
	}
	slices.SortFunc(units, model.CompareUnits)
	return units, nil
}
