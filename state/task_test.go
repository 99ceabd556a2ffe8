package state_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// ask asks for commands on units, as one operation.
func (w *world) ask(units ...string) []state.TaskDoc {
	w.Helper()
	requests := make([]state.TaskRequest, len(units))
	for i, u := range units {
		requests[i] = state.TaskRequest{Unit: u, TaskSpec: state.TaskSpec{Kind: state.ExecTask, Command: "true", Relation: model.NoRelation}}
	}
	op, tasks, err := w.Enqueue(w.ctx, "test", requests)
	w.ok(err)
	if op.Fail != "" || len(tasks) != len(units) {
		w.Fatalf("got %+v, %d tasks", op, len(tasks))
	}
	return tasks
}

func (w *world) taskStatus(id string) state.TaskStatus {
	w.Helper()
	t, err := w.Task(w.ctx, id)
	w.ok(err)
	return t.Status
}

// next is the id of the first task of mysql/0 that hasn't ended, with a star if
// it has begun.
func (w *world) next() string {
	w.Helper()
	s, err := w.Snapshot(w.ctx, "mysql/0")
	w.ok(err)
	if s.Task.Begun {
		return s.Task.ID + "*"
	}
	return s.Task.ID
}

func TestOperationsAndTasksShareTheirNumbersAndComeInOrder(t *testing.T) {
	t.Parallel()
	w, _ := pair(t)
	for i := range 11 {
		tasks := w.ask("mysql/0", "mysql/leader")
		if want := fmt.Sprint(3*i + 1); tasks[0].Operation != want || tasks[0].ID != fmt.Sprint(3*i+2) || tasks[1].ID != fmt.Sprint(3*i+3) || tasks[1].Unit != "mysql/0" {
			t.Fatalf("operation %s: %+v", want, tasks)
		}
	}
	// By number, not as text: 2 before 11.
	run := int64(0)
	for i := range 11 {
		for _, id := range []string{fmt.Sprint(3*i + 2), fmt.Sprint(3*i + 3)} {
			if got := w.next(); got != id {
				t.Fatalf("next is %s, want %s", got, id)
			}
			_, err := w.StartTask(w.ctx, "mysql/0", id)
			w.ok(err)
			if got := w.next(); got != id+"*" {
				t.Fatalf("next is %s, want %s*", got, id)
			}
			run++
			w.ok(w.CommitTask(w.ctx, state.TaskCommit{Unit: "mysql/0", Run: run, Task: id}))
		}
	}
	if got := w.next(); got != "" {
		t.Errorf("%s is left", got)
	}
	all, err := w.Operations(w.ctx)
	w.ok(err)
	if len(all) != 11 || all[10].ID != "31" || all[10].Status() != state.TaskCompleted {
		t.Errorf("got %+v", all)
	}
}

func TestAnOperationIsQueuedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	w, _ := pair(t)
	spec := state.TaskSpec{Kind: state.ExecTask, Command: "true", Relation: model.NoRelation}
	op, tasks, err := w.Enqueue(w.ctx, "test", []state.TaskRequest{{Unit: "mysql/0", TaskSpec: spec}, {Unit: "mysql/7", TaskSpec: spec}})
	w.ok(err)
	if op.Fail != `unit "mysql/7" not found` || len(tasks)+len(op.Tasks) > 0 || w.next() != "" {
		t.Errorf("got %+v %+v, next %s", op, tasks, w.next())
	}
	o, err := w.Operation(w.ctx, op.ID)
	w.ok(err)
	if o.Status() != state.TaskError {
		t.Errorf("the operation's status is %s", o.Status())
	}
}

