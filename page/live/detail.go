package live

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
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
	return page.DetailOf(f), nil
}
