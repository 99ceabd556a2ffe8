package state

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// MachineTask is a task of a machine that hasn't ended.
type MachineTask struct {
	ID, Machine string
	// Begun: an agent has begun to run it. Aborting: somebody wants it ended.
	Begun, Aborting bool
}

// MachineTasks are the tasks of machines that haven't ended, those of one
// machine in the order in which they are to run; machine is its id, or empty:
// those of all.
func (m *Model) MachineTasks(ctx context.Context, machine string) ([]MachineTask, error) {
	below := tasksOnMachines
	if machine != "" {
		below = machineTasks(machine)
	}
	var tasks []MachineTask
	_, err := m.view(ctx, func(r docs) error {
		tasks = nil
		kvs, err := r.List(m.prefix() + below)
		if err != nil {
			return errors.Trace(err)
		}
		for _, kv := range kvs {
			var ref taskRef
			if err := json.Unmarshal(kv.Value, &ref); err != nil {
				return errors.Annotatef(err, "document %s", kv.Key)
			}
			on, _, _ := strings.Cut(kv.Key[len(m.prefix()+tasksOnMachines):], "/")
			tasks = append(tasks, MachineTask{ID: ref.ID, Machine: on, Begun: ref.Status != TaskPending, Aborting: ref.Status == TaskAborting})
		}
		return nil
	})
	return tasks, errors.Trace(err)
}

// StartMachineTask says that the machine's agent begins to run a task, and
// returns it. ErrTaskEnded: it is not to be run.
func (m *Model) StartMachineTask(ctx context.Context, t MachineTask) (TaskDoc, error) {
	var doc TaskDoc
	gone := false
	_, err := m.update(ctx, func(tx *txn) error {
		found, err := tx.find(taskKey(t.ID), &doc)
		if err != nil {
			return errors.Trace(err)
		}
		if gone = !found || doc.Status != TaskPending; gone {
			if !found { // nobody would ever take it off
				return tx.delete(taskRefKey(TaskDoc{ID: t.ID, Machine: t.Machine}))
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

// EndMachineTask ends a machine's task. It is no error if it has ended.
func (m *Model) EndMachineTask(ctx context.Context, id string, o model.TaskOutcome) error {
	_, err := m.update(ctx, func(tx *txn) error { return tx.endTask(id, o) })
	return errors.Trace(err)
}

// AbortMachineTask ends a task in which an agent was killed.
func (m *Model) AbortMachineTask(ctx context.Context, id string) error {
	return m.EndMachineTask(ctx, id, model.TaskOutcome{Failed: true, Message: terminated})
}
