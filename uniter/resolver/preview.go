package resolver

import (
	"slices"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// Preview is what an agent that remembers l does, one operation after the
// other, once its failed run is answered in that mode: up to the next hook, or
// to where there is nothing more to do. look is the agent's look at the model,
// which for as long as this takes is taken not to change but by the agent; its
// error is returned. The last Op is a RunHook, Idle or Terminate. It is empty if
// no run of l has failed.
func Preview(l Local, mode Mode, look func(Local) (Remote, error)) ([]Op, error) {
	if l.Current == nil || l.Current.Step != Failed {
		return nil, nil
	}
	answer := Resolved{Run: l.Current.Run, Mode: mode}
	var ops []Op
	for range previewMost {
		r, err := look(l)
		if err != nil {
			return nil, err
		}
		r.Resolved = answer
		for _, op := range ops {
			r = r.After(op)
		}
		op := Next(l, r)
		ops = append(ops, op)
		switch op.Verb {
		case RunHook, Idle, Terminate:
			return ops, nil
		}
		l = done(l, op, r)
	}
	return ops, nil
}

// previewMost bounds the operations of a preview. Between two hooks there are
// never that many.
const previewMost = 50

// Due are the hooks that an agent that remembers l runs one after the other if
// all succeed and nothing else changes, as far as that can be told.
func Due(l Local, r Remote) []hooks.Info {
	var all []hooks.Info
	for range mostDue {
		op := Next(l, r)
		switch op.Verb {
		case RunHook:
			all = append(all, op.Hook)
		case Interrupt, Idle, Terminate, MarkDead, MarkDying:
			return all
		}
		l, r = done(l, op, r), r.After(op)
	}
	return all
}

// done is what the agent knows once it has done op, from its beginning.
func done(l Local, op Op, r Remote) Local {
	if op.Verb == RunHook || op.Verb == RunTask {
		l = After(l, op, Event{Kind: Began, At: r.Now})
	}
	return After(l, op, Event{Kind: Done, At: r.Now})
}

// mostDue bounds how far Due looks.
const mostDue = 200

// After is what the model says once the agent has done op, as far as that can
// be told: nobody else has changed it, a hook has succeeded and has written
// nothing, and no other task waits. r is not changed.
func (r Remote) After(op Op) Remote {
	switch op.Verb {
	case RunHook:
		r.Committed = op.Run
		if op.Hook.Kind == hooks.RelationBroken {
			r = r.inScope(false, op.Hook.RelationID)
		}
		if op.Hook.Kind == hooks.StorageDetaching {
			r = r.without(op.Hook.Storage)
		}
	case RunTask, AbortTask:
		r.Task, r.Committed = Task{}, max(r.Committed, op.Run)
	case MarkDying:
		r.Life = max(r.Life, model.Dying)
		r.Storage = slices.Clone(r.Storage)
		for i := range r.Storage {
			r.Storage[i].Going = true
		}
	case MarkDead:
		r.Life = model.Dead
	case EnterScope:
		r = r.inScope(true, op.Relations...)
	case LeaveScope:
		r = r.inScope(false, op.Relations...)
	case Detach:
		r = r.without(op.Storage...)
	}
	return r
}

func (r Remote) inScope(in bool, ids ...model.RelationID) Remote {
	r.Relations = slices.Clone(r.Relations)
	for i, snap := range r.Relations {
		if slices.Contains(ids, snap.ID) {
			r.Relations[i].InScope = in
		}
	}
	return r
}

// without is what the model says without some storage.
func (r Remote) without(ids ...model.StorageID) Remote {
	r.Storage = slices.DeleteFunc(slices.Clone(r.Storage), func(s Storage) bool { return slices.Contains(ids, s.ID) })
	return r
}
