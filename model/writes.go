package model

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

const (
	// writesMost is how many writes of one run are told of.
	writesMost = 100
	// valueMost is how many bytes of a value are told of, with its key.
	valueMost = 80
)

// Writes says in a line each what a unit's hook wrote, for people: databag keys
// by relation and by unit or application, ports, the charm's state, leader
// settings. relation names a relation, as "db:1". A value that is long is given
// by its size, and of a great many writes only the first are told of.
func (c Changes) Writes(unit UnitName, relation func(RelationID) string) []string {
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(c.Relations)) {
		change := c.Relations[id]
		lines = append(lines, settingLines(relation(id)+" "+string(unit), change.Unit)...)
		lines = append(lines, settingLines(relation(id)+" "+unit.Application(), change.Application)...)
	}
	lines = append(lines, settingLines("leader-settings", c.LeaderSettings)...)
	for _, k := range slices.Sorted(maps.Keys(c.State)) {
		if v := c.State[k]; v != nil {
			lines = append(lines, "state "+shown(k)+"="+shown(*v))
		} else {
			lines = append(lines, "state "+shown(k)+" deleted")
		}
	}
	for _, p := range c.Ports {
		what := "opened"
		if p.Close {
			what = "closed"
		}
		if p.Endpoint != "" {
			what += " for " + p.Endpoint
		}
		lines = append(lines, "port "+p.Range.String()+" "+what)
	}
	if c.WorkloadVersion != nil {
		lines = append(lines, "workload-version="+shown(*c.WorkloadVersion))
	}
	if c.Reboot != NoReboot {
		lines = append(lines, "reboot "+string(c.Reboot))
	}
	if c.Requeue != nil {
		lines = append(lines, "run again "+shown(c.Requeue.Reason))
	}
	if more := len(lines) - writesMost; more > 0 {
		lines = append(lines[:writesMost], fmt.Sprintf("and %d more", more))
	}
	return lines
}

// settingLines are the lines of a change of settings, where an empty value
// deletes its key.
func settingLines(of string, change Settings) []string {
	var lines []string
	for _, k := range change.Keys() {
		if v := change[k]; v != "" {
			lines = append(lines, of+" "+shown(k)+"="+shown(v))
		} else {
			lines = append(lines, of+" "+shown(k)+" deleted")
		}
	}
	return lines
}

// shown is a key or a value in a line: as it is if it can be, else quoted; of a long one
// its size.
func shown(v string) string {
	if len(v) > valueMost {
		return fmt.Sprintf("(%d bytes)", len(v))
	}
	if quoted := strconv.Quote(v); v == "" || quoted != `"`+v+`"` {
		return quoted
	}
	return v
}
