package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// taskVerbs run actions and commands, and wait for them.
type taskVerbs struct{ waiting }

// exitCode is what a task has exited with, if it did by itself.
func exitCode(t state.TaskDoc) int64 {
	code, _ := t.Results["return-code"].(int64)
	return code
}

// notRun says whether commands have failed without an exit code of their own, as
// where a container has no such program, or isn't there any more.
func notRun(t state.TaskDoc) bool {
	_, ran := t.Results["return-code"]
	return t.Kind == state.ExecTask && t.Status == state.TaskFailed && !ran
}

// failedTasks is the error for tasks that have exited with another code than 0, and
// for commands that couldn't be run. Source: docs/spec/cli-juju.md §2.3.
func failedTasks(tasks []state.TaskDoc) error {
	var failed []string
	for _, t := range tasks {
		switch code := exitCode(t); {
		case code > 0:
			failed = append(failed, fmt.Sprintf(" - id %q with return code %d", t.ID, code))
		case notRun(t):
			failed = append(failed, fmt.Sprintf(" - id %q without a return code", t.ID))
		}
	}
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return errors.Errorf("the following task failed:\n%s\n\nuse 'unitd show-task' to inspect the failure", failed[0])
	}
	return errors.Errorf("the following tasks failed:\n%s\n\nuse 'unitd show-task' to inspect the failures", strings.Join(failed, "\n"))
}

// printTasks prints tasks that have ended.
func (a taskVerbs) printTasks(format, output string, tasks []state.TaskDoc) error {
	if format == "plain" {
		var b strings.Builder
		for _, t := range tasks {
			text, err := render.PlainTask(t)
			if err != nil {
				return errors.Trace(err)
			}
			if len(tasks) > 1 {
				fmt.Fprintf(&b, "%s:\n", render.TaskLabel(t))
			}
			b.WriteString(text)
		}
		if output != "" {
			return a.writeFile(output, b.String())
		}
		a.printf("%s", b.String())
		return nil
	}
	byName := map[string]render.Task{}
	for _, t := range tasks {
		byName[render.TaskLabel(t)] = render.TaskOf(t)
	}
	return a.write(format, output, byName)
}

// waitForTasks waits until the tasks have ended, and returns them. logged, if it
// isn't nil, is told of what they log meanwhile. Once the time is over the error
// names those that it has waited for.
func (a taskVerbs) waitForTasks(m *state.Model, ids []string, timeout time.Duration, logged func(state.TaskDoc, state.TaskLine)) ([]state.TaskDoc, error) {
	ctx := a.Context()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := m.Watch(watching, 0)
	if err != nil {
		return nil, err
	}
	w := newAwaited(m)
	wake(w, changes)
	tasks, told := make([]state.TaskDoc, len(ids)), make([]int, len(ids))
	look := func() (bool, error) {
		done := true
		for i, id := range ids {
			t, err := m.Task(a.Context(), id)
			if err != nil {
				return false, err
			}
			for ; logged != nil && told[i] < len(t.Log); told[i]++ {
				logged(t, t.Log[told[i]])
			}
			tasks[i] = t
			done = done && t.Status.Ended()
		}
		return done, nil
	}
	err = a.await(ctx, w, nil, look)
	switch {
	case errors.Is(err, context.DeadlineExceeded), err == nil && slices.ContainsFunc(tasks, cutShort):
		return tasks, errors.WithType(errors.Errorf("timed out waiting for results from: %s", stillRunning(tasks)), errTimedOut)
	case errors.Is(err, errAgentEnded):
		return tasks, fmt.Errorf("%w; the task runs when there is another one", err)
	}
	return tasks, err
}

// errTimedOut marks that a wait was given up.
const errTimedOut = errors.ConstError("timed out")

// cutShort says whether the agent has ended the task for its time, which is that
// of the wait: either can be first.
func cutShort(t state.TaskDoc) bool {
	return t.Timeout > 0 && t.Status.Ended() && strings.HasPrefix(t.Message, "timed out after ")
}

func stillRunning(tasks []state.TaskDoc) string {
	var units []string
	for _, t := range tasks {
		if !t.Status.Ended() || cutShort(t) {
			name := "unit " + string(t.Unit)
			if t.Machine != "" {
				name = "machine " + t.Machine
			}
			units = append(units, name)
		}
	}
	return strings.Join(slices.Compact(units), ", ")
}

// unscheduled says why nothing of an operation was queued. It is no error, as
// programs that drive the command line expect.
func (a taskVerbs) unscheduled(op state.OperationDoc) {
	a.Note("Operation %s failed to schedule any tasks:\n%s", op.ID, op.Fail)
}

// taskFlags are the flags that run and exec share.
type taskFlags struct {
	wait           time.Duration
	background     bool
	format, output string
}

// follow waits for the tasks of an operation and prints what came of them.
func (a taskVerbs) follow(m *state.Model, tasks []state.TaskDoc, f taskFlags, logged func(state.TaskDoc, state.TaskLine)) error {
	ids := make([]string, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	tasks, err := a.waitForTasks(m, ids, f.wait, logged)
	if errors.Is(err, errTimedOut) && f.format != "plain" {
		tasks = slices.DeleteFunc(slices.Clone(tasks), func(t state.TaskDoc) bool { return !t.Status.Ended() })
		if perr := a.printTasks(f.format, f.output, tasks); perr != nil {
			return perr
		}
	}
	if err != nil {
		return err
	}
	if err := a.printTasks(f.format, f.output, tasks); err != nil {
		return err
	}
	return failedTasks(tasks)
}

// scheduled tells of an operation that goes on in the background.
func (a taskVerbs) scheduled(op state.OperationDoc) error {
	if len(op.Tasks) == 1 {
		a.Note("Scheduled operation %s with task %s", op.ID, op.Tasks[0])
		a.Note("Check operation status with 'unitd show-operation %s'", op.ID)
		a.Note("Check task status with 'unitd show-task %s'", op.Tasks[0])
		return nil
	}
	a.Note("Scheduled operation %s with %d tasks", op.ID, len(op.Tasks))
	for _, id := range op.Tasks {
		a.Note("  - task %s", id)
	}
	a.Note("Check operation status with 'unitd show-operation %s'", op.ID)
	a.Note("Check task status with 'unitd show-task <id>'")
	return nil
}
