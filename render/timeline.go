package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
)

// The marks of a timeline: what happened in the time of a character, the
// weightiest of it.
const (
	markIdle   = '·'
	markRan    = '█'
	markStop   = '▒'
	markFailed = '!'
)

// Timeline draws when hooks ran, from the first to the end of the last, in
// lines of a width: one for each unit, or for each hook of a single one.
func Timeline(runs []history.Entry, width int, colours bool) string {
	from, to := runs[0].Started, runs[0].Started
	units := map[model.UnitName]bool{}
	for _, e := range runs {
		units[e.Unit] = true
		if e.Started.Before(from) {
			from = e.Started // by a clock that was set since
		}
		if end := e.Started.Add(e.Duration); end.After(to) {
			to = end
		}
	}
	label := func(e history.Entry) string { return string(e.Unit) }
	if len(units) == 1 {
		label = func(e history.Entry) string { return e.Name }
	}
	var labels []string
	lines := map[string][]history.Entry{}
	longest := 0
	for _, e := range runs {
		l := label(e)
		if _, ok := lines[l]; !ok {
			labels = append(labels, l)
			longest = max(longest, len(l))
		}
		lines[l] = append(lines[l], e)
	}
	if len(units) > 1 {
		slices.SortFunc(labels, func(x, y string) int { return model.CompareUnits(model.UnitName(x), model.UnitName(y)) })
	}
	bar := max(10, width-longest-2)
	var b strings.Builder
	for _, l := range labels {
		fmt.Fprintf(&b, "%-*s  ", longest, l)
		writeBar(&b, lines[l], from, to, bar, colours)
	}
	begin, end := shortTime(from, to), shortTime(to, to)
	fmt.Fprintf(&b, "%-*s  %s%s%s\n", longest, "", begin, strings.Repeat(" ", max(1, bar-len(begin)-len(end))), end)
	fmt.Fprintf(&b, "\n%c ran  %c failed or interrupted  %c stopped, skipped or dropped; each %c is %s\n",
		markRan, markFailed, markStop, markIdle, roundTime(max(to.Sub(from)/time.Duration(bar), time.Microsecond)))
	return b.String()
}

// writeBar writes one line of marks. A run is at least one of them.
func writeBar(b *strings.Builder, runs []history.Entry, from, to time.Time, width int, colours bool) {
	marks := slices.Repeat([]rune{markIdle}, width)
	place := func(t time.Time) int {
		span := max(to.Sub(from), 1)
		return min(width-1, int(float64(t.Sub(from))/float64(span)*float64(width)))
	}
	weight := []rune{markIdle, markRan, markStop, markFailed}
	for _, e := range runs {
		mark := markOf(e)
		for i := place(e.Started); i <= place(e.Started.Add(e.Duration)); i++ {
			if slices.Index(weight, mark) > slices.Index(weight, marks[i]) {
				marks[i] = mark
			}
		}
	}
	for len(marks) > 0 {
		n := 1
		for n < len(marks) && marks[n] == marks[0] {
			n++
		}
		text := string(marks[:n])
		if colours {
			text = Paint(map[rune]Colour{markIdle: Grey, markRan: Green, markStop: Yellow, markFailed: BrightRed}[marks[0]], text)
		}
		b.WriteString(text)
		marks = marks[n:]
	}
	b.WriteByte('\n')
}

func markOf(e history.Entry) rune {
	switch e.Outcome {
	case history.Committed:
		return markRan
	case history.Failed, history.Interrupted:
		return markFailed
	}
	return markStop
}
