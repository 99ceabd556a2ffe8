package state

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// Model is one model of a controller. It is safe for use by many goroutines.
type Model struct {
	info   ModelInfo
	store  store.Store
	clock  clock.Clock
	charms *charmCache
	sealer Sealer
	// command is that of Controller.WithCommand.
	command string
	// by is that of Controller.WithCause.
	by string
	// author is that of Controller.WithAuthor; nil: what is written isn't logged.
	author func() Author
	// oneHost is Controller.WithOneHost.
	oneHost bool
	// managed is whom the model must still be managed by for anything to change;
	// nil: whoever.
	managed *manager
	// self is the unit that this is the model of, see Of; nil: nobody's.
	self *UnitDoc
}

// charmCache remembers charm documents, which never change, and the model's settings,
// which each look of a unit asks for.
type charmCache struct {
	mu       sync.Mutex
	docs     map[string]CharmDoc
	settings settings
}

// settings are the model's settings: what was set laid over the defaults. They are not
// to be changed.
type settings struct {
	text string // the document that they were read from
	all  map[string]string
	set  map[string]bool
}

// settingsOf are the settings that a document says; empty: none were set.
func (c *charmCache) settingsOf(text string) (settings, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settings.all != nil && c.settings.text == text {
		return c.settings, nil
	}
	var values map[string]string
	if text != "" {
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			return settings{}, errors.Annotatef(err, "document %s", modelConfigKey)
		}
	}
	s := settings{text: text, all: ModelConfigDefaults(), set: map[string]bool{}}
	for k, v := range values {
		s.all[k], s.set[k] = v, true
	}
	c.settings = s
	return s, nil
}

// charmCaches are those of a controller's models, by their UUIDs, which all have that
// open the same model.
type charmCaches struct {
	mu     sync.Mutex
	models map[string]*charmCache
}

func (c *charmCaches) of(uuid string) *charmCache {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.models[uuid] == nil {
		c.models[uuid] = &charmCache{docs: map[string]CharmDoc{}}
	}
	return c.models[uuid]
}

// keep lets go of those of models that aren't among these, which are all that there are.
func (c *charmCaches) keep(infos []ModelInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.models, func(uuid string, _ *charmCache) bool {
		return !slices.ContainsFunc(infos, func(info ModelInfo) bool { return info.UUID == uuid })
	})
}

// forget is for a charm that was removed.
func (c *charmCache) forget(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.docs, url)
}

// Name is the model's name, and UUID what its documents are found by.
func (m *Model) Name() string { return m.info.Name }

// UUID is the model's unique id.
func (m *Model) UUID() string { return m.info.UUID }

// Keys is where the model is in its store: the prefix of its documents, the key
// of its entry in the list of models, that of the note that it was removed, the
// prefix of that list, and that of the files that all models share.
func (m *Model) Keys() (documents, entry, gone, list, files string) {
	return m.prefix(), modelsPrefix + m.info.Name, goneKey(m.info.UUID), modelsPrefix, "blob" // and their marks
}

func (m *Model) prefix() string { return "m/" + m.info.UUID + "/" }

// Of is the model as the agent of one unit has it: for whom a later unit of the
// same name is not that unit. Once the unit is gone, reading it and every
// change of the model are errors.NotFound, so that nothing that an agent, or a
// hook, still does reaches the other unit.
func (m *Model) Of(unit UnitDoc) *Model {
	own := *m
	own.self = &unit
	return &own
}

// Through is the model with something between it and its store.
func (m *Model) Through(between store.Store) *Model {
	own := *m
	own.store = checked{between}
	return &own
}

// docs is a store.Reader that speaks documents.
type docs struct {
	store.Reader
	m *Model
}

// txn is docs that can be written to.
type txn struct {
	docs
	tx store.Tx
	by string // what is written says so, see Origin
}

func (m *Model) view(ctx context.Context, fn func(r docs) error) (int64, error) {
	return m.sealer.patiently(ctx, func() (int64, error) {
		return m.store.View(ctx, func(r store.Reader) error { return fn(docs{r, m}) })
	})
}

func (m *Model) update(ctx context.Context, fn func(tx *txn) error, opts ...store.Option) (int64, error) {
	return m.sealer.patiently(ctx, func() (int64, error) { return m.updateSoon(ctx, fn, opts...) })
}

// updateSoon is update that doesn't wait for keys for secrets.
func (m *Model) updateSoon(ctx context.Context, fn func(tx *txn) error, opts ...store.Option) (int64, error) {
	rev, err := m.store.Update(ctx, func(tx store.Tx) error {
		return m.logging(tx, func(t *txn) error {
			if err := t.managedBy(m.managed); err != nil {
				return errors.Trace(err)
			}
			if m.self != nil {
				if _, err := t.unit(m.self.Name); err != nil {
					return errors.Trace(err)
				}
			}
			return fn(t)
		})
	}, opts...)
	m.managed.tell(err)
	return rev, err
}

// logging is for what changes the model in a transaction: it leaves in the log what that was.
func (m *Model) logging(tx store.Tx, fn func(t *txn) error) error {
	var log *recorder
	if m.author != nil {
		log = newRecorder(tx, m)
		tx = log
	}
	t := &txn{docs{tx, m}, tx, m.by}
	if err := fn(t); err != nil {
		return err
	}
	return t.log(log)
}