func TestATaskEndsOnceWithOneCommit(t *testing.T) {
	t.Parallel()
	w, rel := pair(t)
	w.ok(w.Tell(w.ctx, "mysql/0", state.Report{Failed: &state.FailureDoc{Run: 4}}))
	w.ok(w.Resolve(w.ctx, "mysql/0", true))
	id := w.ask("mysql/0")[0].ID
	_, err := w.StartTask(w.ctx, "mysql/0", id)
	w.ok(err)
	if _, err := w.StartTask(w.ctx, "mysql/0", id); !errors.Is(err, state.ErrTaskEnded) {
		t.Errorf("begun a second time: %v", err)
	}
	commit := state.TaskCommit{Unit: "mysql/0", Run: 5, Task: id, Changes: model.Changes{
		Relations: map[model.RelationID]model.RelationChange{rel: {Unit: model.Settings{"k": "v"}}},
	}, Outcome: model.TaskOutcome{Code: 3, Ran: true, Stdout: "out\n", Results: map[string]any{"a": map[string]any{"b": "1"}}}}
	w.ok(w.CommitTask(w.ctx, commit))
	u, err := w.Unit(w.ctx, "mysql/0")
	w.ok(err)
	if u.Run != 5 || u.Failed != 4 || u.Resolved != (state.Resolved{Run: 4, Mode: "retry"}) {
		t.Errorf("the unit: run %d, failed %d, resolved %+v", u.Run, u.Failed, u.Resolved)
	}
	settings, err := w.Settings(w.ctx, rel, "mysql/0")
	w.ok(err)
	if settings["k"] != "v" {
		t.Errorf("settings %v", settings)
	}
	done, err := w.Task(w.ctx, id)
	w.ok(err)
	want := map[string]any{"a": map[string]any{"b": "1"}, "return-code": int64(3), "stdout": "out\n"}
	if done.Status != state.TaskCompleted || !reflect.DeepEqual(done.Results, want) {
		t.Errorf("got %s %v", done.Status, done.Results)
	}
	// The same again, and its abortion, change nothing.
	commit.Outcome = model.TaskOutcome{Failed: true, Message: "again"}
	w.ok(w.CommitTask(w.ctx, commit))
	w.ok(w.AbortTask(w.ctx, "mysql/0", 6, id))
	if again, err := w.Task(w.ctx, id); err != nil || !reflect.DeepEqual(again, done) {
		t.Errorf("it has ended again: %+v %v", again, err)
	}
	if _, err := w.CancelTask(w.ctx, id); !errors.Is(err, errors.NotValid) {
		t.Errorf("cancelled: %v", err)
	}
	_, err = w.CancelTask(w.ctx, "99")
	w.fails(err, `task "99" not found`)
}

func TestATaskWhoseWritesAreRefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	w, rel := pair(t)
	id := w.ask("mysql/1")[0].ID
	_, err := w.StartTask(w.ctx, "mysql/1", id)
	w.ok(err)
	err = w.CommitTask(w.ctx, state.TaskCommit{Unit: "mysql/1", Run: 1, Task: id, Changes: model.Changes{
		Relations: map[model.RelationID]model.RelationChange{rel: {Application: model.Settings{"k": "v"}}},
	}})
	if u, uerr := w.Unit(w.ctx, "mysql/1"); !errors.Is(err, state.ErrNotLeader) || uerr != nil || u.Run != 0 || w.taskStatus(id) != state.TaskRunning {
		t.Errorf("%v, run %d, %s", err, u.Run, w.taskStatus(id))
	}
}

func TestCancelledTasksAndThoseOfAUnitThatIsGone(t *testing.T) {
	t.Parallel()
	w, _ := pair(t)
	var ids []string
	for range 60 {
		ids = append(ids, w.ask("mysql/0")[0].ID)
	}
	for _, id := range ids[:2] {
		_, err := w.StartTask(w.ctx, "mysql/0", id)
		w.ok(err)
	}
	for _, id := range ids[1:3] {
		_, err := w.CancelTask(w.ctx, id)
		w.ok(err)
	}
	if _, err := w.StartTask(w.ctx, "mysql/0", ids[2]); !errors.Is(err, state.ErrTaskEnded) {
		t.Errorf("a cancelled one begins: %v", err)
	}
	w.ok(w.ForceRemoveUnit(w.ctx, "mysql/0"))
	w.ok(w.RunCleanups(w.ctx))
	for i, want := range []state.TaskStatus{state.TaskFailed, state.TaskAborted, state.TaskCancelled, state.TaskCancelled} {
		if got := w.taskStatus(ids[i]); got != want {
			t.Errorf("task %d is %s, want %s", i, got, want)
		}
	}
	if got := w.taskStatus(ids[59]); got != state.TaskCancelled {
		t.Errorf("the last one is %s", got)
	}
	keys := 0
	_, err := w.store.View(w.ctx, func(r store.Reader) error {
		kvs, err := r.List("m/" + w.UUID() + "/task-of/")
		keys = len(kvs)
		return err
	})
	w.ok(err)
	if keys != 0 {
		t.Errorf("%d refs are left", keys)
	}
}

