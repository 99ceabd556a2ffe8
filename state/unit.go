package state

import (
	"context"
	"fmt"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// Unit reads a unit; errors.NotFound if there is none.
func (m *Model) Unit(ctx context.Context, name model.UnitName) (UnitDoc, error) {
	var u UnitDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		u, err = r.unit(name)
		return errors.Trace(err)
	})
	return u, errors.Trace(err)
}

// Units are all units by application, then by number.
func (m *Model) Units(ctx context.Context) ([]UnitDoc, error) {
	var units []UnitDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		units, err = list[UnitDoc](r, "unit/")
		return errors.Trace(err)
	})
	slices.SortFunc(units, func(a, b UnitDoc) int { return model.CompareUnits(a.Name, b.Name) })
	return units, errors.Trace(err)
}

// DestroyUnit removes a principal unit (seed 000, "remove-unit"): it becomes
// Dying, and so do its subordinates. One that isn't Alive is left as it is,
// and one that no agent has taken on is gone at once.
func (m *Model) DestroyUnit(ctx context.Context, name model.UnitName) error {
	return errors.Trace(m.ForceUnit(ctx, name, Orderly))
}

// SetDying marks a unit Dying, with its subordinates: what an agent does with
// its own unit when its application is Dying.
func (m *Model) SetDying(ctx context.Context, name model.UnitName) error {
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(name)
		if err != nil {
			return errors.Trace(err)
		}
		return tx.setDying(u, Orderly)
	})
	return errors.Trace(err)
}

// setDying marks a unit and its subordinates. Of very many subordinates it marks
// some, and the others do it themselves, by findOrphan; what force there is they
// have from their principal.
func (t *txn) setDying(u UnitDoc, how Force) error {
	if u.Life == model.Dead || u.Life == model.Dying && u.Force >= how {
		return nil
	}
	for _, name := range u.Subordinates[:min(len(u.Subordinates), deathsPerTxn)] {
		s, err := t.unit(name)
		if err != nil {
			return errors.Trace(err)
		}
		if err := t.setDying(s, how); err != nil {
			return errors.Trace(err)
		}
	}
	u.Life, u.Force = model.Dying, max(u.Force, how)
	return t.put(unitKey(u.Name), u)
}

// removeUndeployed takes away a unit that is Dying, or whose application is,
// and that no agent has taken on; others it leaves.
func (t *txn) removeUndeployed(name model.UnitName) error {
	u, err := t.unit(name)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil || u.Deployed || len(u.Subordinates) > 0 {
		return errors.Trace(err)
	}
	if u.Life == model.Alive {
		app, err := t.application(name.Application())
		if err != nil || app.Life == model.Alive {
			return errors.Trace(err)
		}
	}
	// Who is in a scope has an agent, even if it hasn't said so.
	if in, err := t.inScopes(name, 1); err != nil || len(in) > 0 {
		return errors.Trace(err)
	}
	u.Life = model.Dead
	return t.removeUnit(u)
}

// SetDead marks a Dying unit Dead. It is refused for one that is Alive, in the
// scope of a relation, or has subordinates.
func (m *Model) SetDead(ctx context.Context, name model.UnitName) error {
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(name)
		if err != nil || u.Life == model.Dead {
			return errors.Trace(err)
		}
		if u.Life == model.Alive {
			return errors.NewNotValid(nil, fmt.Sprintf("unit %q is alive", name))
		}
		if len(u.Subordinates) > 0 {
			return errors.NewNotValid(nil, fmt.Sprintf("unit %q has subordinates", name))
		}
		all, err := tx.storageOf(u)
		if err != nil {
			return errors.Trace(err)
		}
		if len(Undetached(all)) > 0 {
			return errors.NewNotValid(nil, fmt.Sprintf("unit %q has storage attached", name))
		}
		in, err := tx.inScopes(name, 1)
		if err != nil {
			return errors.Trace(err)
		}
		if len(in) > 0 {
			r, err := tx.relation(in[0])
			if err != nil {
				return errors.Trace(err)
			}
			return errors.NewNotValid(nil, fmt.Sprintf("unit %q is in the scope of relation %q", name, r.Key))
		}
		u.Life = model.Dead
		return tx.put(unitKey(name), u)
	})
	return errors.Trace(err)
}

