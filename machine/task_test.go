package machine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// taskCharm has actions that are the dispatch script's.
func (w *world) taskCharm(actions, dispatch string) string {
	w.t.Helper()
	dir := w.t.TempDir()
	for name, body := range map[string]string{
		"metadata.yaml": "name: app\nsummary: s\n", "actions.yaml": actions, "dispatch": "#!/bin/sh\nset -eu\n" + dispatch,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	return w.add(dir)
}

// ask asks app/0 for a task and returns its id.
func (w *world) ask(spec state.TaskSpec) string {
	w.t.Helper()
	spec.Relation = model.NoRelation
	op, tasks, err := w.model.Enqueue(w.ctx, "test", []state.TaskRequest{{Unit: "app/0", TaskSpec: spec}})
	if err != nil || op.Fail != "" {
		w.t.Fatalf("cannot ask for %+v: %v %s", spec, err, op.Fail)
	}
	return tasks[0].ID
}

func (w *world) act(action string) string {
	w.t.Helper()
	return w.ask(state.TaskSpec{Kind: state.ActionTask, Action: action})
}

// untilTask waits until a task is as wanted.
func (w *world) untilTask(id, what string, ok func(state.TaskDoc) bool) state.TaskDoc {
	w.t.Helper()
	watch, err := w.model.Watch(w.ctx, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		task, err := w.model.Task(w.ctx, id)
		if err != nil {
			w.t.Fatal(err)
		}
		if ok(task) {
			return task
		}
		if _, more := <-watch; !more {
			w.t.Fatalf("waiting until %s: %+v", what, task)
		}
	}
}

func (w *world) untilEnded(id string) state.TaskDoc {
	w.t.Helper()
	return w.untilTask(id, "it has ended", func(t state.TaskDoc) bool { return t.Status.Ended() })
}

// sleepers starts processes that don't end by themselves, some in groups of
// their own, and tells who they are.
const sleepers = `
case $JUJU_DISPATCH_PATH in
actions/sleep)
	sh -c 'echo $$ >>pids; exec sleep 1000' &
	if command -v setsid >/dev/null; then
		setsid sh -c 'trap "" TERM; echo $$ >>pids; while :; do sleep 1000; done' &
	fi
	state-set written=yes
	while [ "$(wc -l <pids 2>/dev/null || echo 0)" -lt "$WANT" ]; do sleep 0.01; done
	action-log ready
	wait
	;;
actions/quick) action-set done=yes;;
esac
`

// TestUACT8ACancelledTask doesn't run if it waited, and is ended with all that
// it has started if it ran; the unit goes on with the next one.
func TestUACT8ACancelledTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := "1"
	if runtime.GOOS == "linux" {
		want = "2" // a process out of the group is found there too
	}
	w.deploy("app", w.taskCharm("sleep: {}\nquick: {}\n", "WANT="+want+sleepers), 1)
	w.settle()

	running, waiting, next := w.act("sleep"), w.act("sleep"), w.act("quick")
	w.untilTask(running, "it runs", func(t state.TaskDoc) bool { return len(t.Log) == 1 })
	if task, err := w.model.CancelTask(w.ctx, waiting); err != nil || task.Status != state.TaskCancelled {
		t.Errorf("the one that waits: %v %v", task.Status, err)
	}
	if task, err := w.model.CancelTask(w.ctx, running); err != nil || task.Status != state.TaskAborting {
		t.Errorf("the one that runs: %v %v", task.Status, err)
	}
	if task := w.untilEnded(running); task.Status != state.TaskAborted || task.Message != "terminated" || task.Results["return-code"] != int64(-1) {
		t.Errorf("the one that ran: %+v", task)
	}
	for pid := range strings.FieldsSeq(w.read("app/0", "pids")) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		if alive(n) {
			t.Errorf("process %d is still there", n)
		}
	}
	if task := w.untilEnded(next); task.Status != state.TaskCompleted || task.Results["done"] != "yes" {
		t.Errorf("the next one: %+v", task)
	}
	w.settle()
	if task, err := w.model.Task(w.ctx, waiting); err != nil || task.Status != state.TaskCancelled || !task.Started.IsZero() {
		t.Errorf("the one that waited: %+v %v", task, err)
	}
	if kept, err := w.model.CharmState(w.ctx, "app/0"); err != nil || len(kept) != 0 {
		t.Errorf("what the one that ran wrote is kept: %v %v", kept, err)
	}
	w.wantHooks("app/0", "install", "leader-elected", "config-changed", "start", "sleep-action failed", "quick-action")
	if _, err := w.model.CancelTask(w.ctx, running); err == nil {
		t.Error("a task that has ended can be cancelled")
	}
}

