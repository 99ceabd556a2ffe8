// Package history is the record of a unit's hook runs: one JSON line for each
// run that has ended, appended by the unit's agent and never changed. It
// outlives the unit. People and tests read it; no agent decides by it.
package history

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/juju/errors"

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
)

// Entry is one run.
type Entry struct {
	Unit    model.UnitName `json:"unit"`
	Run     int64          `json:"run"`
	Hook    hooks.Info     `json:"hook"`
	Name    string         `json:"name"` // the hook's, "db-relation-joined"
	Outcome Outcome        `json:"outcome"`
	// Missing: the charm has no such hook.
	Missing  bool          `json:"missing,omitempty"`
	Exit     int           `json:"exit"`
	Message  string        `json:"message,omitempty"` // of a failure
	Started  time.Time     `json:"started,omitzero"`
	Duration time.Duration `json:"duration"` // in ns
	Tools    int           `json:"tools"`    // hook tool calls
}

// Path is where the history of a unit is, below dir.
func Path(dir string, unit model.UnitName) string {
	return filepath.Join(dir, unit.Tag()+".jsonl")
}

// Append adds an entry to its unit's history below dir, an existing directory.
func Append(dir string, e Entry) error {
	e.Name = e.Hook.Name()
	b, err := json.Marshal(e)
	if err != nil {
		return errors.Trace(err)
	}
	f, err := os.OpenFile(Path(dir, e.Unit), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot write the history")
	}
	_, err = f.Write(append(b, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return errors.Annotate(err, "cannot write the history")
}

// Read reads the whole history of a unit, oldest first; empty where there is
// none. A last line that was cut off is left out.
func Read(dir string, unit model.UnitName) ([]Entry, error) {
	f, err := os.Open(Path(dir, unit))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the history")
	}
	defer f.Close()
	var all []Entry
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, errors.Annotate(err, "cannot read the history")
		}
		var e Entry
		if json.Unmarshal(line, &e) == nil {
			all = append(all, e)
		}
	}
}
