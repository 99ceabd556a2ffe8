package live

import (
	"context"
	"path/filepath"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/opsstate"
	"github.com/unitd/unitd/page"
	"github.com/unitd/unitd/why"
)

// Detail gathers what is shown of a unit; why is what holds it up. NotFound: there is no
// such unit.
func (v *View) Detail(ctx context.Context, unit model.UnitName, why why.Answer) (page.Detail, error) {
	u, err := v.model.ShowUnit(ctx, unit)
	if err != nil {
		return page.Detail{}, errors.Trace(err)
	}
	f := page.Facts{Unit: u, Own: map[model.RelationID]model.Settings{}, Why: why}
	for _, r := range u.Relations {
		if f.Own[r.ID], err = v.model.ApplicationSettings(ctx, r.ID, unit.Application()); err != nil && !errors.Is(err, errors.NotFound) {
			return page.Detail{}, errors.Trace(err)
		}
	}
	if f.Config, err = v.model.Config(ctx, unit.Application()); err != nil {
		return page.Detail{}, errors.Trace(err)
	}
	if f.Secrets, err = v.model.Secrets(ctx); err != nil {
		return page.Detail{}, errors.Trace(err)
	}
	if f.Storage, err = v.model.StorageOf(ctx, unit); err != nil {
		return page.Detail{}, errors.Trace(err)
	}
	if f.State, err = v.model.CharmState(ctx, unit); err != nil {
		return page.Detail{}, errors.Trace(err)
	}
	f.Deferred = v.deferred(unit, f.State)
	return page.DetailOf(f), nil
}

// maxState is how large a file of a charm's state is read, in bytes.
const maxState = 16 << 20

// deferred are the events that a charm with Ops has put off, where they can be read: on
// this host, or in the model.
func (v *View) deferred(unit model.UnitName, state map[string]string) []page.Deferred {
	events, err := opsstate.InModel(state)
	if err != nil || len(events) == 0 {
		b, err := durable.ReadRegular(filepath.Join(machine.ModelDir(v.dir, v.model.UUID()), "agents", unit.Tag(), "charm"), opsstate.File, maxState)
		if err != nil {
			return nil
		}
		if events, err = opsstate.Stored(b); err != nil {
			return nil // the next look may find it whole
		}
	}
	var out []page.Deferred
	for _, e := range events {
		out = append(out, page.Deferred{Event: e.Name, Observer: e.Observer})
	}
	return out
}
