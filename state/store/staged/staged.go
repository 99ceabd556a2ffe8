// Package staged is what engines share that commit a transaction at its end, somewhere else:
// what the transaction writes is kept until then, and laid over what it reads, so that it sees
// its own writes (store.Tx); an attempt that somebody else was faster than is made again (Life). What has to be compared at the commit is the engine's business,
// which sees each read that goes below.
package staged

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Below is what a transaction reads: one revision, without what it writes itself.
type Below interface {
	// Begin settles the revision, which Rev says then.
	Begin() error
	Rev() int64
	// Get is a key, with no Rev where there is none. Who gets the value may change it.
	Get(key string) (store.KV, error)
	// Page is a page of keys, and says whether those are the last ones.
	Page(p Page) (kvs []store.KV, last bool, err error)
}

// Page says which keys are listed: those that begin with Prefix, sort after After and were
// written after the revision Since, at most Limit of them; negative: all. Bare: without values
// and leases.
type Page struct {
	Prefix string `json:"prefix,omitempty"`
	After  string `json:"after,omitempty"`
	Limit  int    `json:"limit,omitempty"`
	Bare   bool   `json:"bare,omitempty"`
	Since  int64  `json:"since,omitempty"`
}

// Write is what is to become of a key.
type Write struct {
	Value   []byte        `json:"value,omitempty"`
	Lease   store.LeaseID `json:"lease,omitempty"`
	Deleted bool          `json:"deleted,omitempty"`
}

// Tx is a store.Tx whose writes somebody commits.
type Tx struct {
	below   Below
	created map[string]int64 // keys that were got, by the revisions at which they were made
	listed  map[string]bool  // keys that were there when they were listed
	writes  map[string]Write
	size    int   // of keys and values in bytes
	err     error // the first for which nothing may be committed
}

var _ store.Tx = (*Tx)(nil)

// New is a transaction that has written nothing yet.
func New(below Below) *Tx {
	return &Tx{below: below, created: map[string]int64{}, listed: map[string]bool{}, writes: map[string]Write{}}
}

// Writes are what is to be committed, by key.
func (t *Tx) Writes() map[string]Write { return t.writes }

// Err is why nothing may be committed: the first error that the transaction has returned,
// but for keys that aren't there.
func (t *Tx) Err() error { return t.err }

// Rev is part of store.Reader.
func (t *Tx) Rev() int64 { return t.below.Rev() }

func (t *Tx) failed(err error) error {
	if err != nil && t.err == nil {
		t.err = err
	}
	return err
}

// Put is part of store.Tx.
func (t *Tx) Put(key string, value []byte) error { return t.PutLease(key, value, 0) }

// PutLease is part of store.Tx. Whether there is such a lease is seen when it is committed; it
// is the error of the Update then.
func (t *Tx) PutLease(key string, value []byte, lease store.LeaseID) error {
	if len(value) > store.MaxValue {
		return t.failed(errors.Annotatef(store.ErrTooLarge, "value of key %q has %d bytes", key, len(value)))
	}
	return t.write(key, Write{Value: slices.Clone(value), Lease: lease})
}

// Delete is part of store.Tx.
func (t *Tx) Delete(key string) error {
	if err := store.CheckKey(key); err != nil {
		return t.failed(err)
	}
	if !t.listed[key] {
		kv, err := t.get(key)
		if err != nil {
			return t.failed(errors.Annotatef(err, "cannot read key %q", key))
		}
		if _, own := t.writes[key]; kv.Rev == 0 && !own {
			return nil
		}
	}
	return t.write(key, Write{Deleted: true})
}

func (t *Tx) write(key string, w Write) error {
	if err := store.CheckKey(key); err != nil {
		return t.failed(err)
	}
	if former, again := t.writes[key]; again {
		t.size -= len(key) + len(former.Value)
	}
	t.writes[key] = w
	t.size += len(key) + len(w.Value)
	if len(t.writes) > store.MaxWrites {
		return t.failed(errors.Annotatef(store.ErrTooLarge, "more than %d keys written", store.MaxWrites))
	}
	if t.size > store.MaxBytes {
		return t.failed(errors.Annotatef(store.ErrTooLarge, "more than %d bytes written", store.MaxBytes))
	}
	return nil
}

