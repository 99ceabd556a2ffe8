package external

import (
	"context"
	"log/slog"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Link is between a model that has consumed offers and the one of another store that makes them. It
// isn't safe for use by several goroutines; but several Links of the same models do no harm.
type Link struct {
	// Here has consumed, There offers.
	Here, There *state.Model
	// Doc says where There is; Run ends once Here has it otherwise.
	Doc state.ExternalDoc
	// Log is told of relations that can't be made.
	Log *slog.Logger

	// halves are those that say the same, by their ids on either side, as of the last Round.
	halves [2]map[model.RelationID]half
}

// half is one half of a relation of which the other one is there.
type half struct {
	own   string // the application of its model
	other model.RelationID
}

// The sides of a Link.
const (
	here = iota
	there
)

func (l *Link) side(i int) *state.Model { return [2]*state.Model{l.Here, l.There}[i] }

// Round brings all that both models say to the other one. More may be to do when it has: what it
// changes is told by both stores. What can't be brought keeps no other relation waiting; the error is
// the first. A store that lacks one of the models and doesn't know that it was
// removed, as while it is being restored, says nothing: that is an error.
func (l *Link) Round(ctx context.Context) error {
	for side, name := range []string{"here", "there"} {
		if err := l.side(side).Known(ctx); err != nil {
			return errors.Annotate(err, name)
		}
	}
	ours, err := l.Here.Halves(ctx, l.There.UUID(), false)
	if err != nil {
		return errors.Annotate(err, "here")
	}
	theirs, err := l.There.Halves(ctx, l.Here.UUID(), true)
	if err != nil {
		return errors.Annotate(err, "there")
	}
	l.halves = [2]map[model.RelationID]half{{}, {}}
	for _, t := range theirs {
		i := slices.IndexFunc(ours, func(o state.RelationDoc) bool { return belong(o, t) })
		if i < 0 {
			o, err := l.Here.Relation(ctx, t.Across.Relation)
			switch {
			case err == nil && belong(o, t): // it was made just now
				ours, i = append(ours, o), len(ours)
			case err != nil && !errors.Is(err, errors.NotFound):
				return errors.Annotate(err, "here")
			}
		}
		if i < 0 {
			if err := l.There.TakeHalf(ctx, t.ID, state.Half{Gone: true}); err != nil {
				return errors.Annotatef(err, "there, relation %d", t.ID)
			}
			continue
		}
		if ours[i].Across.Relation == model.NoRelation { // who has had it made has said so to nobody
			if err := l.Here.Accepted(ctx, ours[i].ID, t.ID); err != nil {
				return errors.Annotatef(err, "here, relation %d", ours[i].ID)
			}
			ours[i].Across.Relation = t.ID
		}
		l.know(ours[i], t.ID)
	}
	var first error
	for _, o := range ours { // one that can't be brought is no reason to keep the others waiting
		if err := l.bring(ctx, o); err != nil && first == nil {
			first = errors.Annotatef(err, "relation %d", o.ID)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return first
}

// belong says whether two halves are those of one relation. A store that was restored from a backup
// gives ids anew, so what they relate counts too.
func belong(o, t state.RelationDoc) bool {
	if o.Across == nil || !o.Across.External || t.Across.Relation != o.ID || o.Across.OfferID != t.Across.OfferID ||
		o.Across.Relation != t.ID && o.Across.Relation != model.NoRelation {
		return false
	}
	own, theirs, _ := o.Endpoint(o.Across.Own)
	stranger, _ := t.Stranger()
	offered, _, _ := t.Endpoint(t.Across.Own)
	return stranger.Application == o.Across.As && stranger.Name == own.Name && offered.Name == theirs.Name
}

func (l *Link) know(o state.RelationDoc, other model.RelationID) {
	l.halves[here][o.ID] = half{o.Across.Own, other}
	l.halves[there][other] = half{o.Across.Theirs, o.ID}
}

// bring brings all that is said in a relation of this side to the other one, and back.
func (l *Link) bring(ctx context.Context, o state.RelationDoc) error {
	_, paired := l.halves[here][o.ID]
	switch {
	case paired:
	case o.Across.Relation != model.NoRelation:
		return errors.Trace(l.Here.TakeHalf(ctx, o.ID, state.Half{Gone: true}))
	case o.Life != model.Alive:
		return nil // it goes by itself: nobody is in it on the other side
	default:
		id, err := l.Propose(ctx, o)
		if err != nil {
			return errors.Trace(l.refused(ctx, o, err))
		}
		l.know(o, id)
	}
	for from := range l.halves {
		id := o.ID
		if from == there {
			id = l.halves[here][o.ID].other
		}
		if err := l.tell(ctx, from, id, nil); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// Propose has the other half of a relation made, and returns its id. The error is Refused for one that
// can't be.
func (l *Link) Propose(ctx context.Context, o state.RelationDoc) (model.RelationID, error) {
	id, err := l.There.Accept(ctx, l.Here.UUID(), o)
	if err != nil {
		return 0, errors.Trace(err)
	}
	return id, errors.Trace(l.Here.Accepted(ctx, o.ID, id))
}

// Refused says of the error of Propose that the other model won't have the relation, now or later.
func Refused(err error) bool {
	return errors.Is(err, errors.NotFound) || errors.Is(err, errors.NotValid) || errors.Is(err, errors.QuotaLimitExceeded)
}

// refused removes a relation that the other model won't have.
func (l *Link) refused(ctx context.Context, o state.RelationDoc, why error) error {
	switch {
	case errors.Is(why, errors.AlreadyExists):
		return nil // a former one is in the way, which goes, and that is told
	case !Refused(why):
		return errors.Trace(why)
	}
	l.Log.Warn("a relation with a model of another store can't be made, and is removed", "relation", o.Key, "err", why)
	err := l.Here.DestroyRelationID(ctx, o.ID)
	if errors.Is(err, errors.NotFound) { // who has made it has taken it back
		return nil
	}
	return errors.Trace(err)
}

// tell brings what one half says to the other one; of units: nil for all.
func (l *Link) tell(ctx context.Context, from int, id model.RelationID, of []model.UnitName) error {
	says, err := l.side(from).OwnHalf(ctx, id, of)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(l.side(1-from).TakeHalf(ctx, l.halves[from][id].other, says))
}

// changed brings what has changed on one side to the other one.
func (l *Link) changed(ctx context.Context, from int, c state.Change) error {
	if c.Resync {
		return l.Round(ctx)
	}
	for id, touched := range c.Relations {
		if touched.Itself { // it may be new, or gone
			return l.Round(ctx)
		}
		h, known := l.halves[from][id]
		if !known {
			continue // of this model alone
		}
		of := []model.UnitName{}
		for unit := range touched.Units {
			if unit.Application() == h.own {
				of = append(of, unit)
			}
		}
		if len(of) == 0 && !touched.Applications[h.own] {
			continue // it is what was brought here
		}
		if err := l.tell(ctx, from, id, of); err != nil {
			return errors.Annotatef(err, "relation %d", id)
		}
	}
	return nil
}

// See notes the statuses of what is offered with what was consumed.
func (l *Link) See(ctx context.Context) error {
	all, err := l.Here.ConsumedExternal(ctx, l.There.UUID())
	if err != nil {
		return errors.Trace(err)
	}
	for _, s := range all {
		status, err := l.There.OfferStatus(ctx, s)
		if err == nil {
			err = l.Here.SeeSAAS(ctx, s, status)
		}
		if err != nil {
			return errors.Annotatef(err, "saas application %s", s.Name)
		}
	}
	return nil
}

// Fail notes with what was consumed that the other model can't be reached, and why.
func Fail(ctx context.Context, m *state.Model, uuid string, why error) error {
	all, err := m.ConsumedExternal(ctx, uuid)
	if err != nil {
		return errors.Trace(err)
	}
	for _, s := range all {
		if s.Seen != nil && s.Seen.Status == model.StatusTerminated {
			continue // what is gone stays so
		}
		if err := m.SeeSAAS(ctx, s, model.Status{Status: model.StatusError, Message: why.Error()}); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
