package machine

import (
	"context"
	"maps"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// causesTold is what the tracer was told of what people have done to a model. One agent tells
// it, that which has the model, as hooks on many hosts follow from one thing. It is in the
// model, so that the agent goes on from there when it is started again.
type causesTold struct {
	state.ToldOf
	configs   map[string]int64
	relations map[model.RelationID]bool
	dirty     bool // there is something to be noted in the model
}

// noteTime is how long after something was told that is noted: hooks that follow from it have
// the store for themselves meanwhile, and what is told at about the same time is noted once. If
// the agent is killed before, the next one tells it again, as the same span.
const noteTime = time.Second

// tellCauses tells the tracer what people have done, as far as a change says so.
func (a *modelAgent) tellCauses(ctx context.Context, c state.Change) {
	if a.Tracer == nil || a.Machine != nil {
		return
	}
	if err := a.tellAll(ctx, c); err != nil && ctx.Err() == nil {
		a.log.Warn("cannot tell a trace what was done", "err", err)
	}
}

func (a *modelAgent) tellAll(ctx context.Context, c state.Change) (err error) {
	t := a.told
	if t == nil {
		t = &causesTold{relations: map[model.RelationID]bool{}, configs: map[string]int64{}}
		if t.ToldOf, _, err = a.model.ToldOf(ctx); err != nil {
			return errors.Trace(err)
		}
		if t.Charms == nil {
			t.Charms = map[string]string{}
		}
		a.told = t
	}
	apps, relations := map[string]bool{}, map[model.RelationID]bool{}
	maps.Copy(apps, c.Applications)
	for id := range c.Relations {
		relations[id] = true
	}
	rev := max(a.rev, t.Rev)
	if c.Resync {
		if rev, err = a.everyCause(ctx, apps, relations); err != nil {
			return errors.Trace(err)
		}
	}
	for app := range apps {
		if err := a.tellOfApplication(ctx, t, app); err != nil {
			return errors.Annotatef(err, "application %s", app)
		}
	}
	for id := range relations {
		if err := a.tellOfRelation(ctx, t, id); err != nil {
			return errors.Annotatef(err, "relation %d", id)
		}
	}
	if !t.dirty {
		return nil
	}
	t.Rev = max(t.Rev, rev)
	if a.noting == nil {
		a.noting = a.Clock.After(noteTime)
	}
	return nil
}

// noteTold notes in the model what was told, if that is still to be done.
func (a *modelAgent) noteTold(ctx context.Context) {
	a.noting = nil
	if a.told == nil || !a.told.dirty {
		return
	}
	err := a.model.PutToldOf(ctx, a.told.ToldOf)
	a.told.dirty = err != nil // then it is noted with what is told next
	if err != nil && ctx.Err() == nil {
		a.log.Warn("cannot note what a trace was told", "err", err)
	}
}

// noteAtLast is noteTold at the end of the agent.
func (a *modelAgent) noteAtLast(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer stop()
	a.noteTold(ctx)
}

// everyCause adds all applications and relations, and returns the revision that they are of.
func (a *modelAgent) everyCause(ctx context.Context, apps map[string]bool, relations map[model.RelationID]bool) (int64, error) {
	rev, err := a.model.Rev(ctx)
	if err != nil {
		return 0, errors.Trace(err)
	}
	all, err := a.model.Applications(ctx)
	if err != nil {
		return 0, errors.Trace(err)
	}
	for _, app := range all {
		apps[app.Name] = true
	}
	ids, err := a.model.RelationIDs(ctx)
	for _, id := range ids {
		relations[id] = true
	}
	return rev, errors.Trace(err)
}

// tellOfApplication tells that options were set, or that another charm was. Options that
// an application was deployed with are no cause: see unit.causeOf.
func (a *modelAgent) tellOfApplication(ctx context.Context, t *causesTold, app string) error {
	doc, o, err := a.model.ApplicationOrigin(ctx, app)
	if errors.Is(err, errors.NotFound) {
		delete(t.Charms, app)
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	if was, known := t.Charms[app]; was != doc.Charm {
		t.Charms[app], t.dirty = doc.Charm, true
		if known {
			a.tell(charmCause(app, doc.Charm))
		}
	}
	if o.Rev <= t.Rev || o.Rev == o.Made || t.configs[app] == o.Rev {
		return nil
	}
	t.configs[app], t.dirty = o.Rev, true
	a.tell(configCause(app, o))
	return nil
}

// tellOfRelation tells that applications were related.
func (a *modelAgent) tellOfRelation(ctx context.Context, t *causesTold, id model.RelationID) error {
	if t.relations[id] {
		return nil
	}
	o, err := a.model.Origin(ctx, state.TracedRelation(id))
	if err != nil || o.Made == 0 {
		return errors.Trace(err)
	}
	t.relations[id] = true // ids aren't used again
	if o.Made <= t.Rev {
		return nil
	}
	r, err := a.model.Relation(ctx, id)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	t.dirty = true
	a.tell(relationCause(id, r.Key, o))
	return nil
}

func (a *modelAgent) tell(c Cause) {
	c.Model, c.UUID, c.At = a.model.Name(), a.model.UUID(), a.Clock.Now()
	a.Tracer.Caused(c)
}