// own is the key as this transaction has written it. Its revision is at least the next one.
func (t *Tx) own(key string, w Write) store.KV {
	next := t.below.Rev() + 1
	return store.KV{Key: key, Value: slices.Clone(w.Value), Rev: next, CreateRev: cmp.Or(t.created[key], next), Lease: w.Lease}
}

// get is the key below.
func (t *Tx) get(key string) (store.KV, error) {
	kv, err := t.below.Get(key)
	if err == nil && kv.Rev != 0 {
		t.created[key] = kv.CreateRev
	}
	return kv, err
}

// Get is part of store.Reader.
func (t *Tx) Get(key string) (store.KV, error) {
	w, own := t.writes[key]
	if own && w.Deleted {
		return store.KV{}, errors.NotFoundf("key %q", key)
	}
	if own {
		if err := t.below.Begin(); err != nil {
			return store.KV{}, errors.Annotatef(err, "cannot read key %q", key)
		}
		return t.own(key, w), nil
	}
	return t.found(key)
}

// found is the key below, as Get has it.
func (t *Tx) found(key string) (store.KV, error) {
	kv, err := t.get(key)
	if err != nil {
		return store.KV{}, errors.Annotatef(err, "cannot read key %q", key)
	}
	if kv.Rev == 0 {
		return store.KV{}, errors.NotFoundf("key %q", key)
	}
	return kv, nil
}

// List is part of store.Reader.
func (t *Tx) List(prefix string) ([]store.KV, error) { return t.Page(prefix, "", -1) }

// Page is part of store.Reader.
func (t *Tx) Page(prefix, after string, limit int) ([]store.KV, error) {
	return t.merged(Page{Prefix: prefix, After: after, Limit: limit})
}

// Keys is part of store.Reader.
func (t *Tx) Keys(prefix, after string, limit int) ([]store.KV, error) {
	kvs, err := t.merged(Page{Prefix: prefix, After: after, Limit: limit, Bare: true})
	return Bare(kvs), err
}

// Since is part of store.Reader. What the transaction itself has written is newer than
// everything.
func (t *Tx) Since(prefix string, rev int64) ([]store.KV, error) {
	return t.merged(Page{Prefix: prefix, Limit: -1, Since: rev})
}

// Bare are keys as store.Reader.Keys tells them.
func Bare(kvs []store.KV) []store.KV {
	for i := range kvs {
		kvs[i].Value, kvs[i].Lease = nil, 0
	}
	return kvs
}

// merged is a page with what the transaction has written itself.
func (t *Tx) merged(p Page) ([]store.KV, error) {
	limit := p.Limit
	if limit >= 0 {
		p.Limit += len(t.writes) // as many may be deleted
	}
	kvs, last, err := t.below.Page(p)
	if err != nil {
		return nil, t.failed(errors.Trace(err))
	}
	to := "" // the last key of the page; empty: there is no end
	if !last {
		if len(kvs) == 0 {
			return nil, nil
		}
		to = kvs[len(kvs)-1].Key
	}
	var out []store.KV
	for _, kv := range kvs {
		t.listed[kv.Key] = true
		if _, own := t.writes[kv.Key]; !own {
			out = append(out, kv)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.writes)) {
		if w := t.writes[key]; !w.Deleted && strings.HasPrefix(key, p.Prefix) && key > p.After && (to == "" || key <= to) {
			out = append(out, t.own(key, w))
		}
	}
	slices.SortFunc(out, func(a, b store.KV) int { return cmp.Compare(a.Key, b.Key) })
	if limit >= 0 && len(out) > limit {
		out = out[:limit]
	}
	return out, nil
}
