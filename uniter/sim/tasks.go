package sim

import (
	"strconv"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// queue are the tasks of a world: those up to ended have ended, those after
// them up to asked wait, and the first of these may have begun.
type queue struct{ asked, ended int }

// ask adds a task, and drop takes the first one away if it hasn't begun.
func ask(w *World, _ []string) (bool, error) {
	w.tasks.asked++
	w.nextTask()
	return true, nil
}

func drop(w *World, _ []string) (bool, error) {
	if w.Model.Task.Begun || w.tasks.asked == w.tasks.ended {
		return false, nil
	}
	w.endTask(w.Model.Task.Hook)
	return true, nil
}

// nextTask shows the agent the first task that hasn't ended.
func (w *World) nextTask() {
	if w.Model.Task.Hook.Kind == "" && w.tasks.asked > w.tasks.ended {
		w.Model.Task = resolver.Task{Hook: hooks.Info{Kind: hooks.Action, Action: "act", Task: strconv.Itoa(w.tasks.ended + 1)}}
	}
}

// endTask ends a task in the model; it is no error if it has ended.
func (w *World) endTask(h hooks.Info) {
	if w.Model.Task.Hook != h {
		return
	}
	w.tasks.ended++
	w.Model.Task = resolver.Task{}
	w.nextTask()
}

// runTask runs the task that the agent has in hand. Where it was cancelled
// since the agent looked, or has begun before, the model says so.
func (w *World) runTask(op resolver.Op, how How) error {
	if w.Model.Task.Hook != op.Hook || w.Model.Task.Begun {
		return nil
	}
	waited := w.Local.Current
	w.Model.Task.Begun = true
	if how == StoppedAtCommit {
		// For a task: the model has it that it began, and the journal not yet.
		w.Kill()
		return nil
	}
	w.become(op, resolver.Event{Kind: resolver.Began, At: w.Model.Now}, true)
	switch {
	case w.Dir == "":
		return &Broken{factTask, op.Hook, "without a charm"}
	case !w.waits() && w.seen.Life == model.Alive && len(w.events(w.seen)) > 0:
		return &Broken{factTask, op.Hook, "before what is due of its containers"}
	case !w.waits() && w.charm.url != w.Dir && w.charm.url != "":
		return &Broken{factTask, op.Hook, "before upgrade-charm"}
	}
	if err := w.Monitor.Task(op.Hook); err != nil {
		return err
	}
	if how != KilledWithin {
		w.Model.Committed, w.Model.Memory = op.Run, resolver.Remember(w.Local, nil)
		w.endTask(op.Hook)
	}
	if how == KilledWithin || how == KilledAfter {
		w.Kill()
		return nil
	}
	kind := resolver.Done
	if how != Well {
		kind = resolver.Broke
	}
	w.become(op, resolver.Event{Kind: kind, At: w.Model.Now}, false)
	now := w.Local.Current
	if (now == nil) != (waited == nil) || now != nil && (now.Run != waited.Run || now.Step != waited.Step || now.RetryAt != waited.RetryAt) {
		return &Broken{factTask, op.Hook, "and has changed what the failed hook waits for"}
	}
	if how == StoppedAgent {
		w.Kill()
	}
	return nil
}

// abortTask is what the model has after an agent was killed in a task.
func (w *World) abortTask(op resolver.Op) {
	w.Model.Committed = max(w.Model.Committed, op.Run)
	w.endTask(op.Hook)
}

// waiting says that a task waits that could run.
func (w *World) waiting() bool {
	return w.Model.Task.Hook.Kind != "" && !w.Monitor.stopped && !w.Monitor.removed
}

// taskGuarantees is what a Monitor checks whenever a task runs.
func taskGuarantees() []Guarantee {
	const spec = "docs/spec/uniter-behaviour.md §4, §7"
	return []Guarantee{
		{"a task runs once at most, in the order in which they were asked for", spec, taskOnce},
		{"a task runs in a unit that is installed or in error, and not after stop", spec, taskInstalled},
		{"no task runs between config-changed and start, or upgrade-charm and config-changed", spec, taskBetween},
	}
}

func taskOnce(m *Monitor, h hooks.Info) string {
	if id, err := strconv.Atoi(h.Task); err != nil || id <= m.task {
		return "a second time, or out of turn"
	}
	return ""
}

func taskInstalled(m *Monitor, _ hooks.Info) string {
	switch {
	case m.stopped || m.removed:
		return "after stop"
	case m.failed == nil && !m.installed:
		return "before install"
	}
	return ""
}

func taskBetween(m *Monitor, _ hooks.Info) string {
	switch {
	case m.failed != nil:
		return ""
	case m.configured && !m.started:
		return "between config-changed and start"
	case m.last == hooks.UpgradeCharm && m.configured:
		return "straight after upgrade-charm"
	case m.halted:
		return "while the unit's containers are replaced"
	}
	return ""
}

// Task tells the monitor of a task that has run, however it ended, and returns
// a *Broken if it should not have run then.
func (m *Monitor) Task(h hooks.Info) error {
	for _, g := range taskGuarantees() {
		if why := g.broken(m, h); why != "" {
			return &Broken{g, h, why}
		}
	}
	m.task, _ = strconv.Atoi(h.Task) // checked before
	return nil
}
