package memory

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/btree"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// reader is a store.Reader of a tree.
type reader struct {
	tree *btree.BTreeG[*store.KV]
	rev  int64
}

// Rev is part of store.Reader.
func (r reader) Rev() int64 { return r.rev }

// Get is part of store.Reader.
func (r reader) Get(key string) (store.KV, error) {
	kv, ok := r.tree.Get(&store.KV{Key: key})
	if !ok {
		return store.KV{}, errors.NotFoundf("key %q", key)
	}
	return *kv, nil
}

// each calls fn with the keys that begin with prefix and sort after a key, in
// order, while it returns true.
func (r reader) each(prefix, after string, fn func(*store.KV) bool) {
	r.tree.AscendGreaterOrEqual(&store.KV{Key: max(prefix, after)}, func(kv *store.KV) bool {
		if kv.Key == after && after != "" {
			return true
		}
		return strings.HasPrefix(kv.Key, prefix) && fn(kv)
	})
}

// List is part of store.Reader.
func (r reader) List(prefix string) ([]store.KV, error) {
	var kvs []store.KV
	r.each(prefix, "", func(kv *store.KV) bool {
		kvs = append(kvs, *kv)
		return true
	})
	return kvs, nil
}

// Page is part of store.Reader.
func (r reader) Page(prefix, after string, limit int) ([]store.KV, error) {
	var kvs []store.KV
	r.each(prefix, after, func(kv *store.KV) bool {
		kvs = append(kvs, *kv)
		return len(kvs) < limit
	})
	return kvs, nil
}

// Keys is part of store.Reader.
func (r reader) Keys(prefix, after string, limit int) ([]store.KV, error) {
	kvs, err := r.Page(prefix, after, limit)
	for i := range kvs {
		kvs[i].Value, kvs[i].Lease = nil, 0
	}
	return kvs, err
}

// Since is part of store.Reader. It goes through all keys of the prefix, which
// costs what is there; but it decodes nothing, as its caller would.
func (r reader) Since(prefix string, rev int64) ([]store.KV, error) {
	var kvs []store.KV
	r.each(prefix, "", func(kv *store.KV) bool {
		if kv.Rev > rev {
			kvs = append(kvs, *kv)
		}
		return true
	})
	return kvs, nil
}

// tx is a store.Tx: a reader of a tree of its own.
type tx struct {
	reader
	data *data
	// touched are the keys that were written, with the bytes of each and its
	// value, and size is their sum.
	touched map[string]int
	size    int
	// err is what keeps the transaction from being committed.
	err error
}

// Put is part of store.Tx.
func (t *tx) Put(key string, value []byte) error { return t.put(key, value, 0) }

// PutLease is part of store.Tx.
func (t *tx) PutLease(key string, value []byte, id store.LeaseID) error {
	t.data.mu.Lock()
	_, ok := t.data.leases[id]
	t.data.mu.Unlock()
	if !ok {
		return errors.NotFoundf("lease %d", id)
	}
	return t.put(key, value, id)
}

func (t *tx) put(key string, value []byte, id store.LeaseID) error {
	if err := store.CheckKey(key); err != nil {
		return t.fail(errors.Trace(err))
	}
	if len(value) > store.MaxValue {
		return t.fail(errors.Annotatef(store.ErrTooLarge, "value of %s", key))
	}
	if err := t.touch(key, len(value)); err != nil {
		return err
	}
	// Who reads within the transaction sees revisions that it may not get.
	kv := &store.KV{Key: key, Value: append([]byte{}, value...), Rev: t.rev + 1, CreateRev: t.rev + 1, Lease: id}
	if was, ok := t.tree.Get(kv); ok {
		kv.CreateRev = was.CreateRev
	}
	t.tree.ReplaceOrInsert(kv)
	return nil
}

// Delete is part of store.Tx.
func (t *tx) Delete(key string) error {
	if _, ok := t.tree.Get(&store.KV{Key: key}); !ok {
		return nil
	}
	if err := t.touch(key, 0); err != nil {
		return err
	}
	t.tree.Delete(&store.KV{Key: key})
	return nil
}

// touch notes that a key is written, with a value of so many bytes.
func (t *tx) touch(key string, value int) error {
	t.size += len(key) + value - t.touched[key]
	t.touched[key] = len(key) + value
	switch {
	case len(t.touched) > store.MaxWrites:
		return t.fail(errors.Annotatef(store.ErrTooLarge, "more than %d keys", store.MaxWrites))
	case t.size > store.MaxBytes:
		return t.fail(errors.Annotatef(store.ErrTooLarge, "more than %d bytes", store.MaxBytes))
	}
	return nil
}

func (t *tx) fail(err error) error {
	if t.err == nil {
		t.err = err
	}
	return err
}

// commit makes what t has written the newest revision, if it has written
// anything; was is the tree that it began with. writing is held.
func (d *data) commit(was *btree.BTreeG[*store.KV], t *tx) int64 {
	var events []store.Event
	keys, size := int64(0), int64(0)
	for _, key := range slices.Sorted(maps.Keys(t.touched)) {
		before, had := was.Get(&store.KV{Key: key})
		now, has := t.tree.Get(&store.KV{Key: key})
		if had {
			keys, size = keys-1, size-int64(len(key)+len(before.Value))
		}
		if has {
			keys, size = keys+1, size+int64(len(key)+len(now.Value))
		}
		events = append(events, store.Event{Key: key, Rev: t.rev + 1, Deleted: !has})
	}
	if len(events) == 0 {
		return t.rev
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tree, d.rev = t.tree, t.rev+1
	d.keys, d.bytes = d.keys+keys, d.bytes+size
	d.history = append(d.history, events)
	close(d.more)
	d.more = make(chan struct{})
	return d.rev
}
