package state

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

const (
	// maxTaskSpec is how large the parameters of an action may be as JSON text,
	// in bytes. A command is one argument of a process, for which systems have
	// a limit: Linux's is 128 KiB.
	maxTaskSpec    = 200 << 10
	maxTaskCommand = 100 << 10
	// tasksPerTxn is how many tasks one transaction makes: each is two documents,
	// and takes the place of an old one. taskBytes is how large their documents and
	// the operation's may be together.
	tasksPerTxn = 25
	taskBytes   = store.MaxBytes - 128<<10
	// keptTasks is how many operations and tasks are kept, the newest ones.
	keptTasks = 2000
)

// TaskRequest asks for a task of a unit, of an application's leader, or of a
// machine.
type TaskRequest struct {
	// Machine is the id of a machine, on which commands are to run outside of any
	// unit; else empty.
	Machine string
	// Unit is the unit's name, "shop/0", or "shop/leader".
	Unit string
	// AnyRemote takes RemoteUnit as it is, be it in the relation or not.
	AnyRemote bool
	TaskSpec
}

// Enqueue asks for tasks, as one operation. Either all of them are queued, or,
// where one of them can't be, none, and the operation's Fail says why. Those that
// don't fit into one transaction are queued by RunCleanups, if not by Enqueue. Tasks are
// in the order of the requests, and run in the order of their ids.
func (m *Model) Enqueue(ctx context.Context, summary string, requests []TaskRequest) (OperationDoc, []TaskDoc, error) {
	var op OperationDoc
	var tasks []TaskDoc
	_, err := m.update(ctx, func(tx *txn) error {
		first, err := tx.draw("task", 1+len(requests))
		if err != nil {
			return errors.Trace(err)
		}
		op = OperationDoc{ID: strconv.Itoa(first), Summary: summary, Enqueued: tx.now(), By: tx.by}
		tasks = nil
		var refused []string
		for i, r := range requests {
			t, err := tx.task(r)
			switch {
			case errors.Is(err, errors.NotFound) || errors.Is(err, errors.NotValid):
				refused = append(refused, err.Error())
				continue
			case err != nil:
				return errors.Trace(err)
			}
			t.ID, t.Operation, t.Status, t.Enqueued = strconv.Itoa(first+1+i), op.ID, TaskPending, op.Enqueued
			tasks = append(tasks, t)
			op.Tasks = append(op.Tasks, t.ID)
		}
		if len(refused) > 0 {
			op.Fail, op.Tasks, tasks = strings.Join(slices.Compact(refused), "\n"), nil, nil
		}
		if err := tx.enqueueSome(&op, tasks); err != nil || op.Waiting == nil {
			return errors.Trace(err)
		}
		// Whoever is cut off after this leaves the rest to the agent.
		return tx.queue(cleanupDoc{Operation: op.ID})
	})
	if errors.Is(err, store.ErrTooLarge) {
		err = errors.NewQuotaLimitExceeded(nil, "what the tasks are to do is more than one operation can take")
	}
	if err != nil {
		return op, nil, errors.Trace(err)
	}
	if op.Waiting == nil {
		return op, tasks, nil
	}
	op.Waiting = nil
	return op, tasks, errors.Annotatef(m.enqueueRest(ctx, op.ID), "an agent queues the other tasks of operation %s", op.ID)
}

// draw draws several numbers of a sequence, from 1, and returns the first.
func (t *txn) draw(name string, count int) (int, error) {
	n := 0
	if _, err := t.find(sequenceKey(name), &n); err != nil {
		return 0, errors.Trace(err)
	}
	return n + 1, t.put(sequenceKey(name), n+count)
}

