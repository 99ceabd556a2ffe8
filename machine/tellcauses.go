package machine

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// told is what the agent that has a model has told its tracer of what people did to it.
// What was there before the agent isn't told of.
type told struct {
	since     int64 // the revision at which the agent began
	charms    map[string]string
	configs   map[string]int64
	relations map[model.RelationID]bool
}

// rememberCauses notes what there is as the agent begins, if there is a tracer to tell of
// what comes.
func (a *modelAgent) rememberCauses(ctx context.Context) (err error) {
	if a.Tracer == nil || a.Machine != nil {
		return nil
	}
	t := told{charms: map[string]string{}, configs: map[string]int64{}, relations: map[model.RelationID]bool{}}
	if t.since, err = a.model.Rev(ctx); err != nil {
		return errors.Trace(err)
	}
	apps, err := a.model.Applications(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	for _, app := range apps {
		t.charms[app.Name] = app.Charm
	}
	a.told = t
	return nil
}

// tellCauses tells the tracer what people have done, as far as a change says so. It is one
// agent that tells, as hooks on many hosts follow from one thing.
func (a *modelAgent) tellCauses(ctx context.Context, c state.Change) {
	if a.Tracer == nil || a.Machine != nil {
		return
	}
	for app := range c.Applications {
		if err := a.tellOfApplication(ctx, app); err != nil {
			a.log.Warn("cannot tell a trace what was done to an application", "application", app, "err", err)
		}
	}
	for id := range c.Relations {
		if err := a.tellOfRelation(ctx, id); err != nil {
			a.log.Warn("cannot tell a trace what was done to a relation", "relation", id, "err", err)
		}
	}
}

// tellOfApplication tells that options were set, or that another charm was. Options that
// an application was deployed with are no cause: see unit.causeOf.
func (a *modelAgent) tellOfApplication(ctx context.Context, app string) error {
	doc, err := a.model.Application(ctx, app)
	if errors.Is(err, errors.NotFound) {
		delete(a.told.charms, app)
		delete(a.told.configs, app)
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	if was, known := a.told.charms[app]; was != doc.Charm {
		a.told.charms[app] = doc.Charm
		if known {
			a.tell(charmCause(app, doc.Charm))
		}
	}
	o, err := a.model.Origin(ctx, state.TracedConfig(app))
	if err != nil || o.Rev <= max(a.told.since, a.told.configs[app]) || o.Rev == o.Made {
		return errors.Trace(err)
	}
	a.told.configs[app] = o.Rev
	a.tell(configCause(app, o))
	return nil
}

// tellOfRelation tells that applications were related.
func (a *modelAgent) tellOfRelation(ctx context.Context, id model.RelationID) error {
	o, err := a.model.Origin(ctx, state.TracedRelation(id))
	switch {
	case err != nil:
		return errors.Trace(err)
	case o.Made == 0:
		delete(a.told.relations, id)
		return nil
	case o.Made <= a.told.since || a.told.relations[id]:
		return nil
	}
	r, err := a.model.Relation(ctx, id)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	a.told.relations[id] = true
	a.tell(relationCause(id, r.Key, o))
	return nil
}

func (a *modelAgent) tell(c Cause) {
	c.Model, c.UUID, c.At = a.model.Name(), a.model.UUID(), a.Clock.Now()
	a.Tracer.Caused(c)
}
