package machine

import (
	"context"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// rollOut has the units of container applications have the pods that these ask for,
// one after the other. What it decides is in the model at once, so the next agent
// goes on where this one has ended.
func (a *modelAgent) rollOut(ctx context.Context, c state.Change) error {
	if a.Machine != nil {
		return nil // that is for the agent that has the models
	}
	apps := map[string]bool{}
	maps.Copy(apps, c.Applications)
	if c.Resync {
		all, err := a.model.Applications(ctx)
		if err != nil {
			return errors.Trace(err)
		}
		for _, app := range all {
			apps[app.Name] = app.Sidecar
		}
	}
	for unit := range c.Units {
		if app := unit.Application(); a.rolling[app] {
			apps[app] = true
		}
	}
	for _, app := range slices.Sorted(maps.Keys(apps)) {
		if !apps[app] {
			continue
		}
		waits, err := a.model.RollOut(ctx, app)
		if err != nil {
			return errors.Trace(err)
		}
		a.rolling[app] = waits
		if !waits {
			delete(a.rolling, app)
		}
	}
	return nil
}
