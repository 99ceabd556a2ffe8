package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/unitd/unitd/page"
	"github.com/unitd/unitd/render"
)

// timeLines draw when hooks of the units around the chosen one ran: from span ago until now.
func (s Screen) timeLines(all []page.Unit) []string {
	name, _, _ := s.widths()
	width := max(10, s.width-name-1)
	now := s.Now()
	step := s.span / time.Duration(width)
	from := now.Add(-step * time.Duration(width))
	ago := fmt.Sprintf("%s ago", s.span)
	lines := []string{strings.Repeat(" ", name+1) + ago + strings.Repeat(" ", max(1, width-len(ago)-3)) + "now"}
	first := min(s.first, max(0, len(all)-s.rest()+1))
	runs := map[string][]page.Run{}
	for _, r := range s.runs {
		runs[r.Unit] = append(runs[r.Unit], r)
	}
	for i := 0; i < s.rest()-1 && first+i < len(all); i++ {
		u := all[first+i]
		cells := make([]string, width) // the outcome of what ran then
		mark := func(start, end time.Time, outcome string) {
			for c := max(0, int(start.Sub(from)/step)); c < width && c <= int(end.Sub(from)/step); c++ {
				if cells[c] == "" || outcome == "failed" {
					cells[c] = outcome
				}
			}
		}
		for _, r := range runs[u.Name] {
			start := time.UnixMicro(int64(r.Started * 1000))
			end := start.Add(time.Duration(r.Took * float64(time.Millisecond)))
			if r.Started > 0 && end.After(from) {
				mark(start, end, r.Outcome)
			}
		}
		if u.Agent.Status == "executing" && u.Agent.Since > 0 {
			mark(time.UnixMilli(u.Agent.Since), now, "running")
		}
		lines = append(lines, pad(u.Name, name)+" "+s.bar(cells))
	}
	return lines
}

// bar draws what ran in each moment of a line.
func (s Screen) bar(cells []string) string {
	var b strings.Builder
	for _, outcome := range cells {
		switch {
		case outcome == "":
			b.WriteString("·")
		case outcome == "running":
			b.WriteString("▒")
		case outcome == "committed" && s.Colours:
			b.WriteString(render.Paint(render.Green, "█"))
		case outcome == "committed":
			b.WriteString("█")
		case s.Colours:
			b.WriteString(render.Paint(colourOf(outcome), "█"))
		default:
			b.WriteString("x")
		}
	}
	return b.String()
}
