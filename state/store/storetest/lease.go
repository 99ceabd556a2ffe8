package storetest

import (
	"fmt"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// shortest is the shortest lease that any engine has: etcd counts in seconds.
const shortest = time.Second

// grant makes a lease.
func (k *kit) grant(ttl time.Duration) store.LeaseID {
	k.Helper()
	id, err := k.Grant(k.ctx, ttl)
	k.ok(err)
	return id
}

// lend commits keys with a lease.
func (k *kit) lend(id store.LeaseID, keys ...string) int64 {
	k.Helper()
	return k.update(func(tx store.Tx) error {
		for _, key := range keys {
			if err := tx.PutLease(key, []byte("v"), id); err != nil {
				return err
			}
		}
		return nil
	}, store.Relaxed)
}

// lendBriefly is lend with a lease of its own that is about to expire; until when
// the keys are there at least. A machine that is too busy for the shortest one gets a
// longer one.
func (k *kit) lendBriefly(keys ...string) (id store.LeaseID, rev int64, until time.Time) {
	k.Helper()
	for ttl := shortest; ; ttl *= 2 {
		until = time.Now().Add(ttl)
		id = k.grant(ttl)
		rev, err := k.Update(k.ctx, func(tx store.Tx) error {
			for _, key := range keys {
				if err := tx.PutLease(key, []byte("v"), id); err != nil {
					return err
				}
			}
			return nil
		}, store.Relaxed)
		if errors.Is(err, errors.NotFound) && time.Now().After(until) {
			continue
		}
		k.ok(err)
		return id, rev, until
	}
}

var leaseTests = []test{
	{"a key says which lease it has", leaseOfKey},
	{"leases have ids of their own and none is 0", leaseIDs},
	{"a lease that doesn't exist is not found", unknownLease},
	{"no lease has the id 0, and its end is the end of nothing", noLease},
	{"an expired lease takes its keys with it and watches are told", leaseExpires},
	{"an expired lease can't be kept alive or given to a key", expiredLease},
	{"a lease that is kept alive outlives its ttl", leaseKeptAlive},
	{"a revoked lease takes its keys with it, however many", leaseRevoked},
	{"a key that is written again has the new lease or none", leaseChanged},
	{"a failed transaction gives no key to a lease", leaseRolledBack},
}

func leaseOfKey(k *kit) {
	id := k.grant(time.Hour)
	rev := k.lend(id, "a")
	k.put("b")
	kv, _ := k.get("a")
	same(k, "lease", kv.Lease, id)
	same(k, "revision", kv.Rev, rev)
	k.update(func(tx store.Tx) error {
		kvs, err := tx.List("")
		if err != nil || len(kvs) != 2 {
			return errors.Errorf("listed %v, %v", kvs, err)
		}
		same(k, "listed lease of a", kvs[0].Lease, id)
		same(k, "listed lease of b", kvs[1].Lease, 0)
		return nil
	})
}

func leaseIDs(k *kit) {
	seen := map[store.LeaseID]bool{0: true}
	for range 20 {
		id := k.grant(time.Hour)
		if seen[id] {
			k.Fatalf("lease %d was granted before", id)
		}
		seen[id] = true
		k.ok(k.Revoke(k.ctx, id)) // nor is an id used again
	}
}

func unknownLease(k *kit) {
	id := k.grant(time.Hour)
	k.ok(k.Revoke(k.ctx, id))
	for _, id := range []store.LeaseID{id, id + 12345} {
		k.is(k.KeepAlive(k.ctx, id), errors.NotFound)
		k.ok(k.Revoke(k.ctx, id))
		_, err := k.Update(k.ctx, func(tx store.Tx) error {
			return firstError(tx.Put("b", nil), tx.PutLease("a", nil, id))
		})
		k.is(err, errors.NotFound)
	}
	same(k, "content", k.all(), "")
}

func noLease(k *kit) {
	id := k.grant(time.Hour)
	k.lend(id, "lent")
	rev := k.put("mine")
	k.is(k.KeepAlive(k.ctx, 0), errors.NotFound)
	k.ok(k.Revoke(k.ctx, 0))
	same(k, "content", k.all(), "lent=v mine=v")
	same(k, "revision", k.head(), rev)
}

func leaseExpires(k *kit) {
	k.put("mine")
	k.lend(k.grant(time.Hour), "a/long")
	_, before, until := k.lendBriefly("a/1", "a/2")
	ch := k.watch("", before)
	if _, found := k.get("a/1"); !found && time.Now().Before(until) {
		k.Fatal("the key has gone before its time")
	}
	for len(ch.newest) < 2 {
		ch.next(k)
	}
	same(k, "told", k.told(ch, ch.rev), "!a/1 !a/2")
	same(k, "content", k.all(), "a/long=v mine=v")
	if head := k.head(); head <= before {
		k.Fatalf("the revision is still %d", head)
	}
	k.put("a/1=mine again")
	k.has("a/1", "mine again")
}

func expiredLease(k *kit) {
	id, rev, _ := k.lendBriefly("a")
	ch := k.watch("", rev)
	ch.next(k)
	k.is(k.KeepAlive(k.ctx, id), errors.NotFound)
	_, err := k.Update(k.ctx, func(tx store.Tx) error { return tx.PutLease("b", nil, id) })
	k.is(err, errors.NotFound)
	k.ok(k.Revoke(k.ctx, id))
	same(k, "content", k.all(), "")
}

func leaseKeptAlive(k *kit) {
	const ttl = 2 * shortest
	for {
		id := k.grant(ttl)
		k.lend(id, "a")
		begin, last, gap := time.Now(), time.Now(), time.Duration(0)
		beat := time.NewTicker(ttl / 20)
		for time.Since(begin) < ttl+ttl/4 {
			<-beat.C
			err := k.KeepAlive(k.ctx, id)
			gap = max(gap, time.Since(last))
			last = time.Now()
			if err != nil && gap < ttl/2 {
				k.Fatalf("after %v, kept alive every %v: %v", time.Since(begin), gap, err)
			}
		}
		beat.Stop()
		kv, found := k.get("a")
		if gap = max(gap, time.Since(last)); gap > ttl/2 {
			continue // this machine was too busy for the test to say anything
		}
		if !found {
			k.Fatal("the key has gone")
		}
		same(k, "lease", kv.Lease, id)
		return
	}
}

func leaseRevoked(k *kit) {
	id, other := k.grant(time.Hour), k.grant(time.Hour)
	var want string
	const n = store.MaxWrites + 30
	for i := range n {
		key := fmt.Sprintf("l/%03d", i)
		k.lend(id, key)
		want += "!" + key + " "
	}
	rev := k.lend(other, "m")
	k.put("n")
	ch := k.watch("l/", rev)
	k.ok(k.Revoke(k.ctx, id))
	same(k, "content", k.all(), "m=v n=v")
	for len(ch.newest) < n {
		ch.next(k)
	}
	same(k, "told", k.told(ch, ch.rev)+" ", want)
	k.is(k.KeepAlive(k.ctx, id), errors.NotFound)
	k.ok(k.KeepAlive(k.ctx, other))
}

func leaseChanged(k *kit) {
	first, second := k.grant(time.Hour), k.grant(time.Hour)
	k.lend(first, "free", "moved", "kept", "again")
	k.put("free=mine")
	k.lend(second, "moved")
	k.delete("again")
	k.put("again=mine")
	kv, _ := k.get("moved")
	same(k, "lease", kv.Lease, second)
	kv, _ = k.get("free")
	same(k, "lease", kv.Lease, 0)
	k.ok(k.Revoke(k.ctx, first))
	same(k, "content", k.all(), "again=mine free=mine moved=v")
	k.ok(k.Revoke(k.ctx, second))
	same(k, "content", k.all(), "again=mine free=mine")
}

func leaseRolledBack(k *kit) {
	id := k.grant(time.Hour)
	k.put("a=1")
	_, err := k.Update(k.ctx, func(tx store.Tx) error {
		return firstError(tx.PutLease("a", nil, id), tx.PutLease("b", nil, id), errNo)
	})
	k.is(err, errNo)
	k.ok(k.Revoke(k.ctx, id))
	same(k, "content", k.all(), "a=1")
}
