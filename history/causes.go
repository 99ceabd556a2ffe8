package history

import (
	"slices"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// Ref names a run of a unit.
type Ref struct {
	Unit model.UnitName `json:"unit"`
	Run  int64          `json:"run"`
}

// Causes knows which runs have written what other units' hooks tell of, and finds the
// run that a hook follows from. The zero value knows none.
//
// A hook tells of the newest that there is when it is decided on. So it follows from the
// last run that had committed by the revision at which it was decided on; what was written
// before that and not told of yet is in it as well. Of histories that don't have the
// revisions, it is the last run that had ended when the hook began.
type Causes struct {
	wrote map[topic][]written
}

// topic is what hooks tell of: a relation's databags, an application's leader settings,
// or a secret. Only one of the three is set.
type topic struct {
	relation model.RelationID
	leaders  string
	secret   model.SecretID
}

type written struct {
	by  Ref
	rev int64 // 0: not known
	end time.Time
}

// before says whether e was decided on after it.
func (w written) before(e Entry) bool {
	if w.rev > 0 && e.Seen > 0 {
		return w.rev <= e.Seen
	}
	return !w.end.After(e.Started)
}

// after says whether it is newer than another one.
func (w written) after(other written) bool {
	if w.rev > 0 && other.rev > 0 {
		return w.rev > other.rev
	}
	return !w.end.Before(other.end)
}

// Note makes a run known. Runs may come in any order.
func (c *Causes) Note(e Entry) {
	if e.Outcome != Committed || e.Written.IsZero() {
		return
	}
	w := written{by: Ref{e.Unit, e.Run}, rev: e.Rev, end: e.Started.Add(e.Duration)}
	for _, id := range e.Written.Bags {
		c.add(topic{relation: id}, w)
	}
	for _, id := range e.Written.Secrets {
		c.add(topic{relation: model.NoRelation, secret: id}, w)
	}
	if e.Written.Leader > 0 {
		c.add(topic{relation: model.NoRelation, leaders: e.Unit.Application()}, w)
	}
}

func (c *Causes) add(t topic, w written) {
	if c.wrote == nil {
		c.wrote = map[topic][]written{}
	}
	c.wrote[t] = append(c.wrote[t], w)
}

// Of is the run of another unit that e's hook follows from; false: it follows from
// none, as one that a person has caused, or from one that isn't known.
func (c *Causes) Of(e Entry) (Ref, bool) {
	about, by := subject(e)
	if by == nil {
		return Ref{}, false
	}
	var found written
	for _, w := range c.wrote[about] {
		if w.by.Unit != e.Unit && by(w.by.Unit) && w.before(e) && (found.by.Run == 0 || w.after(found)) {
			found = w
		}
	}
	return found.by, found.by.Run != 0
}

// subject is what a hook tells of, and who can have written that; nil: it tells of
// nothing that a run writes.
func subject(e Entry) (topic, func(model.UnitName) bool) {
	h := e.Hook
	ofApplication := func(name string) func(model.UnitName) bool {
		return func(u model.UnitName) bool { return u.Application() == name }
	}
	switch {
	case slices.Contains([]hooks.Kind{hooks.RelationJoined, hooks.RelationChanged}, h.Kind) && h.RemoteUnit != "":
		return topic{relation: h.RelationID}, func(u model.UnitName) bool { return u == h.RemoteUnit }
	case h.Kind == hooks.RelationChanged:
		return topic{relation: h.RelationID}, ofApplication(h.RemoteApp)
	case h.Kind == hooks.SecretChanged:
		return topic{relation: model.NoRelation, secret: h.Secret}, func(model.UnitName) bool { return true }
	case h.Kind == hooks.LeaderSettingsChanged:
		return topic{relation: model.NoRelation, leaders: e.Unit.Application()}, ofApplication(e.Unit.Application())
	}
	return topic{}, nil
}
