package state

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// waitingTasks are the last tasks of an operation, which are to be queued still.
type waitingTasks struct {
	// Specs are what they are to do, each one once.
	Specs []TaskSpec    `json:"specs"`
	Tasks []waitingTask `json:"tasks"`
}

type waitingTask struct {
	ID      string         `json:"id"`
	Unit    model.UnitName `json:"unit,omitempty"`
	UnitID  string         `json:"unit-id,omitempty"`
	Machine string         `json:"machine,omitempty"`
	Spec    int            `json:"spec"` // which of Specs
}

// UnmarshalJSON keeps whole numbers whole.
func (w *waitingTasks) UnmarshalJSON(b []byte) error {
	type plain waitingTasks
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode((*plain)(w)); err != nil {
		return errors.Trace(err)
	}
	for i := range w.Specs {
		w.Specs[i].Params, _ = numbers(w.Specs[i].Params).(map[string]any)
	}
	return nil
}

// wait has tasks wait to be queued.
func (o *OperationDoc) wait(tasks []TaskDoc) error {
	o.Waiting = nil
	if len(tasks) == 0 {
		return nil
	}
	w := &waitingTasks{}
	known := map[string]int{}
	for _, t := range tasks {
		b, err := model.EncodeJSON(t.TaskSpec)
		if err != nil {
			return errors.Trace(err)
		}
		spec, ok := known[string(b)]
		if !ok {
			spec = len(w.Specs)
			w.Specs, known[string(b)] = append(w.Specs, t.TaskSpec), spec
		}
		w.Tasks = append(w.Tasks, waitingTask{t.ID, t.Unit, t.UnitID, t.Machine, spec})
	}
	o.Waiting = w
	return nil
}

// waiting are the tasks that wait to be queued.
func (o OperationDoc) waiting() (tasks []TaskDoc) {
	if o.Waiting == nil {
		return nil
	}
	for _, w := range o.Waiting.Tasks {
		tasks = append(tasks, TaskDoc{
			ID: w.ID, Operation: o.ID, Unit: w.Unit, UnitID: w.UnitID, Machine: w.Machine,
			TaskSpec: o.Waiting.Specs[w.Spec], Status: TaskPending, Enqueued: o.Enqueued,
		})
	}
	return tasks
}

// enqueueSome writes an operation, and queues the next of its tasks, as many as fit; the
// others go on waiting.
func (t *txn) enqueueSome(op *OperationDoc, tasks []TaskDoc) error {
	n := min(len(tasks), tasksPerTxn)
	for ; ; n-- {
		if err := op.wait(tasks[n:]); err != nil {
			return errors.Trace(err)
		}
		bytes, err := sizeOfDocs(*op, tasks[:n])
		if err != nil {
			return errors.Trace(err)
		}
		if n <= 1 || bytes <= taskBytes {
			break
		}
	}
	if err := t.put(operationKey(op.ID), op); err != nil {
		return errors.Trace(err)
	}
	return t.enqueue(tasks[:n])
}

func sizeOfDocs(op OperationDoc, tasks []TaskDoc) (bytes int, err error) {
	b, err := model.EncodeJSON(op)
	for i := 0; i < len(tasks) && err == nil; i++ {
		bytes += len(b)
		b, err = model.EncodeJSON(tasks[i])
	}
	return bytes + len(b), errors.Trace(err)
}

// enqueueRest queues the tasks of an operation that wait for it.
func (m *Model) enqueueRest(ctx context.Context, id string) error {
	for more := true; more; {
		_, err := m.update(ctx, func(tx *txn) error {
			var op OperationDoc
			found, err := tx.find(operationKey(id), &op)
			if more = found && op.Waiting != nil; err != nil || !more {
				return errors.Trace(err)
			}
			return tx.enqueueSome(&op, op.waiting())
		})
		if err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
