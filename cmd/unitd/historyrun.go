package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// showRun shows all that is known of one run.
func (a *app) showRun(unit, number string, f historyFlags) error {
	names, err := unitNames([]string{unit})
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		return usagef("%q is not the number of a run", number)
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	runs, err := a.runs(m, names)
	if err != nil {
		return err
	}
	runs = slices.DeleteFunc(runs, func(e history.Entry) bool { return e.Run != n })
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
	lines, err := logOf(m, e)
	if err != nil {
		return err
	}
	if f.format != "table" {
		t := runTree(e, true)
		t["log"] = lines
		return a.write(f.format, f.output, t)
	}
	sources := a.sources(m)
	e.Message = sources.Text(e.Unit.Tag(), e.Message)
	for i, line := range lines {
		lines[i] = asRecord(sources.Text(e.Unit.Tag(), line), "    ")
	}
	text := runText(e, lines)
	if refs, err := recordings(m, e.Unit); err == nil && len(e.Calls) > 0 {
		for _, ref := range refs {
			if ref.Run == e.Run {
				text += fmt.Sprintf("\n\"unitd record %s %d\" has what the tools were given and have answered.\n", e.Unit, e.Run)
			}
		}
	}
	return a.text(f.output, text)
}

// logOf are the lines that a run has logged: its output, and what the charm
// has logged meanwhile.
func logOf(m *state.Model, e history.Entry) ([]string, error) {
	lines := []string{}
	dir, err := dataDir()
	if err != nil || e.Started.IsZero() {
		return lines, err
	}
	end, prefix := e.Started.Add(e.Duration), "unit."+string(e.Unit)+"."
	err = debuglog.ReadAll(machine.LogPath(dir, m.UUID()), func(l debuglog.Entry) error {
		module, own := strings.CutPrefix(l.Module, prefix)
		if own && !l.Time.Before(e.Started) && !l.Time.After(end) && (module == e.Name || module == "juju-log") {
			lines = append(lines, l.Level+" "+module+" "+strings.Join(debuglog.Lines(l.Message), "\n"))
		}
		return nil
	})
	return lines, err
}

func runText(e history.Entry, lines []string) string {
	var t table
	rows := [][]cell{}
	for _, line := range []struct{ name, value string }{
		{"Unit", string(e.Unit)}, {"Run", strconv.FormatInt(e.Run, 10)}, {"Hook", hookOf(e)}, {"Cause", harmless(e.Cause())},
		{"Started", timeOrDash(e.Started)}, {"Took", took(e)}, {"Outcome", outcomeOf(e)}, {"Exit code", strconv.Itoa(e.Exit)},
		{"Debugged", map[bool]string{true: "by a person, in the place of the agent"}[e.Debugged]}, {"Wrote", e.Written.String()},
	} {
		if line.value != "" {
			rows = append(rows, []cell{{text: line.name + ":"}, {text: line.value}})
		}
	}
	t.block(rows)
	if len(e.Calls) > 0 {
		rows := [][]cell{{{text: "At", right: true}, {text: "Took", right: true}, {text: "Exit", right: true}, {text: "Hook tool"}}}
		for _, c := range e.Calls {
			rows = append(rows, []cell{
				{text: "+" + roundTime(c.At).String(), right: true}, {text: roundTime(c.Took).String(), right: true},
				{text: strconv.Itoa(c.Code), right: true}, {text: harmless(c.String())},
			})
		}
		t.block(rows)
	}
	if more := e.Tools - len(e.Calls); more > 0 {
		fmt.Fprintf(&t.b, "\n%d more hook tool calls.\n", more)
	}
	if len(lines) > 0 {
		fmt.Fprintf(&t.b, "\n%s\n", strings.Join(lines, "\n"))
	}
	return t.b.String()
}

func timeOrDash(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// runTree is a run as json and yaml have it; times are in milliseconds.
func runTree(e history.Entry, calls bool) tree {
	t := tree{
		"unit": string(e.Unit), "run": e.Run, "hook": e.Name, "cause": e.Cause(), "took": ms(e.Duration),
		"outcome": string(e.Outcome), "exit": e.Exit, "tools": e.Tools,
	}
	for key, value := range map[string]any{
		"remote-unit": string(e.Hook.RemoteUnit), "relation": e.Hook.RelationRef(), "message": e.Message,
		"container": e.Hook.Workload, "notice": e.Hook.NoticeID, "notice-key": e.Hook.NoticeKey, "check": e.Hook.CheckName,
	} {
		if value != "" {
			t[key] = value
		}
	}
	if len(e.Changed) > 0 {
		t["changed"] = e.Changed
	}
	if !e.Started.IsZero() {
		t["started"] = e.Started.UTC().Format(time.RFC3339Nano)
	}
	if e.Missing {
		t["missing"] = true
	}
	if e.Debugged {
		t["debugged"] = true
	}
	if e.Written != (history.Written{}) {
		t["written"] = tree{"databags": e.Written.Databags, "leader": e.Written.Leader, "state": e.Written.State, "ports": e.Written.Ports}
	}
	if calls {
		list := []tree{}
		for _, c := range e.Calls {
			list = append(list, tree{"call": c.String(), "at": ms(c.At), "took": ms(c.Took), "exit": c.Code})
		}
		t["calls"] = list
	}
	return t
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// unitDir is what the machine has of a unit.
func unitDir(m *state.Model, unit model.UnitName) (string, error) {
	dir, err := dataDir()
	return filepath.Join(machine.ModelDir(dir, m.UUID()), "agents", unit.Tag()), err
}
