package testcharms_test

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/testcharms"
)

// act runs an action and waits until it has ended.
func (w *world) act(unit, action string, params map[string]any) state.TaskDoc {
	w.Helper()
	op, tasks, err := w.model.Enqueue(w.ctx, action, []state.TaskRequest{{Unit: unit, TaskSpec: state.TaskSpec{
		Kind: state.ActionTask, Action: action, Params: params, Relation: model.NoRelation,
	}}})
	w.must(err)
	if op.Fail != "" {
		w.Fatalf("%s: %s", action, op.Fail)
	}
	watch, err := w.model.Watch(w.ctx, 0)
	w.must(err)
	for {
		task, err := w.model.Task(w.ctx, tasks[0].ID)
		w.must(err)
		if task.Status.Ended() {
			return task
		}
		if _, more := <-watch; !more {
			w.Fatalf("%s has not ended: %+v", action, task)
		}
	}
}

func (w *world) wantResult(task state.TaskDoc, status state.TaskStatus, key, value string) {
	w.Helper()
	if got := task.Results[key]; task.Status != status || key != "" && got != value {
		w.Errorf("%s is %s (%s) with %v, want %s with %s=%q", task.Action, task.Status, task.Message, task.Results, status, key, value)
	}
}

func TestOpsyRunsItsAction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(testcharms.CopyOps(t, venvOfOps(t)), 1)
	w.wantStatus("opsy/0", "active ready, without a database")
	plain := w.act("opsy/0", "status-report", nil)
	w.wantResult(plain, state.TaskCompleted, "leader", "true")
	w.wantResult(plain, state.TaskCompleted, "database", "none")
	text, _ := plain.Results["text"].(string)
	if !strings.HasSuffix(text, " from opsy/0") {
		t.Errorf("text is %q", text)
	}
	w.wantResult(w.act("opsy/leader", "status-report", map[string]any{"shout": true}), state.TaskCompleted, "text", strings.ToUpper(text))
}

func TestTheCharmsRunTheirActions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.copies("tracer", "shop")
	w.wantStatus("tracer/0", "active")
	w.wantStatus("shop/0", "blocked needs a database: integrate with a provider of ledgerdb")
	w.wantResult(w.act("tracer/0", "echo", nil), state.TaskCompleted, "text", "hello")
	w.wantResult(w.act("tracer/0", "echo", map[string]any{"text": "a = b\nc"}), state.TaskCompleted, "text", "a = b\nc")
	failed := w.act("tracer/0", "fail", nil)
	w.wantResult(failed, state.TaskFailed, "", "")
	if failed.Message != "as asked" {
		t.Errorf("message %q", failed.Message)
	}
	w.wantResult(w.act("shop/0", "place-order", map[string]any{"item": "book"}), state.TaskFailed, "", "")
}
