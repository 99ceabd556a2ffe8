package etcd

import (
	"bytes"
	"context"
	"strings"

	"github.com/juju/errors"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/staged"
)

// pageSize is how many keys one request lists at most.
const pageSize = 2000

// reader is a store.Reader at one revision: that of its first request.
type reader struct {
	ctx context.Context
	s   *Store
	rev int64 // 0: nothing was asked yet
	// got are the keys that were asked for by name; those that aren't there
	// have no Rev.
	got map[string]store.KV
}

func newReader(ctx context.Context, s *Store) *reader {
	return &reader{ctx: ctx, s: s, got: map[string]store.KV{}}
}

// keys is where the store has its keys.
func (s *Store) key(key string) string { return s.prefix + "k/" + key }

// begin settles the revision.
func (r *reader) begin() error {
	if r.rev != 0 {
		return nil
	}
	_, err := r.ask(r.s.key("-"), clientv3.WithCountOnly())
	return errors.Trace(err)
}

// ask makes a request at the reader's revision. The first one is linearizable;
// those after it are answered by any member that has the revision.
func (r *reader) ask(key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	at := func(more ...clientv3.OpOption) func(context.Context) (*clientv3.GetResponse, error) {
		all := append(more, opts...)
		return func(ctx context.Context) (*clientv3.GetResponse, error) { return r.s.client.Get(ctx, key, all...) }
	}
	if r.rev == 0 {
		resp, err := r.s.request(r.ctx, at())
		if err != nil {
			return nil, errors.Trace(err)
		}
		r.rev = resp.Header.Revision
		return resp, nil
	}
	resp, err := r.s.request(r.ctx, at(clientv3.WithRev(r.rev), clientv3.WithSerializable()))
	if isFuture(err) { // of that member
		resp, err = r.s.request(r.ctx, at(clientv3.WithRev(r.rev)))
	}
	return resp, errors.Trace(err)
}

// Rev is part of store.Reader. It is 0 where etcd doesn't answer; so is every
// read after it then, and the View or Update ends with that error.
func (r *reader) Rev() int64 {
	_ = r.begin()
	return r.rev
}

// Get is part of store.Reader.
func (r *reader) Get(key string) (store.KV, error) {
	kv, err := r.get(key)
	if err != nil {
		return store.KV{}, errors.Annotatef(err, "cannot read key %q", key)
	}
	if kv.Rev == 0 {
		return store.KV{}, errors.NotFoundf("key %q", key)
	}
	return kv, nil
}

// get is a key, with no Rev where there is none.
func (r *reader) get(key string) (store.KV, error) {
	if kv, ok := r.got[key]; ok {
		kv.Value = bytes.Clone(kv.Value)
		return kv, nil
	}
	resp, err := r.ask(r.s.key(key))
	if err != nil {
		return store.KV{}, errors.Trace(err)
	}
	kv := store.KV{Key: key}
	if len(resp.Kvs) > 0 {
		kv = r.s.kv(resp.Kvs[0])
	}
	r.got[key] = kv
	kv.Value = bytes.Clone(kv.Value)
	return kv, nil
}

// kv is what etcd has at a key of the store.
func (s *Store) kv(kv *mvccpb.KeyValue) store.KV {
	return store.KV{
		Key: strings.TrimPrefix(string(kv.Key), s.key("")), Value: kv.Value,
		Rev: kv.ModRevision, CreateRev: kv.CreateRevision, Lease: store.LeaseID(kv.Lease),
	}
}

// prefixEnd is the first key after all that begin with prefix. Keys are
// printable ASCII, so the byte after them all is never one of theirs.
func prefixEnd(prefix string) string { return prefix + "\x7f" }

// next is the first key after another.
func next(key string) string { return key + "\x00" }

// List is part of store.Reader.
func (r *reader) List(prefix string) ([]store.KV, error) { return r.Page(prefix, "", -1) }

// Page is part of store.Reader.
func (r *reader) Page(prefix, after string, limit int) ([]store.KV, error) {
	kvs, _, err := r.page(prefix, after, limit)
	return kvs, err
}

// Keys is part of store.Reader.
func (r *reader) Keys(prefix, after string, limit int) ([]store.KV, error) {
	kvs, _, err := r.page(prefix, after, limit, clientv3.WithKeysOnly())
	return staged.Bare(kvs), err // which leases they have depends on etcd's version
}

// Since is part of store.Reader. etcd has the revisions of all keys in its
// memory, where it looks through those with the prefix.
func (r *reader) Since(prefix string, rev int64) ([]store.KV, error) {
	kvs, _, err := r.page(prefix, "", -1, clientv3.WithMinModRev(rev+1))
	return kvs, err
}

// firstOf is the first key of a page.
func firstOf(prefix, after string) string {
	if after >= prefix && after != "" {
		return next(after)
	}
	return prefix
}

// page lists at most limit keys, or all if it is negative, and says whether
// those are the last ones.
func (r *reader) page(prefix, after string, limit int, opts ...clientv3.OpOption) (kvs []store.KV, last bool, err error) {
	from, end := firstOf(prefix, after), prefixEnd(prefix)
	for limit < 0 || len(kvs) < limit {
		most := pageSize
		if limit >= 0 {
			most = min(most, limit-len(kvs))
		}
		if from >= end {
			return kvs, true, nil
		}
		resp, err := r.ask(r.s.key(from), append(opts, clientv3.WithRange(r.s.key(end)), clientv3.WithLimit(int64(most)))...)
		if err != nil {
			return nil, false, errors.Annotatef(err, "cannot list keys below %q", prefix)
		}
		for _, kv := range resp.Kvs {
			kvs = append(kvs, r.s.kv(kv))
		}
		if !resp.More || len(resp.Kvs) == 0 {
			return kvs, true, nil
		}
		from = next(kvs[len(kvs)-1].Key)
	}
	return kvs, false, nil
}
