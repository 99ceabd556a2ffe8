package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/page"
	"github.com/unitd/unitd/render"
)

// View is part of tea.Model.
func (s Screen) View() tea.View {
	v := tea.NewView(s.Text())
	v.AltScreen = true
	v.WindowTitle = "unitd top: " + s.model.Name
	return v
}

// Text is the screen's text: as many lines as it has, none of them longer than it is wide.
func (s Screen) Text() string {
	lines := []string{s.head(), s.bold(s.cells("Unit", "Workload", "Agent", "Message"))}
	all := s.shown()
	for i := range s.room() {
		if n := s.first + i; n < len(all) {
			lines = append(lines, s.unit(all[n]))
		} else {
			lines = append(lines, "")
		}
	}
	lines = append(lines, s.tabs())
	below := map[pane]func() []string{runsPane: s.runLines, logPane: s.logLines, timePane: func() []string { return s.timeLines(all) }}[s.below]()
	below = below[max(0, len(below)-s.rest()):]
	for len(below) < s.rest() {
		below = append(below, "")
	}
	lines = append(lines, below...)
	lines = append(lines, s.foot())
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], s.width, "…")
	}
	return strings.Join(lines, "\n")
}

// marks are shapes for statuses, for those who see no colours.
var marks = map[string]string{
	"active": "●", "idle": "●", "waiting": "◌", "allocating": "◌", "blocked": "▲", "maintenance": "◆", "executing": "◆", "error": "✖", "failed": "✖", "lost": "✖",
}

// word is a status with its mark and its colour, padded to a width.
func (s Screen) word(status string, width int) string {
	text := pad(cmp.Or(marks[status], "○")+" "+status, width)
	if colour := render.StatusCell(status).Colour; s.Colours && colour != "" {
		return render.Paint(colour, text)
	}
	return text
}

func (s Screen) bold(text string) string {
	if s.Colours {
		return render.Paint(render.Bold, text)
	}
	return text
}

// pad makes text as wide as that, by blanks or by leaving out its end.
func pad(text string, width int) string {
	text = ansi.Truncate(oneLine(text), width, "…")
	return text + strings.Repeat(" ", max(0, width-ansi.StringWidth(text)))
}

// oneLine is a charm's text without what would do something to a terminal.
func oneLine(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(render.Harmless(text))
}

// counted is the status by which a unit is counted.
func counted(u page.Unit) string {
	if u.Agent.Status == string(model.StatusFailed) || u.Agent.Status == "lost" {
		return "error"
	}
	return u.Workload.Status
}

func (s Screen) head() string {
	counts, busy := map[string]int{}, 0
	for _, u := range s.units {
		counts[counted(u)]++
		if u.Agent.Status == "executing" {
			busy++
		}
	}
	var parts []string
	for _, status := range []string{"error", "blocked", "maintenance", "waiting", "active", "unknown", "terminated"} {
		if n := counts[status]; n > 0 {
			parts = append(parts, strings.Replace(s.word(status, len(status)+2), status, fmt.Sprintf("%d %s", n, status), 1))
		}
	}
	if busy > 0 {
		parts = append(parts, fmt.Sprintf("%d in a hook", busy))
	}
	left, clock := s.bold(s.model.Name)+"  "+strings.Join(parts, "  "), s.Now().Format(time.TimeOnly)
	return ansi.Truncate(left, s.width-len(clock)-1, "…") + strings.Repeat(" ", max(1, s.width-ansi.StringWidth(left)-len(clock))) + clock
}

// widths of the columns of units; the message has the rest.
func (s Screen) widths() (unit, workload, agent int) {
	unit = 8
	for _, u := range s.units {
		unit = max(unit, len(u.Name)+1)
	}
	return min(unit, 8+s.width/6), 13, min(30, 12+s.width/8)
}

func (s Screen) cells(unit, workload, agent, message string) string {
	u, w, a := s.widths()
	return s.gutter() + pad(unit, u) + " " + pad(workload, w) + " " + pad(agent, a) + " " + message
}

