package state

import (
	"context"
	"encoding/json"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// ErrObjectChanged is the error of writing an object that somebody else has written,
// or made, or deleted meanwhile.
const ErrObjectChanged = errors.ConstError("object has changed")

// Object is what charms have written of one object of the Kubernetes API. What the
// value means is the API's matter. It goes with its application.
type Object struct {
	// Key is its kind and name, "services/web".
	Key string
	// Application is whose charm has written it first.
	Application string
	// Value is stored sealed, as there may be secrets in it.
	Value []byte
	// Template is, for the application's stateful set, ApplicationDoc.PodTemplate from
	// then on; nil for another object.
	Template *string
	// Rev is the revision that it was written at; 0: it is new.
	Rev int64
}

// objectDoc is the document of an object.
type objectDoc struct {
	objectsOf
	Value []byte `json:"value"`
}

// objectsOf says whose an object is: of that application, and none that had its
// name before.
type objectsOf struct {
	Application string `json:"application"`
	ID          string `json:"id,omitempty"`
}

func (a ApplicationDoc) objects() *objectsOf { return &objectsOf{a.Name, a.ID} }

// Cluster is what a model has for its Kubernetes API.
type Cluster struct {
	// Rev is the store's revision that it was read at.
	Rev  int64
	Info ModelInfo
	Wires
	// Charms are those of the applications of container charms, by URL.
	Charms  map[string]model.Charm
	Objects []Object
}

// Cluster reads all of it in one view. The error is ErrSealed where an object can't
// be opened.
func (m *Model) Cluster(ctx context.Context) (c Cluster, err error) {
	c.Rev, err = m.view(ctx, func(r docs) (err error) {
		c = Cluster{Charms: map[string]model.Charm{}}
		if c.Info, err = readInfo(r.Reader, m.info); err != nil {
			return errors.Trace(err)
		}
		if c.Wires, err = r.wires(); err != nil {
			return errors.Trace(err)
		}
		there := map[objectsOf]bool{}
		for _, app := range c.Applications {
			there[*app.objects()] = true
			if !app.Sidecar {
				continue
			}
			charm, err := r.charm(app.Charm)
			if err != nil {
				return errors.Trace(err)
			}
			c.Charms[app.Charm] = charm.Charm
		}
		c.Objects, err = r.objects(there)
		return errors.Trace(err)
	})
	return c, errors.Trace(err)
}

// objects are those of applications that are there.
func (d docs) objects(there map[objectsOf]bool) ([]Object, error) {
	kvs, err := d.List(d.m.prefix() + objects)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var all []Object
	for _, kv := range kvs {
		var doc objectDoc
		if err := json.Unmarshal(kv.Value, &doc); err != nil {
			return nil, errors.Annotatef(err, "document %s", kv.Key)
		}
		if !there[doc.objectsOf] {
			continue // the cleanup queue has it
		}
		key := kv.Key[len(d.m.prefix()+objects):]
		value, err := d.unseal(doc.Value)
		if err != nil {
			return nil, errors.Annotatef(err, "cannot open object %s", key)
		}
		all = append(all, Object{Key: key, Application: doc.Application, Value: value, Rev: kv.Rev})
	}
	return all, nil
}

// PutObject writes an object in the place of the one of revision o.Rev, or of none
// where that is 0; with a nil value it deletes it. Errors: NotFound for the
// application, ErrObjectChanged where another one is there, store.ErrTooLarge.
func (m *Model) PutObject(ctx context.Context, o Object) error {
	_, err := m.update(ctx, func(tx *txn) error {
		app, err := tx.application(o.Application)
		if err != nil {
			return errors.Trace(err)
		}
		rev, err := tx.objectRev(o.Key)
		switch {
		case err != nil:
			return errors.Trace(err)
		case rev != o.Rev:
			return errors.WithType(errors.Errorf("object %s has changed", o.Key), ErrObjectChanged)
		}
		if o.Template != nil && *o.Template != app.PodTemplate {
			app.PodTemplate = *o.Template
			if err := tx.put(applicationKey(app.Name), app); err != nil {
				return errors.Trace(err)
			}
		}
		if o.Value == nil {
			return tx.delete(objectKey(o.Key))
		}
		sealed, err := tx.seal(o.Value)
		if err != nil {
			return errors.Trace(err)
		}
		return tx.put(objectKey(o.Key), objectDoc{*app.objects(), sealed})
	})
	return errors.Trace(err)
}

// objectRev is the revision of an object; 0 for none, and for one of an application
// that is gone.
func (d docs) objectRev(key string) (int64, error) {
	kv, err := d.Get(d.m.prefix() + objectKey(key))
	if errors.Is(err, errors.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, errors.Trace(err)
	}
	var doc objectDoc
	if err := json.Unmarshal(kv.Value, &doc); err != nil {
		return 0, errors.Annotatef(err, "document %s", kv.Key)
	}
	app, err := d.application(doc.Application)
	if errors.Is(err, errors.NotFound) || err == nil && *app.objects() != doc.objectsOf {
		return 0, nil
	}
	return kv.Rev, errors.Trace(err)
}

// removeObjects deletes the objects of an application that is gone.
func (m *Model) removeObjects(ctx context.Context, of objectsOf) error {
	after := ""
	for done := false; !done; {
		last := after
		_, err := m.update(ctx, func(tx *txn) error {
			page, err := tx.Page(m.prefix()+objects, after, objectsPerPage)
			if err != nil {
				return errors.Trace(err)
			}
			done = len(page) < objectsPerPage
			for _, kv := range page {
				last = kv.Key
				var doc objectDoc
				if err := json.Unmarshal(kv.Value, &doc); err != nil {
					return errors.Annotatef(err, "document %s", kv.Key)
				}
				if doc.objectsOf != of {
					continue
				}
				if err := tx.tx.Delete(kv.Key); err != nil {
					return errors.Trace(err)
				}
			}
			return nil
		})
		if err != nil {
			return errors.Trace(err)
		}
		after = last
	}
	return nil
}

// objectsPerPage is how many objects are looked at together: each may be as large as
// a document can be.
const objectsPerPage = min(20, store.MaxWrites)

// sealObjects seals all objects with the key in use, and counts them. skip is asked about errors.
func (m *Model) sealObjects(ctx context.Context, skip func(error) error) (n int, err error) {
	for after := ""; ; {
		var page []store.KV
		_, err := m.view(ctx, func(r docs) (err error) {
			page, err = r.Keys(m.prefix()+objects, after, objectsPerPage)
			return errors.Trace(err)
		})
		if err != nil || len(page) == 0 {
			return n, errors.Trace(err)
		}
		after = page[len(page)-1].Key
		for _, kv := range page {
			_, err := m.update(ctx, func(tx *txn) error { return tx.sealObject(kv.Key[len(m.prefix()):]) })
			if err := skip(err); err != nil {
				return n, err
			}
			if err == nil {
				n++
			}
		}
	}
}

// sealObject seals an object anew, if it is still there.
func (t *txn) sealObject(key string) error {
	var doc objectDoc
	if found, err := t.find(key, &doc); err != nil || !found {
		return errors.Trace(err)
	}
	value, err := t.unseal(doc.Value)
	if err != nil {
		return errors.Annotatef(err, "cannot open %s", key)
	}
	if doc.Value, err = t.seal(value); err != nil {
		return errors.Trace(err)
	}
	return t.put(key, doc)
}
