package state

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// ErrTaskEnded is returned for a task that has ended, or that an agent has begun
// before.
const ErrTaskEnded = errors.ConstError("the task is not waiting any more")

const (
	// maxOutput is how much of an output is kept in a task, in bytes of JSON text.
	maxOutput = 200 << 10
	// maxTaskLog is how much a task's log takes.
	maxTaskLog = 64 << 10
)

// terminated is the message of a task that was cut off.
const terminated = "terminated"

// StartTask says that the unit's agent begins to run a task, and returns it.
// ErrTaskEnded: it is not to be run.
func (m *Model) StartTask(ctx context.Context, unit model.UnitName, id string) (TaskDoc, error) {
	var doc TaskDoc
	gone := false
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		found, err := tx.find(taskKey(id), &doc)
		if err != nil {
			return errors.Trace(err)
		}
		if gone = !found || doc.Status != TaskPending; gone {
			if !found { // nobody would ever take it off
				return tx.delete(taskRefKey(TaskDoc{ID: id, Unit: u.Name, UnitID: u.ID}))
			}
			return nil
		}
		doc.Status, doc.Started = TaskRunning, tx.now()
		return tx.putTask(doc)
	})
	if err == nil && gone {
		err = ErrTaskEnded
	}
	return doc, errors.Trace(err)
}

// TaskCommit is what CommitTask writes.
type TaskCommit struct {
	Unit model.UnitName
	// Run is the number of the task's run, greater than all before it; 0: nobody
	// knows it.
	Run  int64
	Task string
	// Changes, Memory, Boot, At and By are those of HookCommit.
	Changes model.Changes
	Memory  json.RawMessage
	Boot    string
	At      *int64
	By      string
	Outcome model.TaskOutcome
}

// CommitTask writes all that a task changed, its result, and the unit's stamp,
// in one transaction. A run that is stamped already is left as it is, and so is
// a task that has ended. Whether the unit is in error, and how that was
// resolved, it doesn't touch. Errors: those of CommitHook.
func (m *Model) CommitTask(ctx context.Context, c TaskCommit) error {
	stamped := false
	rev, err := m.update(ctx, func(tx *txn) error {
		tx.by = c.By
		u, err := tx.unit(c.Unit)
		stamped = c.Run != 0 && u.Run >= c.Run
		if err != nil || stamped {
			return errors.Trace(err)
		}
		u.Run = max(u.Run, c.Run)
		if len(c.Memory) > 0 {
			u.Memory = c.Memory
		}
		if c.Changes.Reboot != model.NoReboot {
			u.Reboot = c.Boot
		}
		if c.Changes.WorkloadVersion != nil {
			u.WorkloadVersion = *c.Changes.WorkloadVersion
		}
		if err := tx.put(unitKey(u.Name), u); err != nil {
			return errors.Trace(err)
		}
		if err := tx.apply(u, c.Changes); err != nil {
			return errors.Trace(err)
		}
		return tx.endTask(c.Task, c.Outcome)
	})
	if errors.Is(err, store.ErrTooLarge) {
		return errors.NewQuotaLimitExceeded(nil, "the task wrote more than one commit can take")
	}
	if err == nil && !stamped && c.At != nil {
		*c.At = rev
	}
	return errors.Trace(err)
}

// AbortTask ends a task in which an agent was killed, with its run's stamp. It
// is no error if it has ended.
func (m *Model) AbortTask(ctx context.Context, unit model.UnitName, run int64, id string) error {
	return m.CommitTask(ctx, TaskCommit{Unit: unit, Run: run, Task: id, Outcome: model.TaskOutcome{Failed: true, Message: terminated}})
}

// endTask ends a task, unless it has ended.
func (t *txn) endTask(id string, o model.TaskOutcome) error {
	var doc TaskDoc
	found, err := t.find(taskKey(id), &doc)
	if err != nil || !found || doc.Status.Ended() {
		return errors.Trace(err)
	}
	was := doc.Status
	doc.Status, doc.Message, doc.Completed = TaskCompleted, o.Message, t.now()
	switch {
	case o.Failed && was == TaskAborting:
		doc.Status = TaskAborted
	case o.Failed:
		doc.Status = TaskFailed
	}
	doc.Results = maps.Clone(o.Results)
	if doc.Results == nil {
		doc.Results = map[string]any{}
	}
	if o.Ran {
		doc.Results["return-code"] = o.Code
	}
	addOutput(doc.Results, "stdout", o.Stdout, o.StdoutLost)
	addOutput(doc.Results, "stderr", o.Stderr, o.StderrLost)
	return t.putTask(doc)
}

