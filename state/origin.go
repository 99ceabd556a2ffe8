package state

import (
	"context"
	"encoding/json"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// Origin says what a document comes from, for traces. Whoever writes databags, leader
// settings, options, secrets, relations and operations as part of a trace leaves its
// traceparent in them, so that the hooks that tell of them are part of the same trace, on
// whatever host they run. Those that nobody traces don't have it.
type Origin struct {
	// By is the traceparent (https://www.w3.org/TR/trace-context/#traceparent-header) of the
	// run or command that wrote the document last; empty: it isn't traced.
	By string
	// Rev is the store's revision at which it was written, and Made the one at which it was
	// first there; 0: there is none.
	Rev, Made int64
}

// Traced names a document that has an Origin.
type Traced struct{ key string }

// TracedConfig are an application's options.
func TracedConfig(app string) Traced { return Traced{configKey(app)} }

// TracedLeaderSettings are an application's leader settings.
func TracedLeaderSettings(app string) Traced { return Traced{leaderSettingsKey(app)} }

// TracedSecret is the newest revision of a secret.
func TracedSecret(id model.SecretID) Traced { return Traced{secretKey(id)} }

// TracedRelation is that there is a relation.
func TracedRelation(id model.RelationID) Traced { return Traced{relationKey(id)} }

// TracedBag is the databag of a unit in a relation or, where unit is empty, of an application.
func TracedBag(id model.RelationID, app string, unit model.UnitName) Traced {
	return Traced{bagKey(id, app, unit)}
}

// Origin is where a document comes from; the zero Origin where there is none.
func (m *Model) Origin(ctx context.Context, t Traced) (o Origin, err error) {
	_, err = m.view(ctx, func(r docs) (err error) {
		o, err = r.origin(t)
		return errors.Trace(err)
	})
	return o, errors.Trace(err)
}

// ApplicationOrigin is an application, and where its options come from. NotFound: there is no
// such application.
func (m *Model) ApplicationOrigin(ctx context.Context, name string) (app ApplicationDoc, options Origin, err error) {
	_, err = m.view(ctx, func(r docs) (err error) {
		if app, err = r.application(name); err != nil {
			return errors.Trace(err)
		}
		options, err = r.origin(TracedConfig(name))
		return errors.Trace(err)
	})
	return app, options, errors.Trace(err)
}

func (d docs) origin(t Traced) (Origin, error) {
	kv, err := d.Get(d.m.prefix() + t.key)
	if errors.Is(err, errors.NotFound) {
		return Origin{}, nil
	}
	if err != nil {
		return Origin{}, errors.Trace(err)
	}
	var doc struct {
		By        string                 `json:"by"`
		Revisions []model.SecretRevision `json:"revisions"`
	}
	if err := json.Unmarshal(kv.Value, &doc); err != nil {
		return Origin{}, errors.Annotatef(err, "document %s", t.key)
	}
	o := Origin{By: doc.By, Rev: kv.Rev, Made: kv.CreateRev}
	if n := len(doc.Revisions); n > 0 {
		o.By = doc.Revisions[n-1].By
	}
	return o, nil
}

const tracedKey = "traced"

// ToldOf says what a trace was told of what people have done. There is none in a model that
// nobody traces.
type ToldOf struct {
	// Rev is the revision up to which it was told, Charms what each application had then.
	Rev    int64             `json:"rev"`
	Charms map[string]string `json:"charms,omitempty"`
}

// ToldOf is what a trace was told.
func (m *Model) ToldOf(ctx context.Context) (t ToldOf, there bool, err error) {
	_, err = m.view(ctx, func(r docs) (err error) {
		there, err = r.find(tracedKey, &t)
		return errors.Trace(err)
	})
	return t, there, errors.Trace(err)
}

// PutToldOf notes what a trace was told.
func (m *Model) PutToldOf(ctx context.Context, t ToldOf) error {
	_, err := m.update(ctx, func(tx *txn) error { return tx.put(tracedKey, t) }, store.Relaxed)
	return errors.Trace(err)
}