func (t *txn) enqueue(tasks []TaskDoc) error {
	for _, doc := range tasks {
		// Whose it is may have gone since the operation was made.
		if !t.takesTask(doc) {
			doc.Status, doc.Completed = TaskCancelled, t.now()
		}
		if err := t.putTask(doc); err != nil {
			return errors.Trace(err)
		}
		if err := t.dropOld(doc.ID); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// takesTask says whether there still is whose the task is to be.
func (d docs) takesTask(doc TaskDoc) bool {
	if doc.Machine != "" {
		m, err := d.machine(doc.Machine)
		return err == nil && m.Life != model.Dead
	}
	u, err := d.unit(doc.Unit)
	return err == nil && u.ID == doc.UnitID && u.Life != model.Dead
}

// dropOld drops the operation or task that is too old to be kept.
func (t *txn) dropOld(id string) error {
	n, err := strconv.Atoi(id)
	if err != nil || n <= keptTasks {
		return errors.Trace(err)
	}
	old := strconv.Itoa(n - keptTasks)
	var doc TaskDoc
	found, err := t.find(taskKey(old), &doc)
	switch {
	case err != nil:
		return errors.Trace(err)
	case found && doc.Status.Ended():
		return t.delete(taskKey(old))
	case found:
		return nil
	}
	var op OperationDoc
	if _, err := t.find(operationKey(old), &op); err != nil || op.Waiting != nil {
		return errors.Trace(err)
	}
	return t.delete(operationKey(old))
}

// putTask writes a task, and whether its unit's agent finds it.
func (t *txn) putTask(doc TaskDoc) error {
	if err := t.put(taskKey(doc.ID), doc); err != nil {
		return errors.Trace(err)
	}
	if doc.Status.Ended() {
		return t.delete(taskRefKey(doc))
	}
	return t.put(taskRefKey(doc), taskRef{
		ID: doc.ID, Kind: doc.Kind, Action: doc.Action,
		Relation: doc.Relation, Endpoint: doc.Endpoint, RemoteUnit: doc.RemoteUnit, Status: doc.Status,
	})
}

// task is the task that a request asks for. NotFound and NotValid say why there
// can't be such a one.
func (d docs) task(r TaskRequest) (TaskDoc, error) {
	if r.Machine != "" {
		return d.machineTask(r)
	}
	name, err := d.leaderOr(r.Unit)
	if err != nil {
		return TaskDoc{}, errors.Trace(err)
	}
	u, err := d.unit(name)
	if err != nil {
		return TaskDoc{}, errors.Trace(err)
	}
	if u.Life == model.Dead {
		return TaskDoc{}, errors.NewNotFound(nil, fmt.Sprintf("unit %q not found", name))
	}
	t := TaskDoc{Unit: u.Name, UnitID: u.ID, TaskSpec: r.TaskSpec}
	if t.Kind == ExecTask {
		return t, errors.Trace(d.checkExec(u, &t.TaskSpec, r.AnyRemote))
	}
	return t, errors.Trace(d.checkAction(u, &t.TaskSpec))
}

// machineTask is task for a machine.
func (d docs) machineTask(r TaskRequest) (TaskDoc, error) {
	t := TaskDoc{Machine: r.Machine, TaskSpec: r.TaskSpec}
	m, err := d.seenMachine(r.Machine)
	if err == nil && m.Life == model.Dead {
		err = errors.NewNotFound(nil, fmt.Sprintf("machine %q not found", r.Machine))
	}
	if err != nil {
		return t, errors.Trace(err)
	}
	if t.Kind != ExecTask {
		return t, errors.NewNotValid(nil, fmt.Sprintf("machine %s has no actions", r.Machine))
	}
	return t, errors.Trace(checkCommand(t.TaskSpec))
}

// leaderOr is a unit's name, where "shop/leader" is that of shop's leader.
func (d docs) leaderOr(unit string) (model.UnitName, error) {
	app, ok := strings.CutSuffix(unit, "/leader")
	if !ok {
		return model.UnitName(unit), nil
	}
	leader, err := d.leader(app)
	if err == nil && leader.Unit == "" {
		err = errors.NewNotFound(nil, fmt.Sprintf("could not determine leader for %q", app))
	}
	return leader.Unit, errors.Trace(err)
}

// checkAction fills in the defaults of an action's parameters.
func (d docs) checkAction(u UnitDoc, t *TaskSpec) error {
	app, err := d.application(u.Name.Application())
	if err != nil {
		return errors.Trace(err)
	}
	charm, err := d.charm(app.Charm)
	if err != nil {
		return errors.Trace(err)
	}
	spec, ok := charm.Charm.Actions[t.Action]
	switch {
	case len(charm.Charm.Actions) == 0:
		return errors.NewNotFound(nil, fmt.Sprintf("no actions defined on charm %q", charm.URL))
	case !ok:
		return errors.NewNotFound(nil, fmt.Sprintf("action %q not defined on unit %q", t.Action, u.Name))
	}
	if t.Params, err = checkParams(spec.Params, t.Params); err != nil {
		return errors.NewNotValid(nil, "validation failed: "+err.Error())
	}
	b, err := json.Marshal(t.Params)
	if err == nil && len(b) > maxTaskSpec {
		err = errors.NewNotValid(nil, fmt.Sprintf("validation failed: parameters of more than %d bytes", maxTaskSpec))
	}
	return errors.Trace(err)
}