func (s Screen) unit(u page.Unit) string {
	name, workload, agent := s.widths()
	leader := ""
	if u.Leader {
		leader = "*"
	}
	doing := u.Agent.Status
	if hook, ok := strings.CutPrefix(u.Agent.Message, "running "); ok && doing == "executing" {
		doing = marks[doing] + " " + strings.TrimSuffix(hook, " hook")
	} else if u.Agent.Message != "" {
		doing += " " + u.Agent.Message
	}
	line := pad(u.Name+leader, name) + " " + s.word(u.Workload.Status, workload) + " " + pad(doing, agent) + " " + oneLine(u.Workload.Message)
	switch {
	case u.Name == s.chosen && s.Colours: // reversed, as wide as the screen
		return "\x1b[7m" + pad(ansi.Strip(line), s.width) + "\x1b[0m"
	case u.Name == s.chosen:
		return ">" + line
	}
	return s.gutter() + line
}

// gutter is what stands before lines where the one that is chosen has a mark before it.
func (s Screen) gutter() string {
	if s.Colours {
		return ""
	}
	return " "
}

func (s Screen) tabs() string {
	names := []string{"Hook runs", "Log", "Timeline"}
	for i, name := range names {
		if pane(i) == s.below {
			names[i] = s.bold("[" + name + "]")
		}
	}
	line := "── " + strings.Join(names, "  ") + " "
	if s.alone && s.chosen != "" {
		line += "of " + s.chosen + " "
	}
	return line + strings.Repeat("─", max(0, s.width-ansi.StringWidth(line)))
}

func (s Screen) foot() string {
	if s.typing {
		return "Filter: " + s.filter + "▏"
	}
	keys := "↑↓ unit  Tab next pane  f only this unit  / filter  q quit"
	if s.below == timePane {
		keys = "↑↓ unit  Tab next pane  + - zoom  / filter  q quit"
	}
	if s.filter != "" {
		keys += "  (filter: " + s.filter + ")"
	}
	return keys
}

// concerns says whether what is below shows something of a unit.
func (s Screen) concerns(unit string) bool { return !s.alone || unit == s.chosen }

// runLines are the newest runs, the newest last.
func (s Screen) runLines() []string {
	var all []page.Run
	for _, r := range s.runs {
		if s.concerns(r.Unit) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b page.Run) int {
		return cmp.Or(cmp.Compare(a.Started, b.Started), cmp.Compare(a.Rev, b.Rev), cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Run, b.Run))
	})
	name, _, _ := s.widths()
	var lines []string
	for _, r := range all[max(0, len(all)-s.rest()):] {
		at := "        "
		if r.Started > 0 {
			at = time.UnixMilli(int64(r.Started)).Format(time.TimeOnly)
		}
		outcome := pad(r.Outcome, 11)
		if s.Colours {
			outcome = render.Paint(colourOf(r.Outcome), outcome)
		}
		took := (time.Duration(r.Took * float64(time.Millisecond))).Round(time.Millisecond)
		lines = append(lines, at+" "+pad(r.Unit, name)+" "+pad(r.Hook, 22)+" "+outcome+" "+pad(took.String(), 7)+" "+oneLine(cmp.Or(r.Message, r.Cause)))
	}
	return lines
}

func colourOf(outcome string) render.Colour {
	switch outcome {
	case "committed":
		return render.Green
	case "failed", "interrupted":
		return render.Red
	}
	return render.Yellow
}

// logLines are the newest lines of the log.
func (s Screen) logLines() []string {
	var lines []string
	for i := len(s.lines) - 1; i >= 0 && len(lines) < s.rest(); i-- {
		e := s.lines[i].Entry
		unit := strings.TrimPrefix(e.Entity, "unit-")
		if s.alone && unit != strings.ReplaceAll(s.chosen, "/", "-") {
			continue
		}
		lines = append(lines, logLine(e))
	}
	slices.Reverse(lines)
	return lines
}

func logLine(e debuglog.Entry) string {
	return e.Time.Local().Format(time.TimeOnly) + " " + pad(e.Level, 7) + " " + e.Module + " " + oneLine(e.Message)
}