// addOutput adds what a task has printed to its results: as text, or in base64
// where it is none; lost are the bytes before it. Source: docs/spec/cli-juju.md §2.3.
func addOutput(results map[string]any, key, text string, lost int) {
	if text == "" {
		return
	}
	text = cut(text, lost)
	if !utf8.ValidString(text) {
		results[key+"-encoding"] = "base64"
		text = base64.StdEncoding.EncodeToString([]byte(text))
	}
	results[key] = text
}

// cut is the end of a text, where it is larger than a task can keep: of whole
// lines, and of the last one what there is room for. lost are the bytes that were
// before it.
func cut(text string, lost int) string {
	whole := len(text) + lost
	if lost > 0 {
		text = fromRune(text)
	}
	valid := utf8.ValidString(text)
	for {
		b, _ := json.Marshal(text) // of a string there is no error
		if len(b) <= maxOutput {
			break
		}
		text = text[len(text)/4:]
	}
	if len(text) == whole {
		return text
	}
	if _, rest, ok := strings.Cut(text, "\n"); ok && len(rest) >= len(text)/2 {
		text = rest
	}
	if valid {
		text = fromRune(text)
	}
	return fmt.Sprintf("[the first %d bytes are left out]\n%s", whole-len(text), text)
}

// fromRune is a text without the rest of a character that it begins with.
func fromRune(text string) string {
	for range utf8.UTFMax - 1 {
		if text != "" && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	return text
}

// CancelTask cancels a task: one that waits won't be run, one that runs is ended
// by its unit's agent. It returns the task as it then is. NotFound: there is no
// such task; NotValid: it has ended.
func (m *Model) CancelTask(ctx context.Context, id string) (TaskDoc, error) {
	var doc TaskDoc
	_, err := m.update(ctx, func(tx *txn) (err error) {
		if doc, err = tx.taskDoc(id); err != nil {
			return errors.Trace(err)
		}
		switch doc.Status {
		case TaskPending:
			doc.Status, doc.Completed = TaskCancelled, tx.now()
		case TaskRunning:
			doc.Status = TaskAborting
		case TaskAborting:
			return nil
		default:
			return errors.NewNotValid(nil, fmt.Sprintf("task %q has ended already: %s", id, doc.Status))
		}
		return tx.putTask(doc)
	})
	return doc, errors.Trace(err)
}

// LogTask adds a line to the log of a task that runs. What the log has no room
// for is counted only.
func (m *Model) LogTask(ctx context.Context, id, message string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		doc, err := tx.taskDoc(id)
		if err != nil || doc.Status.Ended() {
			return errors.Trace(err)
		}
		size := len(message)
		for _, line := range doc.Log {
			size += len(line.Message) + 64
		}
		if size > maxTaskLog {
			doc.Unlogged++
		} else {
			doc.Log = append(doc.Log, TaskLine{tx.now(), message})
		}
		return tx.put(taskKey(id), doc)
	}, store.Relaxed)
	return errors.Trace(err)
}

// abandonTasks leaves what a unit that goes has still to do to the cleanup
// queue, in which it is ended.
func (t *txn) abandonTasks(u UnitDoc) error {
	refs, err := t.Keys(t.m.prefix()+tasksOf(u.Name, u.ID), "", 1)
	if err != nil || len(refs) == 0 {
		return errors.Trace(err)
	}
	return t.queue(cleanupDoc{Tasks: tasksOf(u.Name, u.ID)})
}

// endTasks ends the tasks whose refs are below a key: their unit is gone.
func (m *Model) endTasks(ctx context.Context, below string) error {
	for done := false; !done; {
		_, err := m.update(ctx, func(tx *txn) error {
			page, err := tx.Page(m.prefix()+below, "", tasksPerTxn)
			if err != nil {
				return errors.Trace(err)
			}
			done = len(page) == 0
			for _, kv := range page {
				var ref taskRef
				if err := json.Unmarshal(kv.Value, &ref); err != nil {
					return errors.Annotatef(err, "document %s", kv.Key)
				}
				if err := tx.endAbandoned(ref); err != nil {
					return errors.Trace(err)
				}
				if err := tx.tx.Delete(kv.Key); err != nil {
					return errors.Trace(err)
				}
			}
			return nil
		})
		if err != nil {
			return errors.Annotate(err, "cannot end the tasks of what is gone")
		}
	}
	return nil
}

// whose says for people what it is that a task is of.
func whose(t TaskDoc) string {
	if t.Machine != "" {
		return "the machine"
	}
	return "the unit"
}

func (t *txn) endAbandoned(ref taskRef) error {
	if ref.Status != TaskPending {
		return t.endTask(ref.ID, model.TaskOutcome{Failed: true, Message: terminated})
	}
	var doc TaskDoc
	found, err := t.find(taskKey(ref.ID), &doc)
	if err != nil || !found || doc.Status.Ended() {
		return errors.Trace(err)
	}
	doc.Status, doc.Message, doc.Completed = TaskCancelled, whose(doc)+" is gone", t.now()
	return t.putTask(doc)
}
