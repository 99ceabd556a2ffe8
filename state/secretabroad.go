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
	kvs, err := t.Keys(t.m.prefix()+secretAbroad(id), "", maxListed)
	if err != nil {
		return errors.Trace(err)
	}
	for _, kv := range kvs {
		reader := t.at(kv.Key[strings.LastIndexByte(kv.Key, '/')+1:], "")
		n := 0
		key := secretNews(id.Of(t.m.info.UUID))
		if there, err := reader.find(key, &n); err != nil {
			return errors.Trace(err)
		} else if !there {
			continue // the model is gone
		}
		if err := reader.put(key, n+1); err != nil {
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

// mayReadAbroad says whether a unit was granted a secret of another model, along a relation
// that is there.
func (d docs) mayReadAbroad(u UnitDoc, s model.SecretInfo) (bool, error) {
	uuid, _ := s.ID.Split()
	app, err := d.application(u.Name.Application())
	if err != nil || app.Token == "" {
		return false, errors.Trace(err)
	}
	as := standIn(app.Token)
	for _, g := range s.Grants {
		if g.Target != as && g.Target != string(model.NewUnitName(as, u.Name.Number())) {
			continue
		}
		if holds, err := d.at(uuid, "").holds(g); err != nil || holds {
			return holds, errors.Trace(err)
		}
	}
	return false, nil
}

// forgetReadings has secrets of other models know that units of a model read them no more
// that is about to go: what is in its cleanup queue goes with it.
func (m *Model) forgetReadings(ctx context.Context) error {
	reads := false
	_, err := m.view(ctx, func(r docs) error {
		kvs, err := r.Page(m.prefix()+"secret-news/", "", 1)
		reads = len(kvs) > 0
		return errors.Trace(err)
	})
	if err != nil || !reads {
		return errors.Trace(err)
	}
	return errors.Trace(m.RunCleanups(ctx))
}
