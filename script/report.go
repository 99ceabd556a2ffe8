package script

import (
	"fmt"
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
	fmt.Fprintf(&b, "\n%s after the beginning, units and their hooks:\n", w.clock.Now().Sub(dawn).Round(time.Millisecond))
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
				mark = fmt.Sprintf("%s, exit %d: %s", run.Outcome, run.Exit, run.Message)
				if worst == nil || run.Started.After(worst.Started) {
					worst = &runs[i]
				}
			}
			fmt.Fprintf(&b, "    %8s  %-34s %s\n", began(run), hookAndRemote(run), mark)
		}
	}
	if worst != nil {
		w.logOf(&b, m, worst)
	}
	if said := strings.TrimSpace(w.agentSaid()); said != "" {
		fmt.Fprintf(&b, "\nthe agent says:\n  %s\n", strings.ReplaceAll(tail(said, lastLines), "\n", "\n  "))
	}
	fmt.Fprintf(&b, "\nrun it alone: unitd test -v %s\n", w.file)
	if w.isolated {
		b.WriteString("its units were isolated: --isolate=off has them share the host\n")
	}
	return b.String()
}

// began is when a run began; nobody knows that of one whose agent was killed.
func began(e history.Entry) string {
	if e.Started.IsZero() {
		return "?"
	}
	return e.Started.Sub(dawn).Round(time.Millisecond).String()
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

// logOf writes the last lines that a run has logged.
func (w *world) logOf(b *strings.Builder, m *state.Model, run *history.Entry) {
	var lines []string
	_ = debuglog.ReadAll(machine.LogPath(w.dir, m.UUID()), func(e debuglog.Entry) error {
		if e.Entity == run.Unit.Tag() && strings.HasPrefix(e.Module, "unit.") {
			lines = append(lines, e.Level+" "+e.Message)
		}
		return nil
	})
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s has logged:\n  %s\n", run.Unit, strings.ReplaceAll(tail(strings.Join(lines, "\n"), lastLines), "\n", "\n  "))
}

// tail are the last n lines.
func tail(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
