package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unitd/unitd/state"
)

// StatusSummary is the status in numbers: of machines and units by their status, and
// of applications with how many of their units are active.
func StatusSummary(s *state.FullStatus) string {
	t := &Table{}
	t.Block(counts("# Machines:", len(s.Machines), func(count func(string)) {
		for _, m := range s.Machines {
			count(MachineStatus(m).Status)
		}
	}))
	units, open := 0, map[string]bool{}
	apps := [][]Cell{{{Text: "# Applications:", Right: true}, {Text: fmt.Sprintf("(%d)", len(s.Applications))}}}
	for _, app := range s.Applications {
		active := 0
		for _, u := range app.Units {
			if u.Workload.Status == "active" {
				active++
			}
			for _, p := range u.Ports.All() {
				open[p.String()] = true
			}
		}
		units += len(app.Units)
		row := []Cell{{Text: app.Name + ":", Right: true}, {Text: fmt.Sprintf("%d/%d", active, len(app.Units))}}
		if app.Exposed {
			row = append(row, Cell{Text: "exposed"})
		}
		apps = append(apps, row)
	}
	t.Block(counts("# Units:", units, func(count func(string)) {
		for _, app := range s.Applications {
			for _, u := range app.Units {
				count(u.Workload.Status)
			}
		}
	}))
	t.Block(apps)
	if len(open) > 0 {
		t.Block([][]Cell{{{Text: "Ports in use:"}, {Text: strings.Join(slices.Sorted(maps.Keys(open)), ", ")}}})
	}
	return t.String()
}

// counts are rows of how often each of the words comes that each calls count
// with.
func counts(head string, all int, each func(count func(word string))) [][]Cell {
	n := map[string]int{}
	each(func(word string) { n[word]++ })
	rows := [][]Cell{{{Text: head, Right: true}, {Text: fmt.Sprintf("(%d)", all)}}}
	for _, word := range slices.Sorted(maps.Keys(n)) {
		rows = append(rows, []Cell{{Text: word + ":", Right: true}, {Text: fmt.Sprint(n[word])}})
	}
	return rows
}
