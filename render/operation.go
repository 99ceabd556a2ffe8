package render

import (
	"time"

	"github.com/unitd/unitd/state"
)

// Operation is an operation as people see it.
type Operation struct {
	Summary string          `json:"summary" yaml:"summary"`
	Status  string          `json:"status" yaml:"status"`
	Fail    string          `json:"fail,omitempty" yaml:"fail,omitempty"`
	Timing  Timing          `json:"timing" yaml:"timing"`
	Tasks   map[string]Task `json:"tasks,omitempty" yaml:"tasks,omitempty"`
}

// OperationTimes are when an operation began and ended; zero: it hasn't.
func OperationTimes(o state.Operation) (started, ended time.Time) {
	done := true
	for _, t := range o.Tasks {
		if !t.Started.IsZero() && (started.IsZero() || t.Started.Before(started)) {
			started = t.Started
		}
		if t.Completed.After(ended) {
			ended = t.Completed
		}
		done = done && t.Status.Ended()
	}
	if !done {
		ended = time.Time{}
	}
	return started, ended
}

// OperationOf is the operation for printing.
func OperationOf(o state.Operation) Operation {
	started, ended := OperationTimes(o)
	out := Operation{
		Summary: o.Summary, Status: string(o.Status()), Fail: o.Fail, Tasks: map[string]Task{},
		Timing: Timing{timeText(o.Enqueued), timeText(started), timeText(ended)},
	}
	for _, t := range o.Tasks {
		out.Tasks[t.ID] = TaskOf(t)
	}
	return out
}
