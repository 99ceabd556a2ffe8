package machine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// enqueue asks for commands on a machine, one after the other.
func (h *host) enqueue(machine string, lines ...string) []state.TaskDoc {
	h.t.Helper()
	var requests []state.TaskRequest
	for _, line := range lines {
		requests = append(requests, state.TaskRequest{Machine: machine, TaskSpec: state.TaskSpec{
			Kind: state.ExecTask, Command: line, Relation: model.NoRelation,
		}})
	}
	op, tasks, err := h.model.Enqueue(h.ctx, "commands", requests)
	if err != nil || op.Fail != "" {
		h.t.Fatal(err, op.Fail)
	}
	return tasks
}

// task waits until a task is as wanted.
func (h *host) task(id string, ok func(state.TaskDoc) bool) state.TaskDoc {
	h.t.Helper()
	watch, err := h.model.Watch(h.ctx, 0)
	h.do(err)
	for {
		doc, err := h.model.Task(h.ctx, id)
		h.do(err)
		if ok(doc) {
			return doc
		}
		if _, more := <-watch; !more {
			h.t.Fatalf("waiting for task %s: %+v", id, doc)
		}
	}
}

func ended(t state.TaskDoc) bool { return t.Status.Ended() }

// started waits until a command that runs has written to a pipe.
func (h *host) started(path string) {
	h.t.Helper()
	_, err := os.ReadFile(path) // a pipe: it waits for who writes
	h.do(err)
}

func pipeIn(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAMachineRunsCommandsInTheirOrder(t *testing.T) {
	t.Parallel()
	main := hostOf(newWorld(t))
	one := main.joins()
	main.place("a", main.charm(ringCharm, countingCharm), state.NewMachine)
	main.settle()
	for machine, count := range map[string]int{one.id: 10, "1": 2} { // task 9 comes before task 10
		file := filepath.Join(t.TempDir(), "lines")
		lines, want := make([]string, count), ""
		for i := range lines {
			lines[i] = fmt.Sprintf("echo %d >>%s", i, file)
			want += fmt.Sprint(i, " ")
		}
		tasks := main.enqueue(machine, append(lines, "tr '\\n' ' ' <"+file+"; echo; echo $JUJU_MACHINE_ID$JUJU_UNIT_NAME; exit 3")...)
		last := main.task(tasks[len(tasks)-1].ID, ended)
		if got := last.Results["stdout"]; got != want+"\n"+machine+"\n" {
			t.Errorf("got %q, want %q", got, want)
		}
		if last.Status != state.TaskCompleted || last.Results["return-code"] != int64(3) {
			t.Errorf("got %+v", last)
		}
	}
	main.settle()

	// One that is cancelled is ended; those behind it run.
	pipe := pipeIn(t)
	tasks := main.enqueue(one.id, "echo $$ >"+pipe+"; exec sleep 1000", "echo next")
	main.started(pipe)
	_, err := main.model.CancelTask(main.ctx, tasks[0].ID)
	main.do(err)
	if doc := main.task(tasks[0].ID, ended); doc.Status != state.TaskAborted {
		t.Errorf("got %+v", doc)
	}
	if doc := main.task(tasks[1].ID, ended); doc.Results["stdout"] != "next\n" {
		t.Errorf("got %+v", doc)
	}

	// One in which the agent is killed has failed, and nothing of it is left.
	tasks = main.enqueue(one.id, "echo $$ >"+pipe+"; sleep 1000", "echo next")
	main.started(pipe)
	one.kill()
	one.begin()
	if doc := main.task(tasks[0].ID, ended); doc.Status != state.TaskFailed || doc.Message != "terminated" {
		t.Errorf("got %+v", doc)
	}
	if doc := main.task(tasks[1].ID, ended); doc.Results["stdout"] != "next\n" {
		t.Errorf("got %+v", doc)
	}
	mark := fmt.Sprintf("%s=%s/machine/%s/%s", runner.MarkVariable, main.model.UUID(), one.id, tasks[0].ID)
	if left := runner.Running(mark); len(left) > 0 {
		t.Errorf("it still runs: %v", left)
	}

	// One for which the machine hasn't got the time goes with it.
	one.kill()
	tasks = main.enqueue(one.id, "echo never")
	main.do(main.model.ForceDestroyMachine(main.ctx, one.id))
	if doc := main.task(tasks[0].ID, ended); doc.Status != state.TaskCancelled || doc.Message != "the machine is gone" {
		t.Errorf("got %+v", doc)
	}
}

func TestCommandsOfAMachineThatTakeTooLongAreEnded(t *testing.T) {
	t.Parallel()
	main := hostOf(newWorld(t))
	doc, _, err := main.model.AddMachine(main.ctx, state.LocalProvider, 0)
	main.do(err)
	_, tasks, err := main.model.Enqueue(main.ctx, "commands", []state.TaskRequest{{Machine: doc.ID, TaskSpec: state.TaskSpec{
		Kind: state.ExecTask, Command: "echo begun; sleep 1000", Relation: model.NoRelation, Timeout: 300 * time.Millisecond,
	}}})
	main.do(err)
	if doc := main.task(tasks[0].ID, ended); doc.Status != state.TaskFailed || doc.Message != "timed out after 300ms" {
		t.Errorf("got %+v", doc)
	}
}

// TestCommandsOutliveAStoreThatIsAwayAsTheyEnd: what came of them is written once it is back, and what
// they have left in the background goes on.
func TestCommandsOutliveAStoreThatIsAwayAsTheyEnd(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(s *faultyStore, away error){
		"nothing is written": func(s *faultyStore, away error) {
			s.update = func(context.Context) error { return away }
		},
		"it is written, and nobody knows": func(s *faultyStore, away error) {
			s.written = func() error { return away }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.withFaults()
			h := &host{world: w}
			doc, _, err := w.model.AddMachine(w.ctx, state.LocalProvider, 0)
			h.do(err)
			begun, goOn := pipeIn(t), pipeIn(t)
			task := h.enqueue(doc.ID, "sleep 1000 >/dev/null 2>&1 & echo $! >"+begun+"; read line <"+goOn+"; echo done")[0]
			said, err := os.ReadFile(begun)
			h.do(err)
			pid, err := strconv.Atoi(strings.TrimSpace(string(said)))
			h.do(err)
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
			tries := 0
			s.set(func() {
				fault(s, errUnreachable)
				update, written := s.update, s.written
				s.update = func(ctx context.Context) error {
					if caller() == "Model.EndMachineTask" {
						if tries++; tries == 3 {
							s.set(func() { s.update, s.written = nil, nil })
							return nil
						}
					}
					if update == nil {
						return nil
					}
					return update(ctx)
				}
				s.written = written
			})
			h.do(os.WriteFile(goOn, []byte("go on\n"), 0o600))
			if doc := h.task(task.ID, ended); doc.Status != state.TaskCompleted || doc.Results["stdout"] != "done\n" {
				t.Errorf("got %+v", doc)
			}
			w.settle()
			if err := syscall.Kill(pid, 0); err != nil {
				t.Errorf("what runs in the background has ended: %v", err)
			}
		})
	}
}
