package render

import (
	"time"
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