func (t *txn) removeUnit(u UnitDoc) error {
	if u.Principal != "" {
		if err := t.unassignFromPrincipal(u); err != nil {
			return errors.Trace(err)
		}
	}
	if err := t.unassignFromMachine(u); err != nil {
		return errors.Trace(err)
	}
	if err := t.detachAll(u); err != nil {
		return errors.Trace(err)
	}
	leads, err := t.isLeader(u.Name)
	if err != nil {
		return errors.Trace(err)
	}
	if leads {
		if err := t.delete(leaderKey(u.Name.Application())); err != nil {
			return errors.Trace(err)
		}
	}
	name := string(u.Name)
	err = t.delete(unitKey(u.Name), podKey(u.Name), charmStateKey(u.Name), failureKey(u.Name), containersKey(u.Name), statusKey(AgentStatus, name), statusKey(WorkloadStatus, name))
	if err != nil {
		return errors.Trace(err)
	}
	if u.Secrets {
		if err := t.queue(cleanupDoc{SecretsOf: u.ID}); err != nil {
			return errors.Trace(err)
		}
	}
	if err := t.abandonTasks(u); err != nil {
		return errors.Trace(err)
	}
	for _, k := range []StatusKind{AgentStatus, WorkloadStatus} {
		if err := t.dropHistory(k, name); err != nil {
			return errors.Trace(err)
		}
	}
	if err := t.referenced(u.Name.Application(), -1, 0); err != nil || !u.Pod {
		return errors.Trace(err)
	}
	// Its number may be wanted again by now.
	return t.queue(cleanupDoc{ScaleOf: u.Name.Application()})
}

func (t *txn) unassignFromPrincipal(u UnitDoc) error {
	p, err := t.unit(u.Principal)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	p.Subordinates = slices.DeleteFunc(p.Subordinates, func(n model.UnitName) bool { return n == u.Name })
	return t.put(unitKey(p.Name), p)
}

// SetDeployed says that an agent has taken the unit on; from then on an agent
// has to take it away. errors.NotFound if the unit is gone.
func (m *Model) SetDeployed(ctx context.Context, name model.UnitName) error {
	_, err := m.TakeOn(ctx, name, Report{})
	return errors.Trace(err)
}

// TakeOn is SetDeployed, and Tell in the same transaction. first: no agent has taken the unit on before;
// else nothing is written.
func (m *Model) TakeOn(ctx context.Context, name model.UnitName, r Report) (first bool, err error) {
	if _, err := m.view(ctx, func(d docs) error {
		u, err := d.unit(name)
		first = err == nil && !u.Deployed
		return errors.Trace(err)
	}); err != nil || !first {
		return false, errors.Trace(err)
	}
	_, err = m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(name)
		if err != nil {
			return errors.Trace(err)
		}
		if first = !u.Deployed; !first {
			return nil
		}
		u.Deployed = true
		if err := tx.put(unitKey(name), u); err != nil {
			return errors.Trace(err)
		}
		return tx.tell(u, r)
	}, store.Relaxed)
	return first && err == nil, errors.Trace(err)
}

// SetUnitCharm says which charm the unit's agent has deployed.
func (m *Model) SetUnitCharm(ctx context.Context, name model.UnitName, url string) error {
	return m.changeUnit(ctx, name, func(u *UnitDoc) bool {
		was := u.Charm
		u.Charm = url
		return was != url
	})
}

// SetRebooted says that the reboot that the unit's charm has asked for is done,
// or will not be.
func (m *Model) SetRebooted(ctx context.Context, name model.UnitName) error {
	return m.changeUnit(ctx, name, func(u *UnitDoc) bool {
		was := u.Reboot
		u.Reboot = ""
		return was != ""
	})
}

// changeUnit makes a change of a unit's document; change says whether there is one.
// Mostly there is none, as agents say again what they have said before: that takes a
// look, and no transaction.
func (m *Model) changeUnit(ctx context.Context, name model.UnitName, change func(*UnitDoc) bool) error {
	changes := false
	if _, err := m.view(ctx, func(r docs) error {
		u, err := r.unit(name)
		changes = err == nil && change(&u)
		return errors.Trace(err)
	}); err != nil || !changes {
		return errors.Trace(err)
	}
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(name)
		if err != nil {
			return errors.Trace(err)
		}
		if !change(&u) {
			return nil
		}
		return tx.put(unitKey(name), u)
	}, store.Relaxed)
	return errors.Trace(err)
}

// Resolve answers the failed hook of a unit: run it again, or go on as if it
// had succeeded. The answer names the failed run, so it can't be taken for
// another one's. The error is NotValid for a unit that isn't in error.
func (m *Model) Resolve(ctx context.Context, name model.UnitName, retry bool) error {
	_, err := m.update(ctx, func(tx *txn) error {
		u, err := tx.unit(name)
		if err != nil {
			return errors.Trace(err)
		}
		if err := u.resolvable(); err != nil {
			return err
		}
		u.Resolved = Resolved{Run: u.Failed, Mode: "skip"}
		if retry {
			u.Resolved.Mode = "retry"
		}
		return tx.put(unitKey(name), u)
	})
	return errors.Trace(err)
}

// resolvable is why a unit can't be resolved.
func (u UnitDoc) resolvable() error {
	switch {
	case u.Failed == 0:
		return errors.NewNotValid(nil, fmt.Sprintf("unit %q is not in an error state", u.Name))
	case u.Resolved.Run == u.Failed:
		return errors.NewAlreadyExists(nil, fmt.Sprintf("cannot set resolved mode for unit %q: already resolved", u.Name))
	}
	return nil
}
