package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// Ref names a run of a unit. ID is the unit's, as others of its name may have had runs of
// that number.
type Ref struct {
	Unit model.UnitName
	ID   string
	Run  int64
}

// Causes knows which runs have written what other units' hooks tell of, and finds the
// run that a hook follows from. The zero value knows none.
//
// A hook tells of the newest that there is when it is decided on. So it follows from the
// last run that had committed by the revision at which it was decided on; what was written
// before that and not told of yet is in it as well. Of histories that don't have the
// revisions, it is the last run that had ended when the hook began.
type Causes struct {
	wrote map[topic]*writers
}

// topic is what hooks tell of: a databag of a unit or an application in a relation, an
// application's leader settings, or a secret.
type topic struct {
	relation model.RelationID // NoRelation: none
	unit     model.UnitName
	app      string
	secret   model.SecretID
}

// writers are the runs that have written something, the oldest first once they are sorted.
type writers struct {
	runs   []written
	sorted bool
}

type written struct {
	by  Ref
	rev int64 // 0: not known
	end time.Time
}

// maxWriters is how many runs are known of each topic: the newest.
const maxWriters = 10_000

// Note makes a run known. Runs may come in any order.
func (c *Causes) Note(e Entry) {
	if e.Outcome != Committed {
		return
	}
	w := written{by: Ref{e.Unit, e.ID, e.Run}, rev: e.Rev, end: e.Started.Add(e.Duration)}
	for _, id := range e.Written.Bags {
		c.add(topic{relation: id, unit: e.Unit}, w)
	}
	for _, id := range e.Written.AppBags {
		c.add(topic{relation: id, app: e.Unit.Application()}, w)
	}
	for _, id := range e.Written.Secrets {
		c.add(topic{relation: model.NoRelation, secret: id}, w)
	}
	if e.Written.Leader > 0 {
		c.add(topic{relation: model.NoRelation, app: e.Unit.Application()}, w)
	}
}

func (c *Causes) add(t topic, w written) {
	if c.wrote == nil {
		c.wrote = map[topic]*writers{}
	}
	all := c.wrote[t]
	if all == nil {
		all = &writers{}
		c.wrote[t] = all
	}
	all.runs = append(all.runs, w)
	all.sorted = len(all.runs) == 1
	if len(all.runs) >= 2*maxWriters {
		all.sort()
		all.runs = slices.Clone(all.runs[len(all.runs)-maxWriters:])
	}
}

// sort puts the oldest first. Those without a revision are older than any with one.
func (w *writers) sort() {
	if w.sorted {
		return
	}
	slices.SortStableFunc(w.runs, func(a, b written) int { return cmp.Or(cmp.Compare(a.rev, b.rev), a.end.Compare(b.end)) })
	w.sorted = true
}

// Of is the run of another unit that e's hook follows from; false: it follows from
// none, as one that a person has caused, or from one that isn't known.
func (c *Causes) Of(e Entry) (Ref, bool) {
	about, ok := subject(e)
	all := c.wrote[about]
	if !ok || all == nil {
		return Ref{}, false
	}
	all.sort()
	// The first that e was decided on before.
	n, _ := slices.BinarySearchFunc(all.runs, e, func(w written, e Entry) int {
		if w.before(e) {
			return -1
		}
		return 1
	})
	for n--; n >= 0; n-- {
		if by := all.runs[n].by; by.Unit != e.Unit {
			return by, true
		}
	}
	return Ref{}, false
}

// before says whether e was decided on after it.
func (w written) before(e Entry) bool {
	if w.rev > 0 && e.Seen > 0 {
		return w.rev <= e.Seen
	}
	return !w.end.After(e.Started)
}

// Follows says whether a hook may follow from another unit's run.
func Follows(e Entry) bool {
	_, ok := subject(e)
	return ok
}

// subject is what a hook tells of; false: of nothing that a run writes.
func subject(e Entry) (topic, bool) {
	h := e.Hook
	switch {
	case (h.Kind == hooks.RelationJoined || h.Kind == hooks.RelationChanged) && h.RemoteUnit != "":
		return topic{relation: h.RelationID, unit: h.RemoteUnit}, true
	case h.Kind == hooks.RelationChanged:
		return topic{relation: h.RelationID, app: h.RemoteApp}, true
	case h.Kind == hooks.SecretChanged:
		return topic{relation: model.NoRelation, secret: h.Secret}, true
	case h.Kind == hooks.LeaderSettingsChanged:
		return topic{relation: model.NoRelation, app: e.Unit.Application()}, true
	}
	return topic{}, false
}
