package render

import (
	"strconv"
	"strings"
	"time"

	"github.com/unitd/unitd/history"
)

// HistoryTable shows hook runs for people, a row each, in lines of a width (see Table).
// There is one at least.
func HistoryTable(runs []history.Entry, colours bool, width int) string {
	rows := [][]Cell{Heads("Unit", "Run", "Hook", "Cause", "Started", "Took", "Outcome")}
	newest := runs[len(runs)-1].Started
	for _, e := range runs {
		rows = append(rows, []Cell{
			{Text: string(e.Unit)}, {Text: strconv.FormatInt(e.Run, 10), Right: true}, {Text: hookOf(e)}, {Text: Harmless(e.Cause())},
			{Text: shortTime(e.Started, newest)}, {Text: took(e), Right: true}, {Text: outcomeOf(e), Colour: outcomeColour(e)},
		})
	}
	t := Table{Colours: colours, Width: width}
	t.Block(rows)
	return t.String()
}

// hookOf is the hook with the remote unit, the notice or the check that it was
// about.
func hookOf(e history.Entry) string {
	return strings.TrimSpace(e.Name + " " + string(e.Hook.RemoteUnit) + Harmless(e.Hook.About()))
}

// outcomeOf says how a run ended: "committed", or "failed: exit status 3".
func outcomeOf(e history.Entry) string {
	switch {
	case e.Missing:
		return "not in the charm"
	case e.Message != "" && e.Outcome == history.Failed:
		return string(e.Outcome) + ": " + Harmless(e.Message)
	}
	return string(e.Outcome)
}

func outcomeColour(e history.Entry) Colour {
	switch e.Outcome {
	case history.Failed, history.Interrupted:
		return BrightRed
	case history.Stopped, history.Skipped, history.Dropped:
		return Yellow
	}
	if e.Missing {
		return Grey
	}
	return Green
}

func took(e history.Entry) string {
	if e.Duration == 0 {
		return "-"
	}
	return roundTime(e.Duration).String()
}

// roundTime leaves of a duration what a person wants to know.
func roundTime(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond)
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

// shortTime is a time of day, with its date where that isn't the day of now.
func shortTime(t, now time.Time) string {
	switch t, now := t.Local(), now.Local(); {
	case t.IsZero():
		return "-"
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		return t.Format(time.TimeOnly)
	}
	return t.Local().Format(time.DateTime)
}