func TestTheLogOfATaskHasAnEnd(t *testing.T) {
	t.Parallel()
	w, _ := pair(t)
	id := w.ask("mysql/0")[0].ID
	_, err := w.StartTask(w.ctx, "mysql/0", id)
	w.ok(err)
	for range 3 {
		w.ok(w.LogTask(w.ctx, id, strings.Repeat("x", 30_000)))
	}
	task, err := w.Task(w.ctx, id)
	w.ok(err)
	if len(task.Log) != 2 || task.Unlogged != 1 || !task.Log[0].Time.Equal(w.clock.Now()) {
		t.Errorf("%d lines, %d left out", len(task.Log), task.Unlogged)
	}
}

func TestTheNewestTasksAreKept(t *testing.T) {
	t.Parallel()
	w, _ := pair(t)
	old := w.ask("mysql/0")[0]
	_, err := w.CancelTask(w.ctx, old.ID)
	w.ok(err)
	waiting := w.ask("mysql/0")[0]
	units := make([]string, 1020)
	for i := range units {
		units[i] = "mysql/1"
	}
	w.ask(units...)
	w.ask(units...)
	if _, err := w.Task(w.ctx, old.ID); !errors.Is(err, errors.NotFound) {
		t.Errorf("an old one that has ended is kept: %v", err)
	}
	if got := w.taskStatus(waiting.ID); got != state.TaskPending {
		t.Errorf("an old one that waits is %s", got)
	}
}

func TestAnOperationThatIsCutOffIsQueuedWholeByTheAgent(t *testing.T) {
	t.Parallel()
	w, _ := pair(t)
	requests := make([]state.TaskRequest, 60)
	for i := range requests {
		requests[i] = state.TaskRequest{Unit: "mysql/1", TaskSpec: state.TaskSpec{Kind: state.ExecTask, Command: fmt.Sprint("echo ", i/40), Relation: model.NoRelation}}
	}
	requests[59].Unit = "mysql/0"
	var op state.OperationDoc
	w.cutOff(1, func(m *state.Model) (err error) {
		op, _, err = m.Enqueue(w.ctx, "test", requests)
		return err
	})
	first := op.Tasks[0]
	if _, err := w.StartTask(w.ctx, "mysql/1", first); err != nil {
		t.Fatal(err)
	}
	w.ok(w.CommitTask(w.ctx, state.TaskCommit{Unit: "mysql/1", Run: 1, Task: first}))
	for _, id := range op.Tasks[1:25] {
		_, err := w.CancelTask(w.ctx, id)
		w.ok(err)
	}
	o, err := w.Operation(w.ctx, op.ID)
	w.ok(err)
	if o.Status() != state.TaskRunning || len(o.Tasks) != 60 {
		t.Errorf("while its rest isn't queued it is %s, with %d tasks", o.Status(), len(o.Tasks))
	}
	_, err = w.ForceApplication(w.ctx, "mysql", state.Abandon, nil)
	w.ok(err)
	w.ok(w.RunCleanups(w.ctx))
	w.ok(w.RunCleanups(w.ctx))
	o, err = w.Operation(w.ctx, op.ID)
	w.ok(err)
	for i, task := range o.Tasks {
		if task.ID != op.Tasks[i] || task.Command != fmt.Sprint("echo ", i/40) || i > 0 && task.Status != state.TaskCancelled {
			t.Errorf("task %d is %+v", i, task)
		}
	}
	if len(o.Tasks) != 60 || o.Status() != state.TaskCancelled {
		t.Errorf("it is %s, with %d tasks", o.Status(), len(o.Tasks))
	}
}

func TestTheTasksOfAnOperationMayTogetherBeLargerThanATransaction(t *testing.T) {
	t.Parallel()
	w, _ := pair(t)
	requests := make([]state.TaskRequest, 30)
	for i := range requests {
		requests[i] = state.TaskRequest{Unit: "mysql/0", TaskSpec: state.TaskSpec{Kind: state.ExecTask, Command: strings.Repeat("x", 100<<10), Relation: model.NoRelation}}
	}
	op, _, err := w.Enqueue(w.ctx, "test", requests)
	w.ok(err)
	for _, id := range op.Tasks {
		if got := w.taskStatus(id); got != state.TaskPending {
			t.Errorf("task %s is %s", id, got)
		}
	}
	for i := range requests {
		requests[i].Command = requests[i].Command[i:]
	}
	_, tasks, err := w.Enqueue(w.ctx, "test", requests[:12])
	w.ok(err)
	if got := w.taskStatus(tasks[11].ID); got != state.TaskPending {
		t.Errorf("the last of twelve that differ is %s", got)
	}
	_, _, err = w.Enqueue(w.ctx, "test", requests)
	if !errors.Is(err, errors.QuotaLimitExceeded) {
		t.Errorf("what fits into no operation is refused with %v", err)
	}
}
