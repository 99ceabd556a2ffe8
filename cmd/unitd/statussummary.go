package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unitd/unitd/state"
)

// summary is the status in numbers: of machines and units by their status, and
// of applications with how many of their units are active.
func summary(s *state.FullStatus) string {
	t := &table{}
	t.block(counts("# Machines:", len(s.Machines), func(count func(string)) {
		for _, m := range s.Machines {
			count(machineStatus(m).Status)
		}
	}))
	units, open := 0, map[string]bool{}
	apps := [][]cell{{{text: "# Applications:", right: true}, {text: fmt.Sprintf("(%d)", len(s.Applications))}}}
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
		row := []cell{{text: app.Name + ":", right: true}, {text: fmt.Sprintf("%d/%d", active, len(app.Units))}}
		if app.Exposed {
			row = append(row, cell{text: "exposed"})
		}
		apps = append(apps, row)
	}
	t.block(counts("# Units:", units, func(count func(string)) {
		for _, app := range s.Applications {
			for _, u := range app.Units {
				count(u.Workload.Status)
			}
		}
	}))
	t.block(apps)
	if len(open) > 0 {
		t.block([][]cell{{{text: "Ports in use:"}, {text: strings.Join(slices.Sorted(maps.Keys(open)), ", ")}}})
	}
	return t.b.String()
}

// counts are rows of how often each of the words comes that each calls count
// with.
func counts(head string, all int, each func(count func(word string))) [][]cell {
	n := map[string]int{}
	each(func(word string) { n[word]++ })
	rows := [][]cell{{{text: head, right: true}, {text: fmt.Sprintf("(%d)", all)}}}
	for _, word := range slices.Sorted(maps.Keys(n)) {
		rows = append(rows, []cell{{text: word + ":", right: true}, {text: fmt.Sprint(n[word])}})
	}
	return rows
}