// get reads the document at key; errors.NotFound where there is none.
func (d docs) get(key string, doc any) error {
	kv, err := d.Get(d.m.prefix() + key)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Annotatef(json.Unmarshal(kv.Value, doc), "document %s", key)
}

// find is get for what need not be there; it says whether it is.
func (d docs) find(key string, doc any) (bool, error) {
	err := d.get(key, doc)
	if errors.Is(err, errors.NotFound) {
		return false, nil
	}
	return err == nil, errors.Trace(err)
}

// list reads all documents below the prefix.
func list[T any](d docs, prefix string) ([]T, error) {
	kvs, err := d.List(d.m.prefix() + prefix)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return decode[T](kvs)
}

func decode[T any](kvs []store.KV) ([]T, error) {
	out := make([]T, len(kvs))
	for i, kv := range kvs {
		if err := json.Unmarshal(kv.Value, &out[i]); err != nil {
			return nil, errors.Annotatef(err, "document %s", kv.Key)
		}
	}
	return out, nil
}

func (t *txn) put(key string, doc any) error {
	b, err := model.EncodeJSON(doc)
	if err != nil {
		return errors.Annotatef(err, "document %s", key)
	}
	return errors.Trace(t.tx.Put(t.m.prefix()+key, b))
}

// putLease is put of what vanishes with a lease.
func (t *txn) putLease(key string, doc any, lease store.LeaseID) error {
	b, err := model.EncodeJSON(doc)
	if err != nil {
		return errors.Annotatef(err, "document %s", key)
	}
	return errors.Trace(t.tx.PutLease(t.m.prefix()+key, b, lease))
}

func (t *txn) delete(keys ...string) error {
	for _, k := range keys {
		if err := t.tx.Delete(t.m.prefix() + k); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// next draws the next number of a sequence, from 0.
func (t *txn) next(name string) (int, error) {
	n := 0
	if _, err := t.find(sequenceKey(name), &n); err != nil {
		return 0, errors.Trace(err)
	}
	return n, t.put(sequenceKey(name), n+1)
}

func (t *txn) now() time.Time { return t.m.clock.Now().UTC() }

// application reads an application; the error says `application "x" not found`.
func (d docs) application(name string) (ApplicationDoc, error) {
	var a ApplicationDoc
	err := d.get(applicationKey(name), &a)
	return a, named(err, "application", name)
}

// unit reads a unit; the error says `unit "x/0" not found`.
func (d docs) unit(name model.UnitName) (UnitDoc, error) {
	var u UnitDoc
	err := d.get(unitKey(name), &u)
	if self := d.m.self; err == nil && self != nil && self.Name == name && self.ID != u.ID {
		u, err = UnitDoc{}, errors.NotFound
	}
	return u, named(err, "unit", string(name))
}

func (d docs) relation(id model.RelationID) (RelationDoc, error) {
	var r RelationDoc
	err := d.get(relationKey(id), &r)
	return r, named(err, "relation", strconv.Itoa(int(id)))
}

// seenMachine is machine for what people name: a pod is none.
func (d docs) seenMachine(id string) (MachineDoc, error) {
	m, err := d.machine(id)
	if err == nil && m.Pod {
		return MachineDoc{}, named(errors.NotFound, "machine", id)
	}
	return m, errors.Trace(err)
}

func (d docs) machine(id string) (MachineDoc, error) {
	var m MachineDoc
	err := d.get(machineKey(id), &m)
	return m, named(err, "machine", id)
}

func named(err error, kind, name string) error {
	if errors.Is(err, errors.NotFound) {
		return errors.NewNotFound(nil, fmt.Sprintf("%s %q not found", kind, name))
	}
	return errors.Trace(err)
}

// unitsOf are an application's units in order of their numbers.
func (d docs) unitsOf(app string) ([]UnitDoc, error) {
	units, err := list[UnitDoc](d, unitsOf(app))
	slices.SortFunc(units, func(a, b UnitDoc) int { return model.CompareUnits(a.Name, b.Name) })
	return units, errors.Trace(err)
}

// relationsOf are an application's relations by endpoint name, then id.
func (d docs) relationsOf(app string) ([]RelationDoc, error) {
	kvs, err := d.List(d.m.prefix() + relationsOf(app))
	if err != nil {
		return nil, errors.Trace(err)
	}
	rels := make([]RelationDoc, 0, len(kvs))
	for _, kv := range kvs {
		id, err := strconv.Atoi(kv.Key[strings.LastIndexByte(kv.Key, '/')+1:])
		if err != nil {
			return nil, errors.Annotatef(err, "key %s", kv.Key)
		}
		r, err := d.relation(model.RelationID(id))
		if err != nil {
			return nil, errors.Trace(err)
		}
		rels = append(rels, r)
	}
	slices.SortFunc(rels, func(a, b RelationDoc) int {
		x, _, _ := a.Endpoint(app)
		y, _, _ := b.Endpoint(app)
		if c := strings.Compare(x.Name, y.Name); c != 0 {
			return c
		}
		return int(a.ID - b.ID)
	})
	return rels, nil
}

// charm reads a charm's document.
func (d docs) charm(url string) (CharmDoc, error) {
	c := d.m.charms
	c.mu.Lock()
	doc, ok := c.docs[url]
	c.mu.Unlock()
	if ok {
		return doc, nil
	}
	if err := d.get(charmKey(url), &doc); err != nil {
		return doc, named(err, "charm", url)
	}
	c.mu.Lock()
	c.docs[url] = doc
	c.mu.Unlock()
	return doc, nil
}
