package resolver

import (
	"slices"

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
			r = r.after(op)
		}
		op := Next(l, r)
		ops = append(ops, op)
		switch op.Verb {
		case RunHook, Idle, Terminate:
			return ops, nil
		}
		l = After(l, op, Event{Kind: Done, At: r.Now})
	}
	return ops, nil
}

// previewMost bounds the operations of a preview. Between two hooks there are
// never that many.
const previewMost = 50

// after is what the model says once the agent has done op.
func (r Remote) after(op Op) Remote {
	switch op.Verb {
	case MarkDying:
		r.Life = max(r.Life, model.Dying)
	case MarkDead:
		r.Life = model.Dead
	case EnterScope, LeaveScope:
		r.Relations = slices.Clone(r.Relations)
		for i, snap := range r.Relations {
			if slices.Contains(op.Relations, snap.ID) {
				r.Relations[i].InScope = op.Verb == EnterScope
			}
		}
	}
	return r
}
