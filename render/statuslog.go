package render

import (
	"time"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// StatusEntry is one status of the log. Source: docs/spec/juju-clients.md §7.2.
type StatusEntry struct {
	Status  string         `json:"status,omitempty" yaml:"status,omitempty"`
	Message string         `json:"message,omitempty" yaml:"message,omitempty"`
	Data    map[string]any `json:"data,omitempty" yaml:"data,omitempty"`
	Since   time.Time      `json:"since,omitzero" yaml:"since,omitempty"`
	Type    string         `json:"type,omitempty" yaml:"type,omitempty"`
}

// StatusLogTable shows statuses for people, in the local time or in UTC.
func StatusLogTable(entries []StatusEntry, utc, colours bool) string {
	rows := [][]Cell{Heads("Time", "Type", "Status", "Message")}
	for _, e := range entries {
		at := e.Since.Local()
		if utc {
			at = e.Since
		}
		rows = append(rows, []Cell{
			{Text: at.Format("02 Jan 2006 15:04:05Z07:00")}, {Text: e.Type}, StatusCell(e.Status), {Text: Harmless(e.Message)},
		})
	}
	t := Table{Colours: colours}
	t.Block(rows)
	return t.String()
}

// MachineLog is what is known of when the host of a machine was there, or, for the kind
// "juju-machine", its agent.
func MachineLog(m state.MachineView, kind string) []StatusEntry {
	up := StatusEntry{Status: "running", Message: "Running", Since: m.Started.UTC(), Type: kind}
	if kind == "juju-machine" {
		now := MachineStatus(m)
		up.Status, up.Message = now.Status, now.Message
	}
	var log []StatusEntry
	if !m.Created.IsZero() {
		log = append(log, StatusEntry{Status: "pending", Since: m.Created.UTC(), Type: kind})
	}
	if !m.Started.IsZero() {
		log = append(log, up)
	}
	return log
}

// ModelLog is what is known of how a model was.
func ModelLog(info state.ModelInfo) []StatusEntry {
	log := []StatusEntry{{Status: "available", Since: info.Created.UTC(), Type: "model"}}
	if info.Life != model.Alive {
		log[0].Status = ModelStatus(info)
	}
	return log
}
