package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

const ttl = 30 * time.Second

// lend grants a lease and gives it the keys.
func lend(t testing.TB, s store.Store, keys ...string) store.LeaseID {
	t.Helper()
	id, err := s.Grant(t.Context(), ttl)
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx store.Tx) error {
		for _, key := range keys {
			if err := tx.PutLease(key, []byte("v"), id); err != nil {
				return err
			}
		}
		return nil
	})
	return id
}

func update(t testing.TB, s store.Store, fn func(store.Tx) error, opts ...store.Option) int64 {
	t.Helper()
	rev, err := s.Update(t.Context(), fn, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

// value is the key's value, "" where there is none.
func value(t testing.TB, s store.Store, key string) string {
	t.Helper()
	out := ""
	_, err := s.View(t.Context(), func(r store.Reader) error {
		kv, err := r.Get(key)
		out = string(kv.Value)
		return err
	})
	if err != nil && !errors.Is(err, errors.NotFound) {
		t.Fatal(err)
	}
	return out
}

// await reads a watch until an event of key that is deleted, or not.
func await(t testing.TB, ch <-chan store.Batch, key string, deleted bool) store.Event {
	t.Helper()
	late := time.After(5 * time.Minute)
	for {
		select {
		case b, open := <-ch:
			if !open {
				t.Fatal("the watch has ended")
			}
			for _, e := range b.Events {
				if e.Key == key && e.Deleted == deleted {
					return e
				}
			}
		case <-late:
			t.Fatalf("not told of %q", key)
		}
	}
}

func watch(t testing.TB, s store.Store, prefix string, from int64) <-chan store.Batch {
	t.Helper()
	ch, err := s.Watch(t.Context(), []store.Keys{store.Below(prefix)}, from)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestAWatchingStoreRemovesKeysWhenTheirLeaseExpires(t *testing.T) {
	t.Parallel()
	// The store may ask for the time before the clock moves or after.
	for range 20 {
		c := newStopped()
		s := open(t, dbPath(t), sqlite.Options{Clock: c})
		ch := watch(t, s, "", 0)
		lend(t, s, "a")
		c.advance(ttl)
		await(t, ch, "a", true)
	}
}

func TestAnExpiredLeaseIsSeenByNobodyBeforeItIsRemoved(t *testing.T) {
	t.Parallel()
	c := newStopped()
	path := dbPath(t)
	s := open(t, path, sqlite.Options{Clock: c})
	id := lend(t, s, "a", "b")
	update(t, s, func(tx store.Tx) error { return tx.Put("c", []byte("v")) })
	c.advance(ttl - 1)
	if value(t, s, "a") == "" {
		t.Fatal("the key has gone before its time")
	}
	c.advance(1)
	if value(t, s, "a") != "" {
		t.Fatal("a View sees the key of an expired lease")
	}
	if _, err := s.View(t.Context(), func(r store.Reader) error {
		kvs, err := r.List("")
		if len(kvs) != 1 || kvs[0].Key != "c" {
			t.Errorf("a View lists %v, want c alone", kvs)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.KeepAlive(t.Context(), id); !errors.Is(err, errors.NotFound) {
		t.Fatalf("KeepAlive returned %v, want NotFound", err)
	}
	// Somebody who watches is told by the next Update, be it about another key.
	other := open(t, path, sqlite.Options{Clock: newStopped()})
	ch := watch(t, other, "", 0)
	update(t, s, func(tx store.Tx) error {
		if _, err := tx.Get("b"); !errors.Is(err, errors.NotFound) {
			t.Errorf("a transaction sees the key of an expired lease: %v", err)
		}
		return tx.Put("c", []byte("w"))
	})
	await(t, ch, "c", false)
	if value(t, other, "b") != "" {
		t.Fatal("the key wasn't removed")
	}
}

func TestKeepAliveGivesTheFullTTLFromNow(t *testing.T) {
	t.Parallel()
	c := newStopped()
	s := open(t, dbPath(t), sqlite.Options{Clock: c})
	id := lend(t, s, "a")
	for range 5 {
		c.advance(ttl - 1)
		if err := s.KeepAlive(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	c.advance(ttl - 1)
	if value(t, s, "a") == "" {
		t.Fatal("the key has gone before its time")
	}
	c.advance(1)
	if value(t, s, "a") != "" {
		t.Fatal("the key is there after its time")
	}
}

func TestALeaseThatExpiresWhileWaitingForTheLockIsNotRevived(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path, sqlite.Options{Clock: newStopped()})
	c := newStopped()
	waiting := open(t, path, sqlite.Options{Clock: c})
	id := lend(t, waiting, "a")
	result := make(chan error)
	update(t, s, func(tx store.Tx) error {
		select { // what the preparation has asked
		case <-c.asked:
		default:
		}
		go func() { result <- waiting.KeepAlive(t.Context(), id) }()
		select {
		case <-c.asked:
		case <-time.After(100 * time.Millisecond): // it rightly doesn't ask yet
		}
		c.advance(ttl)
		return nil
	})
	if err := <-result; !errors.Is(err, errors.NotFound) {
		t.Fatalf("KeepAlive returned %v, want NotFound", err)
	}
}

func TestTheKeysOfAnExpiredLeaseDoNotCountAsWrites(t *testing.T) {
	t.Parallel()
	c := newStopped()
	s := open(t, dbPath(t), sqlite.Options{Clock: c})
	lend(t, s, "a")
	c.advance(ttl)
	update(t, s, func(tx store.Tx) error {
		for i := range store.MaxWrites {
			if err := tx.Put(fmt.Sprintf("k/%d", i), nil); err != nil {
				return err
			}
		}
		return nil
	})
}
