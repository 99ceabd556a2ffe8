package resolver

import "github.com/unitd/unitd/hooks"

// Task is a task of the unit that hasn't ended, as the model has it. The zero
// value is none.
type Task struct {
	// Hook is its run: hooks.Action or hooks.Exec, with the task's id.
	Hook hooks.Info
	// Begun: an agent has begun to run it. It is run once at most.
	Begun bool
}

// TaskRun is a run of a task in progress. It stands beside Current, for tasks
// run while a failed hook waits too.
type TaskRun struct {
	Hook hooks.Info `json:"hook"`
	Run  int64      `json:"run"`
}

// taskPending is about a task that was running when the agent started.
func taskPending(l Local, r Remote) (Op, bool) {
	if l.Task == nil {
		return Op{}, false
	}
	op := Op{Verb: AbortTask, Hook: l.Task.Hook, Run: l.Task.Run, Reason: "the agent was killed while the task ran"}
	if r.Committed >= l.Task.Run {
		op.Verb, op.Reason = FinishTask, "the model has the run's stamp"
	}
	return op, true
}

func tasks(l Local, r Remote) (Op, bool) {
	op := Op{Verb: RunTask, Hook: r.Task.Hook, Run: max(l.Run, r.Committed) + 1, Reason: "a task is waiting"}
	switch {
	case r.Task.Hook.Kind == "":
		return Op{}, false
	case r.Task.Begun:
		// Whoever began it has lost its journal: nobody knows how far it came.
		op.Verb, op.Run, op.Reason = AbortTask, 0, "the task was begun, and nobody runs it"
		return op, true
	case l.Charm == "" || l.Stopped || l.Removed:
		return Op{}, false
	case l.Current != nil: // a hook has failed
		return op, true
	}
	_, starts := start(l, r)
	_, reconfigures := reconfigure(l, r)
	_, deploys := deploy(l, r)
	_, events := workloadsFirst(l, r)
	replacing := replaces(l, r) && !awaits(l, r)
	return op, l.Installed && !starts && !reconfigures && !l.Upgraded && !deploys && !replacing && !events
}

// afterTask is After for a run of a task. Failure.Exit is the exit code of
// commands also where the run is Done.
func afterTask(l Local, op Op, e Event) Local {
	switch e.Kind {
	case Began:
		l.Run, l.Task = op.Run, &TaskRun{op.Hook, op.Run}
	case Done:
		l = taskEnded(l, EndedCommitted, e.Failure.Message)
		l.Ended.Exit = e.Failure.Exit
	case Broke:
		l = taskEnded(l, EndedFailed, e.Failure.Message)
		l.Ended.Exit = e.Failure.Exit
	}
	return l
}

func taskEnded(l Local, how Ending, why string) Local {
	if l.Task != nil {
		l.Ended = Ended{Hook: l.Task.Hook, Run: l.Task.Run, How: how, Message: why}
		l.Task = nil
	}
	return l
}
