package resolver

import (
	"maps"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
)

// Retries of a failed hook: the first after RetryFirst, then twice as long
// each time, at most RetryMost; each spread by ±RetrySpread of itself.
const (
	RetryFirst  = 5 * time.Second
	RetryMost   = 5 * time.Minute
	RetrySpread = 0.2
	// StatusSpread is by how much of itself the interval of update-status varies.
	StatusSpread = 0.2
)

// After is what the agent knows once e has become of op. l is not changed.
func After(l Local, op Op, e Event) Local {
	l = l.clone()
	switch op.Verb {
	case RunHook:
		return afterRun(l, op, e)
	case RunTask:
		return afterTask(l, op, e)
	case FinishTask:
		return taskEnded(l, EndedCommitted, op.Reason)
	case AbortTask:
		return taskEnded(l, EndedInterrupted, op.Reason)
	case Deploy:
		// Not after a forced upgrade in error: the failed hook stays pending.
		if l.Installed && (l.Current == nil || l.Charm == "") {
			l.Upgraded = true
		}
		if l.Untouched() {
			l.Pod = op.Pod
		}
		l.Charm = op.Charm
	case Replace:
		return replaced(l, op)
	case EnterScope:
		for _, snap := range op.Entering {
			if _, known := l.Relations[snap.ID]; !known {
				l.Relations[snap.ID] = relation.New(snap)
			}
		}
	case LeaveScope, Forget:
		for _, id := range op.Relations {
			delete(l.Relations, id)
		}
		for _, id := range op.Storage {
			delete(l.Storage, id)
		}
		for _, c := range op.Workloads {
			delete(l.Workloads, c)
		}
	case Finish:
		l = committed(l, *l.Current, e)
		if op.Memory.Run == op.Run {
			l.Again = op.Memory.Again
		}
	case Unqueue:
		l.Again = without(l.Again, op.Hook)
	case Skip:
		l.Ended = answered(l, EndedSkipped, op.Reason)
		return told(l, *l.Current, e)
	case Interrupt:
		f := Failure{Message: "interrupted: the agent was killed while the hook ran", Exit: -1, Interrupted: true, At: e.At}
		return broke(l, Event{Kind: Broke, At: e.At, Failure: f, Jitter: e.Jitter})
	case Requeue:
		l.Ended = ended(*l.Current, EndedStopped, "")
		l.Current = nil
	case Discard:
		l.Ended = answered(l, EndedDropped, op.Reason)
		l.Current = nil
	case SetAside:
		return setAside(l, e.At)
	case Recall:
		return recalled(l, op, e)
	case Resign:
		l.Leader = false
	}
	return l
}

func afterRun(l Local, op Op, e Event) Local {
	switch e.Kind {
	case Began:
		c := Current{Hook: op.Hook, Run: op.Run, Step: Pending, Seen: op.Seen, Basis: op.Basis, Aside: op.Aside}
		if l.Current != nil {
			c.Attempts = l.Current.Attempts
		}
		l.Run, l.Current = op.Run, &c
		if op.Secrets != nil {
			l.Secrets = maps.Clone(op.Secrets)
		}
	case Done:
		return committed(l, *l.Current, e)
	case Broke:
		if op.Limit > 0 && e.Failure.TimedOut {
			l.Ended = ended(*l.Current, EndedCutShort, e.Failure.Message)
			return told(l, *l.Current, e)
		}
		return broke(l, e)
	case Requeued:
		l.Ended = ended(*l.Current, EndedStopped, "")
		l.Current = nil
	case CutOff:
		l.Current.Over = true
	}
	return l
}

func ended(c Current, how Ending, why string) Ended {
	return Ended{Hook: c.Hook, Run: c.Run, How: how, Message: why}
}

// answered is the end of a failed run that isn't run again.
func answered(l Local, how Ending, why string) Ended {
	e := ended(*l.Current, how, why)
	if l.Run > e.Run {
		e.Newest = l.Run
	}
	return e
}

func broke(l Local, e Event) Local {
	c := l.Current
	f := e.Failure
	c.Step, c.Failure = Failed, &f
	l.Ended = ended(*c, EndedFailed, f.Message)
	l.Ended.Exit = f.Exit
	if f.Interrupted {
		l.Ended.How = EndedInterrupted
	}
	if c.Aside {
		return setAside(l, e.At)
	}
	c.Attempts++
	wait := backOff(c.Attempts)
	c.RetryAt = e.At.Add(wait + time.Duration(e.Jitter*RetrySpread*float64(wait)))
	return l
}

// backOff is how long a hook waits that has failed so many times in a row,
// without its spread.
func backOff(attempts int) time.Duration {
	wait := RetryFirst
	for i := 1; i < attempts && wait < RetryMost; i++ {
		wait *= 2
	}
	return min(wait, RetryMost)
}

func committed(l Local, c Current, e Event) Local {
	l.Ended = ended(c, EndedCommitted, "")
	return told(l, c, e)
}

// told moves on what the hook was about. A run that was skipped moves the same
// things: the charm counts as told.
func told(l Local, c Current, e Event) Local {
	l.Current = nil
	l.Seen = c.Seen
	l.Again = askedAgain(without(l.Again, c.Hook), c.Hook, e.Requeue, e.At)
	l = workloadTold(l, c.Hook)
	if c.Hook.Again {
		return l // when it began, the charm had been told of all that is
	}
	switch c.Hook.Kind {
	case hooks.Install:
		l.Installed = true
	case hooks.ConfigChanged:
		l.Configured = true
	case hooks.Start:
		l.Started, l.Stopped, l.Replaced = true, false, false
		l.StatusAt, l.StatusJitter = e.At, e.Jitter
	case hooks.UpgradeCharm:
		l.Upgraded, l.Forgotten = false, false
		l.Seen.Config = "" // config-changed follows, whatever the configuration is
	case hooks.Stop:
		l.Stopped = true
	case hooks.Remove:
		l.Removed = true
	case hooks.LeaderElected:
		l.Leader = true
	case hooks.UpdateStatus:
		l.StatusAt, l.StatusJitter = e.At, e.Jitter
	case hooks.SecretExpired, hooks.SecretRotate, hooks.SecretChanged, hooks.SecretRemove:
		l.Secrets[c.Hook.Secret] = l.Secrets[c.Hook.Secret].after(c.Hook, e.At)
	case hooks.StorageAttached:
		if l.Storage == nil {
			l.Storage = map[model.StorageID]bool{}
		}
		l.Storage[c.Hook.Storage] = true
	case hooks.StorageDetaching:
		delete(l.Storage, c.Hook.Storage)
	case hooks.RelationBroken:
		delete(l.Relations, c.Hook.RelationID)
	default:
		if s, ok := l.Relations[c.Hook.RelationID]; ok && c.Hook.IsRelation() {
			l.Relations[c.Hook.RelationID] = s.After(c.Hook)
		}
	}
	return l
}

func statusDue(l Local, r Remote) time.Time {
	spread := time.Duration(l.StatusJitter * StatusSpread * float64(r.StatusInterval))
	last := l.StatusAt
	if last.Before(r.StatusPassed) {
		last = r.StatusPassed
	}
	return last.Add(r.StatusInterval + spread)
}
