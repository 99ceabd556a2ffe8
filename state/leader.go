package state

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// ClaimLeadership makes a unit its application's leader for as long as the
// lease lives, if it is Alive and nobody else leads, and says whether it leads
// now.
func (m *Model) ClaimLeadership(ctx context.Context, unit model.UnitName, lease store.LeaseID) (bool, error) {
	var c claim
	ask := func(d docs) (err error) {
		c, err = d.claim(unit, lease)
		return errors.Trace(err)
	}
	// Mostly there is nothing to write; then no writer need be waited for.
	_, err := m.view(ctx, ask)
	if err == nil && c.write {
		_, err = m.update(ctx, func(tx *txn) error {
			if err := ask(tx.docs); err != nil || !c.write {
				return errors.Trace(err)
			}
			return tx.putLeader(unit, lease)
		}, store.Relaxed)
	}
	return c.leads && err == nil, errors.Annotatef(err, "cannot claim the leadership of %s for %s", unit.Application(), unit)
}

// claim is what comes of claiming a leadership: whether the unit leads then,
// and whether that has to be written.
type claim struct{ leads, write bool }

func (d docs) claim(unit model.UnitName, lease store.LeaseID) (claim, error) {
	u, err := d.unit(unit)
	if err != nil {
		return claim{}, errors.Trace(err)
	}
	key := leaderKey(unit.Application())
	kv, err := d.Get(d.m.prefix() + key)
	if errors.Is(err, errors.NotFound) {
		free := u.Life == model.Alive
		return claim{leads: free, write: free}, nil
	}
	if err != nil {
		return claim{}, errors.Trace(err)
	}
	var holder model.UnitName
	if err := json.Unmarshal(kv.Value, &holder); err != nil {
		return claim{}, errors.Annotatef(err, "document %s", key)
	}
	return claim{leads: holder == unit, write: holder == unit && kv.Lease != lease}, nil
}

// putLeader makes the unit the leader and the one that led last.
func (t *txn) putLeader(unit model.UnitName, lease store.LeaseID) error {
	value, err := json.Marshal(unit)
	if err != nil {
		return errors.Trace(err)
	}
	app := unit.Application()
	if err := t.tx.PutLease(t.m.prefix()+leaderKey(app), value, lease); err != nil {
		return errors.Trace(err)
	}
	return t.put(lastLeaderKey(app), unit)
}

// Leadership says who leads an application and who led it last; both are empty
// where nobody does, or did.
func (m *Model) Leadership(ctx context.Context, application string) (now, last model.UnitName, err error) {
	_, err = m.view(ctx, func(r docs) error {
		if _, err := r.find(leaderKey(application), &now); err != nil {
			return errors.Trace(err)
		}
		_, err := r.find(lastLeaderKey(application), &last)
		return errors.Trace(err)
	})
	return now, last, errors.Trace(err)
}

// ReleaseLeadership ends the unit's leadership, if it has it.
func (m *Model) ReleaseLeadership(ctx context.Context, unit model.UnitName) error {
	_, err := m.update(ctx, func(tx *txn) error {
		leads, err := tx.isLeader(unit)
		if err != nil || !leads {
			return errors.Trace(err)
		}
		return tx.delete(leaderKey(unit.Application()))
	}, store.Relaxed)
	return errors.Trace(err)
}

// IsLeader says whether the unit leads its application.
func (m *Model) IsLeader(ctx context.Context, unit model.UnitName) (bool, error) {
	leads := false
	_, err := m.view(ctx, func(r docs) (err error) {
		leads, err = r.isLeader(unit)
		return errors.Trace(err)
	})
	return leads, errors.Trace(err)
}

func (d docs) isLeader(unit model.UnitName) (bool, error) {
	var holder model.UnitName
	_, err := d.find(leaderKey(unit.Application()), &holder)
	return holder == unit, errors.Trace(err)
}

// LeaderSettings are what the application's leaders have set by leader-set.
func (m *Model) LeaderSettings(ctx context.Context, application string) (model.Settings, error) {
	doc := settingsDoc{Values: model.Settings{}}
	_, err := m.view(ctx, func(r docs) error {
		_, err := r.find(leaderSettingsKey(application), &doc)
		return errors.Trace(err)
	})
	return doc.Values, errors.Trace(err)
}

// SetPresence says that the machine's agent is there, for as long as the lease
// lives.
func (m *Model) SetPresence(ctx context.Context, machine string, lease store.LeaseID) error {
	_, err := m.store.Update(ctx, func(tx store.Tx) error {
		return tx.PutLease(m.prefix()+presenceKey(machine), []byte(`true`), lease)
	}, store.Relaxed)
	return errors.Annotatef(err, "cannot show that machine %s is there", machine)
}

// Depose has another unit lead the application, as if the leader's lease had
// ended and the other had been faster: the Alive unit with the next number, or
// the first one. An application with no other unit loses its leader. The error
// is NotFound for an unknown application, and where nobody leads.
func (m *Model) Depose(ctx context.Context, application string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		if _, err := tx.application(application); err != nil {
			return errors.Trace(err)
		}
		kv, err := tx.Get(m.prefix() + leaderKey(application))
		if err != nil {
			return errors.NewNotFound(nil, fmt.Sprintf("application %q has no leader", application))
		}
		var holder model.UnitName
		if err := json.Unmarshal(kv.Value, &holder); err != nil {
			return errors.Annotatef(err, "document %s", leaderKey(application))
		}
		next, err := tx.otherUnit(application, holder)
		if err != nil {
			return errors.Trace(err)
		}
		if next == "" {
			return tx.delete(leaderKey(application))
		}
		return tx.putLeader(next, kv.Lease)
	})
	return errors.Annotatef(err, "cannot depose the leader of %s", application)
}

// otherUnit is the Alive unit that comes after one, or the first one; empty:
// there is no other.
func (d docs) otherUnit(application string, than model.UnitName) (model.UnitName, error) {
	units, err := list[UnitDoc](d, unitsOf(application))
	if err != nil {
		return "", errors.Trace(err)
	}
	var before, after []model.UnitName
	for _, u := range units {
		switch {
		case u.Life != model.Alive || u.Name == than:
		case u.Name.Number() < than.Number():
			before = append(before, u.Name)
		default:
			after = append(after, u.Name)
		}
	}
	slices.SortFunc(after, model.CompareUnits)
	slices.SortFunc(before, model.CompareUnits)
	for _, name := range append(after, before...) {
		return name, nil
	}
	return "", nil
}
