package state

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Task reads a task; errors.NotFound if there is none.
func (m *Model) Task(ctx context.Context, id string) (TaskDoc, error) {
	var doc TaskDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		doc, err = r.taskDoc(id)
		return errors.Trace(err)
	})
	return doc, errors.Trace(err)
}

func (d docs) taskDoc(id string) (TaskDoc, error) {
	var doc TaskDoc
	err := d.get(taskKey(id), &doc)
	return doc, named(err, "task", id)
}

// Operation is an operation with its tasks, as far as they are kept.
type Operation struct {
	OperationDoc
	Tasks []TaskDoc
}

// Status is that of the operation as a whole: the first of these that one of
// its tasks has.
func (o Operation) Status() TaskStatus {
	if o.Fail != "" {
		return TaskError
	}
	for _, s := range []TaskStatus{TaskAborting, TaskRunning, TaskPending, TaskFailed, TaskAborted, TaskCancelled} {
		if slices.ContainsFunc(o.Tasks, func(t TaskDoc) bool { return t.Status == s }) {
			if s == TaskPending && slices.ContainsFunc(o.Tasks, func(t TaskDoc) bool { return t.Status.Ended() }) {
				return TaskRunning
			}
			return s
		}
	}
	return TaskCompleted
}

// Operation reads an operation; errors.NotFound if there is none.
func (m *Model) Operation(ctx context.Context, id string) (Operation, error) {
	var o Operation
	_, err := m.view(ctx, func(r docs) error {
		o = Operation{}
		if err := r.get(operationKey(id), &o.OperationDoc); err != nil {
			return named(err, "operation", id)
		}
		return errors.Trace(r.addTasks(&o))
	})
	return o, errors.Trace(err)
}

func (d docs) addTasks(o *Operation) error {
	waiting := o.waiting()
	queued := o.OperationDoc.Tasks[:len(o.OperationDoc.Tasks)-len(waiting)]
	for _, id := range queued {
		var doc TaskDoc
		found, err := d.find(taskKey(id), &doc)
		if err != nil {
			return errors.Trace(err)
		}
		if found {
			o.Tasks = append(o.Tasks, doc)
		}
	}
	o.Tasks = append(o.Tasks, waiting...)
	return nil
}

// Operations are all that are kept, oldest first.
func (m *Model) Operations(ctx context.Context) ([]Operation, error) {
	var all []Operation
	_, err := m.view(ctx, func(r docs) error {
		all = nil
		ops, err := list[OperationDoc](r, "operation/")
		if err != nil {
			return errors.Trace(err)
		}
		slices.SortFunc(ops, func(a, b OperationDoc) int { return compareIDs(a.ID, b.ID) })
		for _, doc := range ops {
			o := Operation{OperationDoc: doc}
			if err := r.addTasks(&o); err != nil {
				return errors.Trace(err)
			}
			all = append(all, o)
		}
		return nil
	})
	return all, errors.Trace(err)
}

// nextTask is the first task of a unit that hasn't ended.
func (d docs) nextTask(u UnitDoc) (NextTask, error) {
	page, err := d.Page(d.m.prefix()+tasksOf(u.Name, u.ID), "", 1)
	if err != nil || len(page) == 0 {
		return NextTask{}, errors.Trace(err)
	}
	var ref taskRef
	if err := json.Unmarshal(page[0].Value, &ref); err != nil {
		return NextTask{}, errors.Annotatef(err, "document %s", page[0].Key)
	}
	return NextTask{
		ID: ref.ID, Kind: ref.Kind, Action: ref.Action, Relation: ref.Relation,
		Endpoint: ref.Endpoint, RemoteUnit: ref.RemoteUnit, Begun: ref.Status != TaskPending,
	}, nil
}

// checkCommand checks a command as such.
func checkCommand(t TaskSpec) error {
	switch {
	case t.Command == "":
		return errors.NewNotValid(nil, "no commands specified")
	case len(t.Command) > maxTaskCommand:
		return errors.NewNotValid(nil, fmt.Sprintf("commands of more than %d bytes", maxTaskCommand))
	}
	return nil
}

// checkExec checks a command and the relation that it is to be run in the
// context of, and finds out which remote unit is meant where there is but one.
// Source: docs/spec/hook-tools.md §8.
func (d docs) checkExec(u UnitDoc, t *TaskSpec, anyRemote bool) error {
	if err := checkCommand(*t); err != nil {
		return err
	}
	switch {
	case t.Relation == model.NoRelation && t.RemoteUnit != "":
		return errors.NewNotValid(nil, fmt.Sprintf("remote unit: %s, provided without a relation", t.RemoteUnit))
	case t.Relation == model.NoRelation:
		return nil
	}
	rel, err := d.relation(t.Relation)
	own, _, ours := rel.Endpoint(u.Name.Application())
	if errors.Is(err, errors.NotFound) || err == nil && !ours {
		return errors.NewNotFound(nil, fmt.Sprintf("unknown relation id: %d", t.Relation))
	}
	if err != nil {
		return errors.Trace(err)
	}
	t.Endpoint = own.Name
	if anyRemote {
		return nil
	}
	now, err := d.scope(rel, u, scope{})
	if err != nil {
		return errors.Trace(err)
	}
	names := now.members.Units()
	switch {
	case t.RemoteUnit != "" && !slices.Contains(names, t.RemoteUnit):
		return errors.NewNotFound(nil, fmt.Sprintf("unknown remote unit %s; possibilities are %v", t.RemoteUnit, names))
	case t.RemoteUnit != "":
	case len(names) == 0:
		return errors.NewNotFound(nil, fmt.Sprintf("cannot infer remote unit in empty relation %d", t.Relation))
	case len(names) > 1:
		return errors.NewNotValid(nil, fmt.Sprintf("ambiguous remote unit; possibilities are %v", names))
	default:
		t.RemoteUnit = names[0]
	}
	return nil
}
