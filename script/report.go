package script

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// lastLines is how many lines of a log a report shows.
const lastLines = 12

// report is how the world looks where its script has failed: each unit's
// hooks, and what the one that matters has logged.
func (w *world) report() string {
	var b strings.Builder
	m, err := w.model()
	if err != nil {
		return fmt.Sprintf("the world can't be looked at: %v", err)
	}
	units := w.everybody(m)
	fmt.Fprintf(&b, "\n%s after the beginning, units and their hooks:\n", w.clock.Now().Sub(w.dawn).Round(time.Millisecond))
	var worst *history.Entry
	for _, unit := range units {
		runs, err := w.runs(m, unit)
		if err != nil {
			continue
		}
		fmt.Fprintf(&b, "\n  %s%s\n", unit, w.now(m, unit))
		if s := w.holds(m, unit); s != "" {
			fmt.Fprintf(&b, "    why: %s\n", s)
		}
		for i, run := range runs {
			mark := "ok"
			switch {
			case run.Missing:
				mark = "-"
			case run.Outcome != history.Committed:
				mark = fmt.Sprintf("%s, exit %d: %s", run.Outcome, run.Exit, w.sources(m).Text(unit.Tag(), run.Message))
				if worst == nil || run.Started.After(worst.Started) {
					worst = &runs[i]
				}
			}
			fmt.Fprintf(&b, "    %8s  %-34s %s\n", w.began(run), hookAndRemote(run), mark)
		}
	}
	if worst != nil {
		w.logOf(&b, m, worst)
	}
	if said := strings.TrimSpace(w.agentSaid()); said != "" {
		fmt.Fprintf(&b, "\nthe agent says:\n  %s\n", strings.ReplaceAll(tail(said, lastLines), "\n", "\n  "))
	}
	if w.file != "" {
		fmt.Fprintf(&b, "\nrun it alone: unitd test -v %s\n", w.file)
	}
	if w.isolated {
		b.WriteString("its units were isolated: --isolate=off has them share the host\n")
	}
	return b.String()
}

// began is when a run began; nobody knows that of one whose agent was killed.
func (w *world) began(e history.Entry) string {
	if e.Started.IsZero() {
		return "?"
	}
	return e.Started.Sub(w.dawn).Round(time.Millisecond).String()
}

func hookAndRemote(e history.Entry) string {
	if e.Hook.RemoteUnit == "" {
		return e.Name
	}
	return e.Name + " " + string(e.Hook.RemoteUnit)
}

// everybody are the units that there are, and those that are gone and have a
// history.
func (w *world) everybody(m *state.Model) []model.UnitName {
	units, err := history.Units(machine.HistoryDir(w.dir, m.UUID()))
	if err != nil {
		return nil
	}
	return units
}

// now is the unit's status in brackets.
func (w *world) now(m *state.Model, unit model.UnitName) string {
	d, err := m.ShowUnit(w.ctx, unit)
	if err != nil {
		return " (gone)"
	}
	return fmt.Sprintf(" (%s %s; %s %s)", d.Workload.Status, d.Workload.Message, d.Agent.Status, d.Agent.Message)
}

// logOf writes the last lines that a run has logged: as many as the whole of the
// last traceback has, if there are more of them.
func (w *world) logOf(b *strings.Builder, m *state.Model, run *history.Entry) {
	var lines []string
	sources := w.sources(m)
	_ = debuglog.ReadAll(machine.LogPath(w.dir, m.UUID()), func(e debuglog.Entry) error {
		if e.Entity == run.Unit.Tag() && strings.HasPrefix(e.Module, "unit.") {
			for i, line := range debuglog.Lines(sources.Text(e.Entity, e.Message)) {
				if i == 0 {
					lines = append(lines, e.Level+" "+line)
				} else {
					lines = append(lines, "    "+line)
				}
			}
		}
		return nil
	})
	if len(lines) == 0 {
		return
	}
	from := min(max(0, len(lines)-lastLines), lastTraceback(lines))
	fmt.Fprintf(b, "\n%s has logged:\n  %s\n", run.Unit, strings.Join(lines[from:], "\n  "))
}

// lastTraceback is where the last of Python's tracebacks begins, with those of
// the exceptions that it was raised for and the line that announces it; past the
// end where there is none.
func lastTraceback(lines []string) int {
	const header = "Traceback (most recent call last):"
	found := len(lines)
	for i, line := range slices.Backward(lines) {
		if !strings.HasSuffix(line, header) {
			continue
		}
		if found < len(lines) && !slices.ContainsFunc(lines[i:found], chains) {
			break
		}
		found = i
	}
	// A framework says first what has raised it, in the same message.
	if found < len(lines) && found > 0 && strings.HasPrefix(lines[found], "    ") {
		found--
	}
	return found
}

// chains says whether a line stands between two tracebacks of one failure.
func chains(line string) bool {
	return strings.HasSuffix(line, "During handling of the above exception, another exception occurred:") ||
		strings.HasSuffix(line, "The above exception was the direct cause of the following exception:")
}

// sources shows what units have said with the paths of the charms' authors, from
// where the person is, or from the script's directory.
func (w *world) sources(m *state.Model) *machine.Sources {
	here, err := os.Getwd()
	if err != nil {
		here = w.work
	}
	return machine.NewSources(w.ctx, m, w.dir, here, w.work)
}

// tail are the last n lines.
func tail(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
