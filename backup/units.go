package backup

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter/journal"
)

// unitFiles is where a unit's directory is below the data directory.
func unitFiles(u state.UnitAt) string {
	return filepath.Join(machine.ModelDir("", u.Model), "agents", u.Name.Tag())
}

// journals are the newest records of all journals in a data directory, by the units' directories.
func journals(dir string) (map[string]journal.Record, error) {
	found := map[string]journal.Record{}
	all, err := filepath.Glob(filepath.Join(machine.ModelDir(dir, "*"), "agents", "*"))
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, path := range all {
		if r, err := journal.Newest(path); err == nil { // one that can't be read is said of later
			found[path] = r
		}
	}
	return found, nil
}

// kept is a unit of this host as it is in the backup.
type kept struct {
	state.UnitAt
	// record is what its journal had at the moment of the backup; known is false where that isn't
	// known, or there was none.
	record journal.Record
	known  bool
}

// keep finds out what the units of this host knew at the moment of the backup.
func keep(dir string, all []state.UnitAt, before map[string]journal.Record) (map[string]kept, error) {
	found := map[string]kept{}
	for _, u := range all {
		path := filepath.Join(dir, unitFiles(u))
		if _, err := os.Stat(path); err != nil {
			continue // it is another host's, or hasn't begun
		}
		k := kept{UnitAt: u}
		var err error
		if k.record, k.known, err = journal.At(path, before[path], u.ID, u.Run); err != nil {
			return nil, errors.Annotatef(err, "unit %s", u.Name)
		}
		found[unitFiles(u)] = k
	}
	return found, nil
}

// running is the hook in which the unit is interrupted.
func (k kept) running() (name string, run int64) {
	h, run, ok := k.record.Local.Interrupted()
	if !k.known || !ok || run <= k.Run {
		return "", 0
	}
	return h.Name(), run
}

// charm is the URL of the charm that its directory has to have; empty: it isn't kept.
func (k kept) charm() string {
	if k.known {
		return k.record.Local.Charm
	}
	if k.Run == 0 {
		return "" // it begins anew
	}
	return k.Charm
}

// unit writes the directory of a unit, but for what an agent makes itself.
func (t *tree) unit(k kept) error {
	name := unitFiles(k.UnitAt)
	if st, err := os.Lstat(filepath.Join(t.dir, name)); err != nil || !st.IsDir() {
		return nil // it has gone
	}
	if k.known {
		b, err := journal.Encode(k.record)
		if err != nil {
			return errors.Trace(err)
		}
		if err := t.text(filepath.Join(name, journal.FirstSlot), b); err != nil {
			return errors.Trace(err)
		}
	}
	skip := named([]string{"journal-0", "journal-1", "tools", "charm.new", "charm.old", "charm.tree"}, []string{".socket", "archive-", charmdir.Aside})
	top := func(of string) bool { return filepath.Dir(of) == name && (skip(of) || filepath.Base(of) == "charm") }
	if err := t.add(name, top); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(t.charm(k))
}

// charm writes the charm directory, if it has the charm that the journal says.
func (t *tree) charm(k kept) error {
	name := unitFiles(k.UnitAt)
	deployer := charmdir.NewDeployer(durable.Disk{}, filepath.Join(t.dir, name))
	has := func() bool {
		url, err := deployer.Deployed()
		return err == nil && url != "" && url == k.charm()
	}
	if !has() {
		return nil
	}
	if err := t.add(filepath.Join(name, "charm"), nil); err != nil {
		return errors.Trace(err)
	}
	if has() {
		return nil
	}
	// It was replaced meanwhile: without its marker it is none.
	t.voided = append(t.voided, filepath.Join(name, "charm"))
	return nil
}

// ends writes the history of a unit without what has ended later than the backup.
func (t *tree) ends(k kept) error {
	dir := machine.HistoryDir("", k.Model)
	for _, path := range []string{history.Path(dir, k.Name) + ".1", history.Path(dir, k.Name)} {
		f, err := os.Open(filepath.Join(t.dir, path))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return errors.Trace(err)
		}
		b, st, err := steady(f)
		f.Close()
		if err != nil {
			return errors.Trace(err)
		}
		if err := t.content(path, st, k.ended(b)); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// ended are the lines of a history that are of runs that had ended at the moment of the backup.
func (k kept) ended(lines []byte) []byte {
	last, end := k.Run, k.record.Local.Ended
	if k.known {
		last = k.record.Local.Run
		if _, run := k.running(); run > 0 {
			last = run - 1
		}
	}
	var out []byte
	over := false
	for line := range bytes.Lines(lines) {
		var e history.Entry
		if json.Unmarshal(line, &e) != nil || !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		if e.ID != k.ID {
			out = append(out, line...)
			continue
		}
		if e.Run > last || over && !(e.Run == k.Run && e.Outcome == history.Committed) {
			continue
		}
		out = append(out, line...)
		if k.known && e.Run == end.Run && string(e.Outcome) == string(end.How) {
			over = true
		}
	}
	return out
}

// isUnitsHistory says whether a file is the history of one of these units.
func isUnitsHistory(name string, units map[string]kept) bool {
	if filepath.Base(filepath.Dir(name)) != "history" {
		return false
	}
	tag, _, _ := strings.Cut(filepath.Base(name), ".jsonl")
	_, is := units[filepath.Join(filepath.Dir(filepath.Dir(name)), "agents", tag)]
	return is
}
