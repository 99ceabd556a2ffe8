package etcd

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/juju/errors"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unitd/unitd/state/store"
)

const (
	// slots is how many keys there are for the numbers that transactions draw.
	// Two that draw the same slot at the same time are tried again.
	slots = 1024
)

// Update is part of store.Store. Every commit is on stable storage of a
// majority of the members; Relaxed changes nothing.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error, _ ...store.Option) (int64, error) {
	rev, err := s.life.Update(ctx, func(ctx context.Context) (int64, bool, error) { return s.try(ctx, fn) })
	if err == nil {
		s.trim(rev)
	}
	return rev, err
}

// try makes one attempt; done is false if somebody else was faster.
func (s *Store) try(ctx context.Context, fn func(store.Tx) error) (rev int64, done bool, err error) {
	t := newTransaction(ctx, s)
	if err := fn(t.tx); err != nil {
		if isCompacted(err) {
			return 0, false, nil // it has taken so long that its revision is forgotten
		}
		return 0, false, err
	}
	if err := t.tx.Err(); err != nil {
		if isCompacted(err) {
			return 0, false, nil
		}
		return 0, false, err
	}
	if err := t.begin(); err != nil {
		return 0, false, errors.Annotate(err, "cannot write to the store")
	}
	if len(t.tx.Writes()) == 0 {
		return t.rev, true, nil
	}
	rev, done, err = t.commit()
	return rev, done, errors.Annotate(err, "cannot write to the store")
}

// ops are the writes in etcd's terms.
func (t *transaction) ops(slot, number string) []clientv3.Op {
	ops := []clientv3.Op{clientv3.OpPut(slot, number)}
	var deleted []string
	writes := t.tx.Writes()
	for _, key := range slices.Sorted(maps.Keys(writes)) {
		w := writes[key]
		if w.Deleted {
			deleted = append(deleted, key)
			ops = append(ops, clientv3.OpDelete(t.s.key(key)))
			continue
		}
		ops = append(ops, clientv3.OpPut(t.s.key(key), string(w.Value), clientv3.WithLease(clientv3.LeaseID(w.Lease))))
	}
	if len(deleted) > 0 {
		for _, dir := range marks(deleted, maxOps-len(ops)) {
			ops = append(ops, clientv3.OpPut(t.s.mark(dir), ""))
		}
	}
	return ops
}

// commit commits, if nothing of what was read has changed.
func (t *transaction) commit() (rev int64, done bool, err error) {
	slot, number, err := t.draw()
	if err != nil {
		return 0, false, errors.Trace(err)
	}
	resp, err := t.send(slot, number)
	switch {
	case err == nil:
		return resp.Header.Revision, resp.Succeeded, nil
	case leaseIsGone(err):
		return 0, false, errors.NewNotFound(nil, "lease not found")
	case silent(err):
		t.s.log.Debug("looking whether a commit was made", "err", err)
		return t.find(slot, number)
	}
	return 0, false, readable(err, t.s.names)
}

// send asks for the commit once.
func (t *transaction) send(slot, number string) (*clientv3.TxnResponse, error) {
	// Nobody has drawn the slot since.
	free := check{span: span{slot, next(slot)}}
	compare := t.compare(append(t.checks(maxOps-1), free))
	// A commit on its way isn't given up because a caller has gone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), attempt)
	defer cancel()
	return t.s.client.Txn(ctx).If(compare...).Then(t.ops(slot, number)...).Commit()
}

// draw is a slot, where whoever may write what is written may write as well, and
// the number to be put into it.
func (t *transaction) draw() (slot, number string, err error) {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		return "", "", errors.Trace(err)
	}
	n, err := rand.Int(rand.Reader, big.NewInt(slots))
	if err != nil {
		return "", "", errors.Trace(err)
	}
	group := directory(slices.Min(slices.Collect(maps.Keys(t.tx.Writes()))), coarse)
	return fmt.Sprintf("%st/%s%03x", t.s.prefix, group, n), hex.EncodeToString(b), nil
}

// find says whether a commit was made whose answer was lost. It writes to the
// slot itself, which the commit wants untouched, so one that wasn't made yet
// never will be.
func (t *transaction) find(slot, number string) (rev int64, done bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), patience)
	defer cancel()
	unhook := context.AfterFunc(t.s.life.Context(), cancel)
	defer unhook()
	over := "not " + number
	resp, err := request(ctx, t.s, func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return t.s.client.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(slot), "<", t.rev+1)).
			Then(clientv3.OpPut(slot, over)).
			Else(clientv3.OpGet(slot)).Commit()
	})
	if err != nil {
		return 0, false, errors.Annotate(err, "it isn't known whether it was written")
	}
	if resp.Succeeded {
		return 0, false, nil
	}
	// Whoever was there since the transaction began, the newest first.
	kvs := resp.Responses[0].GetResponseRange().Kvs
	for len(kvs) > 0 && kvs[0].ModRevision > t.rev {
		at := kvs[0].ModRevision
		switch string(kvs[0].Value) {
		case number:
			return at, true, nil
		case over:
			return 0, false, nil
		}
		former, err := t.s.request(ctx, func(ctx context.Context) (*clientv3.GetResponse, error) {
			return t.s.client.Get(ctx, slot, clientv3.WithRev(at-1))
		})
		if err != nil {
			return 0, false, errors.Annotate(err, "it isn't known whether it was written")
		}
		kvs = former.Kvs
	}
	return 0, false, nil
}
