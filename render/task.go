package render

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// Task is a task as people see it. Source: docs/spec/cli-juju.md §2.3.
type Task struct {
	ID      string         `json:"id" yaml:"id"`
	Status  string         `json:"status" yaml:"status"`
	Message string         `json:"message,omitempty" yaml:"message,omitempty"`
	Results map[string]any `json:"results,omitempty" yaml:"results,omitempty"`
	Log     []string       `json:"log,omitempty" yaml:"log,omitempty"`
	Unit    string         `json:"unit,omitempty" yaml:"unit,omitempty"`
	Machine string         `json:"machine,omitempty" yaml:"machine,omitempty"`
	Action  *TaskAction    `json:"action,omitempty" yaml:"action,omitempty"`
	Timing  Timing         `json:"timing" yaml:"timing"`
}

// TaskAction is what a task was asked to do.
type TaskAction struct {
	Name       string         `json:"name" yaml:"name"`
	Parameters map[string]any `json:"parameters,omitempty" yaml:"parameters,omitempty"`
}

// Timing has the times of a task or of an operation; empty: it hasn't come to that.
type Timing struct {
	Enqueued  string `json:"enqueued,omitempty" yaml:"enqueued,omitempty"`
	Started   string `json:"started,omitempty" yaml:"started,omitempty"`
	Completed string `json:"completed,omitempty" yaml:"completed,omitempty"`
}

// timeText is a time in whole seconds; empty: there is none.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Truncate(time.Second).String()
}

func logText(l state.TaskLine) string { return timeText(l.Time) + " " + l.Message }

// TaskOf is the task for printing.
func TaskOf(t state.TaskDoc) Task {
	out := Task{
		ID: t.ID, Status: string(t.Status), Message: t.Message, Unit: string(t.Unit), Machine: t.Machine, Results: maps.Clone(t.Results),
		Timing: Timing{timeText(t.Enqueued), timeText(t.Started), timeText(t.Completed)},
	}
	for _, key := range []string{"stdout", "stderr"} {
		if s, ok := out.Results[key].(string); ok {
			out.Results[key] = strings.ReplaceAll(s, "\r\n", "\n")
		}
	}
	for _, line := range t.Log {
		out.Log = append(out.Log, logText(line))
	}
	if t.Unlogged > 0 {
		out.Log = append(out.Log, fmt.Sprintf("(%d more lines are in the log of the unit)", t.Unlogged))
	}
	return out
}

// PlainTask is a task's results as a person reads them.
func PlainTask(t state.TaskDoc) (string, error) {
	out := TaskOf(t)
	var b strings.Builder
	if t.Status != state.TaskCompleted {
		what := "Action"
		if t.Kind == state.ExecTask {
			what = "Task"
		}
		fmt.Fprintf(&b, "%s id %s %s", what, t.ID, t.Status)
		if t.Message != "" {
			fmt.Fprintf(&b, ": %s", t.Message)
		}
		b.WriteByte('\n')
	}
	own := maps.Clone(out.Results)
	for _, key := range []string{"return-code", "stdout", "stderr", "stdout-encoding", "stderr-encoding"} {
		delete(own, key)
	}
	if len(own) > 0 {
		text, err := indented(own)
		if err != nil {
			return "", errors.Trace(err)
		}
		b.Write(text)
	}
	for _, key := range []string{"stdout", "stderr"} {
		s, _ := out.Results[key].(string)
		b.WriteString(s)
	}
	return b.String(), nil
}

// TaskLabel is what a task is shown under: its unit, or its machine.
func TaskLabel(t state.TaskDoc) string { return cmp.Or(t.Machine, string(t.Unit)) }