// alive says whether a process is there and isn't one that nobody has reaped.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err != nil || !strings.HasPrefix(rest, "Z")
}

func (w *world) read(unit model.UnitName, file string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.unitDir(unit), "charm", file))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

func TestATaskEndsWithItsAgentAndIsNotRunAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("app", w.taskCharm("sleep: {}\n", "WANT=1\n"+sleepers), 1)
	w.settle()
	id := w.act("sleep")
	w.untilTask(id, "it runs", func(t state.TaskDoc) bool { return len(t.Log) == 1 })
	w.stop()
	if task := w.untilEnded(id); task.Status != state.TaskFailed || task.Message != "terminated" {
		t.Errorf("got %+v", task)
	}
	w.restart()
	w.settle()
	w.wantHooks("app/0", "install", "leader-elected", "config-changed", "start", "sleep-action failed")
}

func TestATaskEndsWithItsUnit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("app", w.taskCharm("sleep: {}\n", "WANT=1\n"+sleepers), 1)
	w.settle()
	running, waiting := w.act("sleep"), w.act("sleep")
	w.untilTask(running, "it runs", func(t state.TaskDoc) bool { return len(t.Log) == 1 })
	if err := w.model.ForceRemoveUnit(w.ctx, "app/0"); err != nil {
		t.Fatal(err)
	}
	if task := w.untilEnded(running); task.Status != state.TaskFailed || task.Message != "terminated" {
		t.Errorf("the one that ran: %+v", task)
	}
	if task := w.untilEnded(waiting); task.Status != state.TaskCancelled {
		t.Errorf("the one that waited: %+v", task)
	}
}

func TestCommandsThatTakeTooLongAreEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("app", w.taskCharm("", ""), 1)
	w.settle()
	id := w.ask(state.TaskSpec{Kind: state.ExecTask, Command: "sleep 1000", Timeout: 100 * time.Millisecond})
	task := w.untilEnded(id)
	if task.Status != state.TaskFailed || task.Message != "timed out after 100ms" || task.Results["return-code"] != int64(-1) {
		t.Errorf("got %+v", task)
	}
}

func TestWhatATaskPrintsIsKeptWhateverItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("app", w.taskCharm("", ""), 1)
	w.settle()
	odd := w.untilEnded(w.ask(state.TaskSpec{Kind: state.ExecTask, Command: `printf 'a\377b'; printf 'no end' >&2`}))
	if odd.Results["stdout-encoding"] != "base64" || odd.Results["stdout"] != "Yf9iCg==" || odd.Results["stderr"] != "no end\n" {
		t.Errorf("got %+v", odd.Results)
	}
	// One line is more than is kept: its end is there all the same, whole characters of it.
	long := w.untilEnded(w.ask(state.TaskSpec{Kind: state.ExecTask, Command: `printf 'ä%.0s' $(seq 150000); echo 'the end'; seq 700000 >&2`}))
	text, _ := long.Results["stdout"].(string)
	first, rest, _ := strings.Cut(text, "\n")
	if first != fmt.Sprintf("[the first %d bytes are left out]", 300008-len(rest)) || len(rest) < 100<<10 || !strings.HasSuffix(rest, "äthe end\n") {
		t.Errorf("got %d bytes: %.60q", len(text), text)
	}
	text, _ = long.Results["stderr"].(string)
	if first, rest, _ = strings.Cut(text, "\n"); first != fmt.Sprintf("[the first %d bytes are left out]", 4788895-len(rest)) || !strings.HasSuffix(rest, "\n700000\n") {
		t.Errorf("got %d bytes: %.60q", len(text), text)
	}
	much := w.untilEnded(w.ask(state.TaskSpec{Kind: state.ExecTask, Command: `seq 200000; exit 3`}))
	text, _ = much.Results["stdout"].(string)
	if much.Status != state.TaskCompleted || much.Results["return-code"] != int64(3) ||
		!strings.HasPrefix(text, "[the first ") || !strings.HasSuffix(text, "\n199999\n200000\n") || len(text) > 200<<10 {
		t.Errorf("got %d bytes, %+v", len(text), much.Status)
	}
}
