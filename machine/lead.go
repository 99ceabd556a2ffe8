package machine

import (
	"context"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// lead claims what leaderships have no holder: for the unit that led last, if
// it is here, else for the one with the lowest number.
func (a *modelAgent) lead(ctx context.Context, c state.Change) error {
	if !c.Resync && len(c.Applications) == 0 {
		return nil // there may be thousands of units
	}
	apps := map[string][]*running{}
	for name, u := range a.units {
		if app := name.Application(); c.Resync || c.Applications[app] {
			apps[app] = append(apps[app], u)
		}
	}
	for _, units := range apps {
		if err := a.claim(ctx, units); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// claimFor claims what units that are about to start need: that their machines
// are there, and the leadership of their applications.
func (a *modelAgent) claimFor(ctx context.Context, starting []*running) error {
	apps := map[string][]*running{}
	machines := map[string]bool{}
	for _, u := range starting {
		machines[u.machine] = true
		apps[u.name.Application()] = nil
	}
	if err := a.appear(ctx, slices.Collect(maps.Keys(machines))...); err != nil {
		return errors.Trace(err)
	}
	for name, u := range a.units {
		if _, ok := apps[name.Application()]; ok {
			apps[name.Application()] = append(apps[name.Application()], u)
		}
	}
	for _, units := range apps {
		if err := a.claim(ctx, units); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// claim claims the leadership of the application of units, all of which are
// here.
func (a *modelAgent) claim(ctx context.Context, units []*running) error {
	slices.SortFunc(units, func(x, y *running) int { return model.CompareUnits(x.name, y.name) })
	now, last, err := a.model.Leadership(ctx, units[0].name.Application())
	if err != nil {
		return errors.Trace(err)
	}
	candidates := make([]model.UnitName, 0, len(units)+1)
	for _, first := range []model.UnitName{now, last} {
		if first != "" && a.units[first] != nil {
			candidates = append(candidates, first)
		}
	}
	if now != "" && len(candidates) == 0 || now != "" && candidates[0] != now {
		return nil // it is led from elsewhere
	}
	for _, u := range units {
		candidates = append(candidates, u.name)
	}
	for _, name := range candidates {
		leads := false
		err := a.leased(ctx, func(l store.LeaseID) (err error) {
			leads, err = a.model.ClaimLeadership(ctx, name, l)
			return errors.Trace(err)
		})
		if err != nil && !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
		if leads {
			return nil
		}
	}
	return nil
}

// leased writes something that hangs on the lease. It is errors.NotFound where
// the lease has expired, as on a laptop that slept; then a new one is taken,
// and do is called once more.
func (a *modelAgent) leased(ctx context.Context, do func(store.LeaseID) error) error {
	err := do(a.lease.current())
	if !errors.Is(err, errors.NotFound) {
		return errors.Trace(err)
	}
	if err := a.lease.keep(ctx); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(do(a.lease.current()))
}

// leads says under which epoch the unit leads, and 0 if it doesn't: what is said
// holds for leaderTime, for so long does the lease live on which it hangs, however
// the clocks of machines differ.
func (u *unit) leads(ctx context.Context) (int64, error) {
	// The second time it is asked of what the first has claimed.
	for range 2 {
		epoch, on, err := u.patient.Leads(ctx, u.name)
		if err != nil || epoch == 0 {
			return 0, errors.Trace(err)
		}
		mine := u.lease.current()
		if on == mine {
			ok, err := u.lease.lasts(ctx, on, leaderTime)
			if !ok {
				return 0, errors.Trace(err)
			}
			return epoch, nil
		}
		// It hangs on another agent's lease, or on a former one of this agent.
		if _, err := u.model.ClaimLeadership(ctx, u.name, mine); err != nil {
			return 0, errors.Trace(err)
		}
	}
	return 0, nil
}
