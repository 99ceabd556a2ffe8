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
	holder, err := d.leader(unit.Application())
	if err != nil {
		return claim{}, errors.Trace(err)
	}
	if holder.Unit == "" {
		free := u.Life == model.Alive
		return claim{leads: free, write: free}, nil
	}
	return claim{leads: holder.Unit == unit, write: holder.Unit == unit && holder.lease != lease}, nil
}

// leaderDoc says who leads an application, and under the key of the last leader
// who has led it last. Epoch counts the times that somebody began to lead it:
// who writes under an epoch that has passed, writes nothing, and be it the same
// unit that leads again.
type leaderDoc struct {
	Unit  model.UnitName `json:"unit"`
	Epoch int64          `json:"epoch"`

	lease store.LeaseID
}

// leader is the leader of an application; the zero value: nobody leads it.
func (d docs) leader(application string) (leaderDoc, error) {
	var doc leaderDoc
	key := leaderKey(application)
	kv, err := d.Get(d.m.prefix() + key)
	if errors.Is(err, errors.NotFound) {
		return doc, nil
	}
	if err != nil {
		return doc, errors.Trace(err)
	}
	doc.lease = kv.Lease
	return doc, errors.Annotatef(json.Unmarshal(kv.Value, &doc), "document %s", key)
}

// putLeader makes the unit the leader and the one that led last. An epoch begins
// where it isn't the leader already.
func (t *txn) putLeader(unit model.UnitName, lease store.LeaseID) error {
	app := unit.Application()
	doc, err := t.leader(app)
	if err != nil {
		return errors.Trace(err)
	}
	anew := doc.Unit != unit
	if anew {
		if _, err := t.find(lastLeaderKey(app), &doc); err != nil {
			return errors.Trace(err)
		}
		doc = leaderDoc{Unit: unit, Epoch: doc.Epoch + 1}
	}
	value, err := json.Marshal(doc)
	if err != nil {
		return errors.Trace(err)
	}
	if err := t.tx.PutLease(t.m.prefix()+leaderKey(app), value, lease); err != nil || !anew {
		return errors.Trace(err)
	}
	return t.put(lastLeaderKey(app), doc)
}

// Leadership says who leads an application and who led it last; both are empty
// where nobody does, or did.
func (m *Model) Leadership(ctx context.Context, application string) (now, last model.UnitName, err error) {
	var leads, led leaderDoc
	_, err = m.view(ctx, func(r docs) (err error) {
		if leads, err = r.leader(application); err != nil {
			return errors.Trace(err)
		}
		led = leaderDoc{}
		_, err = r.find(lastLeaderKey(application), &led)
		return errors.Trace(err)
	})
	return leads.Unit, led.Unit, errors.Trace(err)
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

// Leads says under which epoch the unit leads its application, and by which
// lease; the epoch is 0 if it doesn't lead. Epochs are counted from 1, by
// application; see model.Changes.Epoch.
func (m *Model) Leads(ctx context.Context, unit model.UnitName) (epoch int64, lease store.LeaseID, err error) {
	var doc leaderDoc
	_, err = m.view(ctx, func(r docs) (err error) {
		doc, err = r.leader(unit.Application())
		return errors.Trace(err)
	})
	if err != nil || doc.Unit != unit {
		return 0, 0, errors.Trace(err)
	}
	return doc.Epoch, doc.lease, nil
}

func (d docs) isLeader(unit model.UnitName) (bool, error) {
	doc, err := d.leader(unit.Application())
	return doc.Unit == unit, errors.Trace(err)
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

// Depose has another unit lead the application, as if the leader's lease had
// ended and the other had been faster: the Alive unit with the next number, or
// the first one. An application with no other unit loses its leader. The error
// is NotFound for an unknown application, and where nobody leads.
func (m *Model) Depose(ctx context.Context, application string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		if _, err := tx.application(application); err != nil {
			return errors.Trace(err)
		}
		holder, err := tx.leader(application)
		if err != nil {
			return errors.Trace(err)
		}
		if holder.Unit == "" {
			return errors.NewNotFound(nil, fmt.Sprintf("application %q has no leader", application))
		}
		next, err := tx.otherUnit(application, holder.Unit)
		if err != nil {
			return errors.Trace(err)
		}
		if next == "" {
			return tx.delete(leaderKey(application))
		}
		return tx.putLeader(next, holder.lease)
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
