package etcd

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unitd/unitd/state/store"
)

// transaction is a store.Tx: what it reads is remembered, to be compared when
// it is committed, and so is what it writes.
type transaction struct {
	*reader
	ranges []span            // that were listed, besides the keys that were got
	leased map[string]int64  // listed keys with a lease, by their revision: they can go without a mark
	listed map[string]bool   // the keys that were there when they were listed
	writes map[string]*write // by key
	size   int               // of keys and values in bytes
	err    error             // the first for which nothing may be committed
}

func newTransaction(ctx context.Context, s *Store) *transaction {
	return &transaction{reader: newReader(ctx, s), leased: map[string]int64{}, listed: map[string]bool{}, writes: map[string]*write{}}
}

// write is what is to become of a key.
type write struct {
	value   []byte
	lease   store.LeaseID
	deleted bool
}

// span is the keys from one up to another, which isn't one of them.
type span struct{ from, end string }

func (t *transaction) failed(err error) error {
	if err != nil && t.err == nil {
		t.err = err
	}
	return err
}

// Put is part of store.Tx.
func (t *transaction) Put(key string, value []byte) error { return t.PutLease(key, value, 0) }

// PutLease is part of store.Tx. Whether there is such a lease is seen when it is
// committed; it is the error of the Update then.
func (t *transaction) PutLease(key string, value []byte, lease store.LeaseID) error {
	if len(value) > store.MaxValue {
		return t.failed(errors.Annotatef(store.ErrTooLarge, "value of key %q has %d bytes", key, len(value)))
	}
	return t.write(key, &write{value: slices.Clone(value), lease: lease})
}

// Delete is part of store.Tx.
func (t *transaction) Delete(key string) error {
	if err := store.CheckKey(key); err != nil {
		return t.failed(err)
	}
	if !t.listed[key] {
		kv, err := t.get(key)
		if err != nil {
			return t.failed(errors.Annotatef(err, "cannot read key %q", key))
		}
		if kv.Rev == 0 && t.writes[key] == nil {
			return nil
		}
	}
	return t.write(key, &write{deleted: true})
}

func (t *transaction) write(key string, w *write) error {
	if err := store.CheckKey(key); err != nil {
		return t.failed(err)
	}
	if former := t.writes[key]; former != nil {
		t.size -= len(key) + len(former.value)
	}
	t.writes[key] = w
	t.size += len(key) + len(w.value)
	if len(t.writes) > store.MaxWrites {
		return t.failed(errors.Annotatef(store.ErrTooLarge, "more than %d keys written", store.MaxWrites))
	}
	if t.size > store.MaxBytes {
		return t.failed(errors.Annotatef(store.ErrTooLarge, "more than %d bytes written", store.MaxBytes))
	}
	return nil
}

// own is the key as this transaction has written it. Its revision is at least
// the next one.
func (t *transaction) own(key string, w *write) store.KV {
	kv := store.KV{Key: key, Value: slices.Clone(w.value), Rev: t.rev + 1, CreateRev: t.rev + 1, Lease: w.lease}
	if base, ok := t.got[key]; ok && base.Rev != 0 {
		kv.CreateRev = base.CreateRev
	}
	return kv
}

// Get is part of store.Reader.
func (t *transaction) Get(key string) (store.KV, error) {
	w := t.writes[key]
	if w == nil {
		return t.reader.Get(key)
	}
	if w.deleted {
		return store.KV{}, errors.NotFoundf("key %q", key)
	}
	if err := t.begin(); err != nil {
		return store.KV{}, errors.Annotatef(err, "cannot read key %q", key)
	}
	return t.own(key, w), nil
}

// List is part of store.Reader.
func (t *transaction) List(prefix string) ([]store.KV, error) { return t.Page(prefix, "", -1) }

// Page is part of store.Reader.
func (t *transaction) Page(prefix, after string, limit int) ([]store.KV, error) {
	return t.merged(prefix, after, limit)
}

// Keys is part of store.Reader.
func (t *transaction) Keys(prefix, after string, limit int) ([]store.KV, error) {
	kvs, err := t.merged(prefix, after, limit, clientv3.WithKeysOnly())
	return bare(kvs), err
}

// Since is part of store.Reader. What the transaction itself has written is
// newer than everything.
func (t *transaction) Since(prefix string, rev int64) ([]store.KV, error) {
	return t.merged(prefix, "", -1, clientv3.WithMinModRev(rev+1))
}

// merged is a page with what the transaction has written itself, and remembers
// that it was read.
func (t *transaction) merged(prefix, after string, limit int, opts ...clientv3.OpOption) ([]store.KV, error) {
	most := limit
	if limit >= 0 {
		most += len(t.writes) // as many may be deleted
	}
	kvs, last, err := t.page(prefix, after, most, opts...)
	if err != nil {
		return nil, t.failed(errors.Trace(err))
	}
	read := span{firstOf(prefix, after), prefixEnd(prefix)}
	if !last {
		if len(kvs) == 0 {
			return nil, nil
		}
		read.end = next(kvs[len(kvs)-1].Key)
	}
	if read.from < read.end {
		t.ranges = append(t.ranges, read)
	}
	var out []store.KV
	for _, kv := range kvs {
		t.listed[kv.Key] = true
		if kv.Lease != 0 {
			t.leased[kv.Key] = kv.Rev
		}
		if t.writes[kv.Key] == nil {
			out = append(out, kv)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.writes)) {
		if w := t.writes[key]; !w.deleted && key >= read.from && key < read.end && strings.HasPrefix(key, prefix) {
			out = append(out, t.own(key, w))
		}
	}
	slices.SortFunc(out, func(a, b store.KV) int { return cmp.Compare(a.Key, b.Key) })
	if limit >= 0 && len(out) > limit {
		out = out[:limit]
	}
	return out, nil
}
