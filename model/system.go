package model

import (
	"fmt"
	"slices"
	"strings"
)

// The states of a system that the agent acts on; systemd has more, see systemctl(1),
// is-system-running.
const (
	SystemRunning  = "running"
	SystemDegraded = "degraded" // units of systemd have failed
)

// System is what the systemd of a unit's machine says of it. The zero value is that it has
// none, or says nothing.
type System struct {
	// State is one of systemd's words for it.
	State string `json:"state,omitempty"`
	// Failed are the units of systemd that have failed, sorted: "nginx.service".
	Failed []string `json:"failed,omitempty"`
}

// Equal says whether both say the same.
func (s System) Equal(other System) bool {
	return s.State == other.State && slices.Equal(s.Failed, other.Failed)
}

// mostFailed is how many failed units of systemd a line names.
const mostFailed = 3

// String is "running", "degraded: nginx.service failed", or empty.
func (s System) String() string {
	if len(s.Failed) == 0 {
		return s.State
	}
	return s.State + ": " + NameFailed(s.Failed)
}

// NameFailed is "a.service failed", "a.service and b.service failed"; of many, the first.
func NameFailed(failed []string) string {
	named, more := failed, ""
	if len(failed) > mostFailed {
		named, more = failed[:mostFailed], fmt.Sprintf(" and %d more failed", len(failed)-mostFailed)
	}
	if more != "" {
		return strings.Join(named, ", ") + more
	}
	last := len(named) - 1
	if last == 0 {
		return named[0] + " failed"
	}
	return strings.Join(named[:last], ", ") + " and " + named[last] + " failed"
}
