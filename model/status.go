package model

import (
	"time"
)

// Status words, as a person and a charm see them (docs/spec/uniter-behaviour.md §9).
const (
	StatusAllocating  = "allocating"
	StatusExecuting   = "executing"
	StatusIdle        = "idle"
	StatusLost        = "lost"
	StatusRebooting   = "rebooting"
	StatusFailed      = "failed"
	StatusError       = "error"
	StatusMaintenance = "maintenance"
	StatusBlocked     = "blocked"
	StatusWaiting     = "waiting"
	StatusActive      = "active"
	StatusUnknown     = "unknown"
	StatusTerminated  = "terminated"
)

// Status is one reported status of a unit's workload, of its agent, or of an
// application.
type Status struct {
	Status  string         `json:"status"`
	Message string         `json:"message,omitempty"`
	Data    map[string]any `json:"data,omitempty"`
	Since   time.Time      `json:"since"`
}

// CharmStatuses are the words that status-set takes, in the order in which
// its error text lists them.
func CharmStatuses() []string {
	return []string{StatusMaintenance, StatusBlocked, StatusWaiting, StatusActive}
}

// severity orders workload statuses for the derived status of an application
// (docs/spec/cli-juju.md §2.2).
func severity(s string) int {
	switch s {
	case StatusError:
		return 100
	case StatusBlocked:
		return 90
	case StatusMaintenance:
		return 80
	case StatusWaiting:
		return 70
	case StatusActive:
		return 60
	case StatusTerminated:
		return 50
	}
	return 40
}

// DeriveStatus is the status of an application whose leader has set none: the
// most severe of its units' workload statuses, the first of equals; unknown
// where there are no units.
func DeriveStatus(units []Status) Status {
	best := Status{Status: StatusUnknown}
	for _, s := range units {
		if severity(s.Status) > severity(best.Status) || best.Since.IsZero() && s.Status == best.Status {
			best = s
		}
	}
	return best
}
