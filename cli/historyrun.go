package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// showRun shows all that is known of one run.
func (a statusVerbs) showRun(unit, number string, f historyFlags) error {
	names, err := unitNames([]string{unit})
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		return Usagef("%q is not the number of a run", number)
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	where, runs, err := a.findRun(m, names, n)
	if err != nil {
		return err
	}
	defer where.end()
	if len(runs) == 0 {
		return errors.NewNotFound(nil, fmt.Sprintf("%s has no run %d in its history", names[0], n))
	}
	// Those of a former unit of that name are older; so is the end of a run that
	// has failed and was skipped then.
	e := runs[len(runs)-1]
	for _, earlier := range slices.Backward(runs) {
		if earlier.ID == e.ID && e.Duration == 0 {
			e.Started, e.Duration, e.Tools, e.Calls = earlier.Started, earlier.Duration, earlier.Tools, earlier.Calls
		}
	}
	lines, err := logOf(m, where, e)
	if err != nil {
		return err
	}
	files := &filesOf{m: m, where: where}
	if f.format != "table" {
		t := render.RunTree(e, true)
		if f.files || f.diff {
			render.AddFiles(t, files.of(e), f.diff)
		}
		t["log"] = lines
		return a.write(f.format, f.output, t)
	}
	sources := a.sources(m)
	e.Message = sources.Text(e.Unit.Tag(), e.Message)
	for i, line := range lines {
		lines[i] = render.Record(sources.Text(e.Unit.Tag(), line), "    ")
	}
	text := render.RunText(e, lines)
	if refs, err := recordings(m, where, e.Unit); err == nil && len(e.Calls) > 0 {
		for _, ref := range refs {
			if ref.Run == e.Run {
				text += fmt.Sprintf("\n\"unitd record %s %d\" has what the tools were given and have answered.\n", e.Unit, e.Run)
			}
		}
	}
	if f.files || f.diff {
		text += "\nFiles:\n" + render.FilesText(files.of(e), f.diff, "    ")
		a.noteFiles(files, f.diff)
	}
	return a.text(f.output, text)
}

// findRun is what there is of the runs of that number, first among the newest of what other hosts have.
func (a statusVerbs) findRun(m *state.Model, names []model.UnitName, n int64) (where places, runs []history.Entry, err error) {
	for _, whole := range []bool{false, true} {
		if where, err = a.places(m, names, ofRuns, whole); err != nil {
			return where, nil, err
		}
		if runs, err = a.runs(m, where, names); err != nil {
			where.end()
			return where, nil, err
		}
		runs = slices.DeleteFunc(runs, func(e history.Entry) bool { return e.Run != n })
		if len(runs) > 0 || whole {
			break
		}
		where.end()
	}
	return where, runs, nil
}

// logOf are the lines that a run has logged: its output, and what the charm
// has logged meanwhile.
func logOf(m *state.Model, where places, e history.Entry) ([]string, error) {
	lines := []string{}
	if e.Started.IsZero() {
		return lines, nil
	}
	end, prefix := e.Started.Add(e.Duration), "unit."+string(e.Unit)+"."
	for _, dir := range where.dirs {
		if err := debuglog.ReadAll(machine.LogPath(dir, m.UUID()), func(l debuglog.Entry) error {
			module, own := strings.CutPrefix(l.Module, prefix)
			if own && !l.Time.Before(e.Started) && !l.Time.After(end) && (module == e.Name || module == "juju-log") {
				lines = append(lines, l.Level+" "+module+" "+strings.Join(debuglog.Lines(l.Message), "\n"))
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// unitDir is what the machine has of a unit.
func unitDir(m *state.Model, unit model.UnitName) (string, error) {
	dir, err := agent.DataDir()
	return filepath.Join(machine.ModelDir(dir, m.UUID()), "agents", unit.Tag()), err
}
