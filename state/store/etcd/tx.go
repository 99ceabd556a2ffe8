package etcd

import (
	"context"

	"github.com/juju/errors"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/staged"
)

// transaction is an Update at work: what it reads is remembered, to be compared when it is
// committed.
type transaction struct {
	*reader
	tx     *staged.Tx
	ranges []span           // that were listed, besides the keys that were got
	leased map[string]int64 // listed keys with a lease, by their revision: they can go without a mark
}

func newTransaction(ctx context.Context, s *Store) *transaction {
	t := &transaction{reader: newReader(ctx, s), leased: map[string]int64{}}
	t.tx = staged.New(below{t})
	return t
}

// span is the keys from one up to another, which isn't one of them.
type span struct{ from, end string }

// below is what a transaction reads from etcd.
type below struct{ t *transaction }

var _ staged.Below = below{}

// Begin is part of staged.Below.
func (b below) Begin() error { return b.t.begin() }

// Rev is part of staged.Below.
func (b below) Rev() int64 { return b.t.Rev() }

// Get is part of staged.Below.
func (b below) Get(key string) (store.KV, error) { return b.t.get(key) }

// Page is part of staged.Below, and remembers what was listed.
func (b below) Page(p staged.Page) ([]store.KV, bool, error) {
	var opts []clientv3.OpOption
	if p.Bare {
		opts = append(opts, clientv3.WithKeysOnly())
	}
	if p.Since > 0 {
		opts = append(opts, clientv3.WithMinModRev(p.Since+1))
	}
	kvs, last, err := b.t.page(p.Prefix, p.After, p.Limit, opts...)
	if err != nil {
		return nil, false, errors.Trace(err)
	}
	read := span{firstOf(p.Prefix, p.After), prefixEnd(p.Prefix)}
	if !last {
		if len(kvs) == 0 {
			return nil, false, nil
		}
		read.end = next(kvs[len(kvs)-1].Key)
	}
	if read.from < read.end {
		b.t.ranges = append(b.t.ranges, read)
	}
	for _, kv := range kvs {
		if kv.Lease != 0 {
			b.t.leased[kv.Key] = kv.Rev
		}
	}
	return kvs, last, nil
}
