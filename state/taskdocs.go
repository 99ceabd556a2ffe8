package state

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// TaskKind says what a task has its unit, or its machine, do.
type TaskKind string

// The kinds of task.
const (
	ActionTask TaskKind = "action" // an action of the charm's
	ExecTask   TaskKind = "exec"   // commands for a shell
)

// TaskStatus is how far a task has come. Source: docs/spec/uniter-behaviour.md §7.
type TaskStatus string

// The statuses of a task. Pending, running and aborting ones haven't ended, all
// others have, and stay as they are.
const (
	TaskPending   TaskStatus = "pending"
	TaskRunning   TaskStatus = "running"
	TaskAborting  TaskStatus = "aborting" // running, and somebody wants it ended
	TaskCompleted TaskStatus = "completed"
	TaskFailed    TaskStatus = "failed"
	TaskCancelled TaskStatus = "cancelled" // before it ran
	TaskAborted   TaskStatus = "aborted"
	// TaskError is the status of an operation whose tasks were all refused.
	TaskError TaskStatus = "error"
)

// Ended says whether a task with that status will not change any more.
func (s TaskStatus) Ended() bool {
	return s != TaskPending && s != TaskRunning && s != TaskAborting
}

// OperationDoc is what was asked for at once: one task for each unit.
type OperationDoc struct {
	ID      string `json:"id"`
	Summary string `json:"summary"`
	// Tasks are the ids of its tasks; none where Fail says why it was refused.
	Tasks    []string  `json:"tasks,omitempty"`
	Fail     string    `json:"fail,omitempty"`
	Enqueued time.Time `json:"enqueued"`
	By       string    `json:"by,omitempty"` // see Origin
	// Waiting are those that are to be queued still; nil: none.
	Waiting *waitingTasks `json:"waiting,omitempty"`
}

// TaskDoc is the document of a task. Operations and tasks draw their ids from
// one sequence.
type TaskDoc struct {
	ID        string         `json:"id"`
	Operation string         `json:"operation"`
	Unit      model.UnitName `json:"unit"`
	UnitID    string         `json:"unit-id,omitempty"`
	// Machine is whose task it is, where it is no unit's.
	Machine string `json:"machine,omitempty"`
	TaskSpec
	Status TaskStatus `json:"status"`
	// Message says why it failed, or what the action has said of that.
	Message string `json:"message,omitempty"`
	// Results has what action-set was given, and "return-code", "stdout" and
	// "stderr" of what ran.
	Results map[string]any `json:"results,omitempty"`
	Log     []TaskLine     `json:"log,omitempty"`
	// Unlogged counts the lines that the log had no room for.
	Unlogged  int       `json:"unlogged,omitempty"`
	Enqueued  time.Time `json:"enqueued"`
	Started   time.Time `json:"started,omitzero"`
	Completed time.Time `json:"completed,omitzero"`
}

// TaskSpec is what a task is to do.
type TaskSpec struct {
	Kind TaskKind `json:"kind"`
	// Action and Params are those of an action.
	Action string         `json:"action,omitempty"`
	Params map[string]any `json:"params,omitempty"`
	// Command is for a shell. It is run in the context of Relation, if Endpoint,
	// the unit's own one, isn't empty, and of RemoteUnit.
	Command    string           `json:"command,omitempty"`
	Relation   model.RelationID `json:"relation,omitempty"`
	Endpoint   string           `json:"endpoint,omitempty"`
	RemoteUnit model.UnitName   `json:"remote-unit,omitempty"`
	// Timeout bounds the run of commands; 0: nothing does.
	Timeout time.Duration `json:"timeout,omitempty"`
	// In is a workload container of the unit in which commands are run; nil: they
	// are run where the unit's hooks are.
	In *InContainer `json:"in,omitempty"`
}

// InContainer says how commands are run in a workload container.
type InContainer struct {
	Container string `json:"container"`
	// Words are those of one command, which needs no shell; none: Command is a
	// script.
	Words []string `json:"words,omitempty"`
	// User is "USER" or "USER:GROUP", each a name or a number; empty is the
	// container's own.
	User string `json:"user,omitempty"`
	// Environment goes over the container's own.
	Environment map[string]string `json:"environment,omitempty"`
}

// TaskLine is a line that an action has logged for whoever waits for it.
type TaskLine struct {
	Time    time.Time `json:"time"`
	Message string    `json:"message"`
}

// UnmarshalJSON keeps whole numbers whole.
func (t *TaskDoc) UnmarshalJSON(b []byte) error {
	type plain TaskDoc
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode((*plain)(t)); err != nil {
		return errors.Trace(err)
	}
	t.Params, _ = numbers(t.Params).(map[string]any)
	t.Results, _ = numbers(t.Results).(map[string]any)
	return nil
}

// numbers has int64 and float64 in place of each json.Number.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		return f
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	}
	return v
}

// taskRef stands for a task that hasn't ended, where its unit's agent finds it.
type taskRef struct {
	ID         string           `json:"id"`
	Kind       TaskKind         `json:"kind"`
	Action     string           `json:"action,omitempty"`
	Relation   model.RelationID `json:"relation,omitempty"`
	Endpoint   string           `json:"endpoint,omitempty"`
	RemoteUnit model.UnitName   `json:"remote-unit,omitempty"`
	Status     TaskStatus       `json:"status"`
}

// NextTask is the first task of a unit that hasn't ended; the zero value is
// none. What it is to do in full is in its document.
type NextTask struct {
	ID         string
	Kind       TaskKind
	Action     string
	Relation   model.RelationID
	Endpoint   string
	RemoteUnit model.UnitName
	// Begun: an agent has begun to run it.
	Begun bool
}

func operationKey(id string) string { return "operation/" + id }
func taskKey(id string) string      { return "task/" + id }

// tasksOf has the refs of a unit's tasks that haven't ended. A later unit of
// the same name has others.
func tasksOf(unit model.UnitName, id string) string {
	return "task-of/" + string(unit) + "/" + id + "/"
}

// machineTasks has the refs of a machine's tasks that haven't ended.
func machineTasks(machine string) string { return tasksOnMachines + machine + "/" }

const tasksOnMachines = "task-on/"

// taskRefKey sorts a unit's tasks, or a machine's, by their ids.
func taskRefKey(t TaskDoc) string {
	const digits = 12
	below := tasksOf(t.Unit, t.UnitID)
	if t.Machine != "" {
		below = machineTasks(t.Machine)
	}
	return below + strings.Repeat("0", max(0, digits-len(t.ID))) + t.ID
}
