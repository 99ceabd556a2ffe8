package state

import (
	"context"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// A secret that is granted along a relation across models stays in the model of its owner,
// where the units of the other model read it, as those of the stand-in. What such a unit reads
// is kept twice: by its own model, as of any secret, and with the secret, so that the owner
// knows which revisions are read. The secret has a list of the models that read it, and each of
// these gets a document when it changes: so their agents look again.
// Source: docs/spec/juju-clients.md §11.7.

// secretAbroad lists the models of others that read a secret.
func secretAbroad(id model.SecretID) string { return "secret-abroad/" + string(id) + "/" }

// secretNews is written when a secret of another model changes.
func secretNews(id model.SecretID) string { return "secret-news/" + string(id) }

// tellAbroad has other models look again at a secret that changes.
func (t *txn) tellAbroad(id model.SecretID) error {
	return t.eachAbroad(id, func(reader *txn) error {
		n := 0
		key := secretNews(id.Of(t.m.info.UUID))
		if there, err := reader.find(key, &n); err != nil || !there {
			return errors.Trace(err) // the model is gone
		}
		return reader.put(key, n+1)
	})
}

// endAbroad has other models look again at a secret that goes, for the last time.
func (t *txn) endAbroad(id model.SecretID) error {
	return t.eachAbroad(id, func(reader *txn) error { return reader.delete(secretNews(id.Of(t.m.info.UUID))) })
}

// eachAbroad does something in each model of others that reads a secret.
func (t *txn) eachAbroad(id model.SecretID, do func(reader *txn) error) error {
	kvs, err := t.Keys(t.m.prefix()+secretAbroad(id), "", maxListed)
	if err != nil {
		return errors.Trace(err)
	}
	for _, kv := range kvs {
		if err := do(t.at(kv.Key[strings.LastIndexByte(kv.Key, '/')+1:], "")); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// readAbroad keeps with a secret of another model what a unit of this one reads of it.
func (t *txn) readAbroad(read secretRead) error {
	uuid, plain := read.id.Split()
	owner := t.at(uuid, "")
	var news int
	if there, err := t.find(secretNews(read.id), &news); err != nil {
		return errors.Trace(err)
	} else if !there {
		if err := t.put(secretNews(read.id), 0); err != nil {
			return errors.Trace(err)
		}
		if err := owner.put(secretAbroad(plain)+t.m.info.UUID, struct{}{}); err != nil {
			return errors.Trace(err)
		}
	}
	if err := owner.put(secretReaders(plain)+read.unitID, read.consumer.Revision); err != nil {
		return errors.Trace(err)
	}
	return owner.prune(plain)
}

// readNoMore has the owner of a secret of another model know that a unit of this one reads
// it no more. With the model's last reader goes what its agents are told by.
func (t *txn) readNoMore(id model.SecretID, unitID string) error {
	uuid, plain := id.Split()
	owner := t.at(uuid, "")
	if err := owner.delete(secretReaders(plain) + unitID); err != nil {
		return errors.Trace(err)
	}
	if read, err := t.isRead(id); err != nil {
		return errors.Trace(err)
	} else if !read {
		if err := t.delete(secretNews(id)); err != nil {
			return errors.Trace(err)
		}
		if err := owner.delete(secretAbroad(plain) + t.m.info.UUID); err != nil {
			return errors.Trace(err)
		}
	}
	return owner.prune(plain)
}

// isRead says whether a unit of the model has read a secret of another one.
func (d docs) isRead(id model.SecretID) (bool, error) {
	units, err := list[UnitDoc](d, "unit/")
	if err != nil {
		return false, errors.Trace(err)
	}
	for _, u := range units {
		if !u.Secrets {
			continue
		}
		var reads consumerDoc
		if found, err := d.find(secretsReadBy(u.ID)+string(id), &reads); err != nil || found {
			return found, errors.Trace(err)
		}
	}
	return false, nil
}

// mayReadAbroad says whether a unit was granted a secret of another model, along a relation
// that is there. The grant is to what the owner's model calls the unit, or its application,
// in that relation, whichever side of it has the secret.
func (d docs) mayReadAbroad(u UnitDoc, s model.SecretInfo) (bool, error) {
	uuid, _ := s.ID.Split()
	owner := d.at(uuid, "")
	for _, g := range s.Grants {
		if g.Relation == model.NoRelation {
			continue
		}
		r, err := owner.relation(g.Relation)
		if errors.Is(err, errors.NotFound) {
			continue
		}
		if err != nil {
			return false, errors.Trace(err)
		}
		stranger, across := r.Stranger()
		if !across || r.Across.Model != d.m.info.UUID || r.Across.Theirs != u.Name.Application() ||
			g.Target != stranger.Application && g.Target != string(model.NewUnitName(stranger.Application, u.Name.Number())) {
			continue
		}
		if _, _, there, err := owner.half(r); err != nil || there {
			return there, errors.Trace(err)
		}
	}
	return false, nil
}

// forgetReadings has secrets of other models know that units of a model read them no more
// that is about to go, and models that read its own that there are none: what is in its
// cleanup queue goes with it.
func (m *Model) forgetReadings(ctx context.Context) error {
	reads := false
	_, err := m.view(ctx, func(r docs) error {
		reads = false
		for _, kind := range []string{"secret-news/", "secret-abroad/"} {
			kvs, err := r.Page(m.prefix()+kind, "", 1)
			if err != nil {
				return errors.Trace(err)
			}
			reads = reads || len(kvs) > 0
		}
		return nil
	})
	if err != nil || !reads {
		return errors.Trace(err)
	}
	return errors.Trace(m.RunCleanups(ctx))
}
