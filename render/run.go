package render

import (
	"strconv"
	"strings"
	"time"

	"github.com/unitd/unitd/history"
)

// RunText is all that is known of a run, for people, with the lines that it has
// logged.
func RunText(e history.Entry, lines []string) string {
	var t Table
	rows := [][]Cell{}
	for _, line := range []struct{ name, value string }{
		{"Unit", string(e.Unit)}, {"Run", strconv.FormatInt(e.Run, 10)}, {"Hook", hookOf(e)}, {"Cause", Harmless(e.Cause())},
		{"Started", timeOrDash(e.Started)}, {"Took", took(e)}, {"Outcome", outcomeOf(e)}, {"Exit code", strconv.Itoa(e.Exit)},
		{"Debugged", map[bool]string{true: "by a person, in the place of the agent"}[e.Debugged]}, {"Wrote", e.Written.String()},
	} {
		if line.value != "" {
			rows = append(rows, []Cell{{Text: line.name + ":"}, {Text: line.value}})
		}
	}
	t.Block(rows)
	if len(e.Calls) > 0 {
		rows := [][]Cell{{{Text: "At", Right: true}, {Text: "Took", Right: true}, {Text: "Exit", Right: true}, {Text: "Hook tool"}}}
		for _, c := range e.Calls {
			rows = append(rows, []Cell{
				{Text: "+" + roundTime(c.At).String(), Right: true}, {Text: roundTime(c.Took).String(), Right: true},
				{Text: strconv.Itoa(c.Code), Right: true}, {Text: Harmless(c.String())},
			})
		}
		t.Block(rows)
	}
	if more := e.Tools - len(e.Calls); more > 0 {
		t.Printf("\n%d more hook tool calls.\n", more)
	}
	if len(lines) > 0 {
		t.Printf("\n%s\n", strings.Join(lines, "\n"))
	}
	return t.String()
}

func timeOrDash(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// RunTree is a run as json and yaml have it; times are in milliseconds.
func RunTree(e history.Entry, calls bool) Tree {
	t := Tree{
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
	if !e.Written.IsZero() {
		t["written"] = Tree{"databags": e.Written.Databags, "leader": e.Written.Leader, "state": e.Written.State, "ports": e.Written.Ports}
	}
	if calls {
		list := []Tree{}
		for _, c := range e.Calls {
			list = append(list, Tree{"call": c.String(), "at": ms(c.At), "took": ms(c.Took), "exit": c.Code})
		}
		t["calls"] = list
	}
	return t
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
