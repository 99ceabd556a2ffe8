package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/state/store"
)

// patience is how long a test waits for what must come. Only a failing test
// waits that long.
const patience = 5 * time.Minute

// errNo is what a function under test returns to have nothing committed.
var errNo = errors.New("no")

// Run checks that the stores that open returns keep every promise of package
// store. Each call of open must return an empty store; Run closes it.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, tests := range [][]test{readTests, updateTests, limitTests, watchTests, leaseTests, modelTests} {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				tt.run(newKit(t, open(t)))
			})
		}
	}
}

// test is one promise.
type test struct {
	name string
	run  func(k *kit)
}

// kit is a store with short words for what tests do with it. Each of them ends
// the test where the store returns an error.
type kit struct {
	testing.TB
	store.Store
	ctx context.Context
}

func newKit(t testing.TB, s store.Store) *kit {
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
			t.Errorf("Close: %v", err)
		}
	})
	return &kit{TB: t, Store: s, ctx: t.Context()}
}

func (k *kit) ok(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// is checks that err is of the kind want.
func (k *kit) is(err, want error) {
	k.Helper()
	if !errors.Is(err, want) {
		k.Fatalf("got error %v, want %v", err, want)
	}
}

// same checks one value, named by what.
func same[T comparable](k *kit, what string, got, want T) {
	k.Helper()
	if got != want {
		k.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// update commits what fn writes and returns the revision.
func (k *kit) update(fn func(tx store.Tx) error, opts ...store.Option) int64 {
	k.Helper()
	rev, err := k.Update(k.ctx, fn, opts...)
	k.ok(err)
	return rev
}

// put commits the keys, each with the value "v" or what follows a "=", in one
// transaction, and returns its revision.
func (k *kit) put(keys ...string) int64 {
	k.Helper()
	return k.update(func(tx store.Tx) error {
		for _, key := range keys {
			key, value, has := strings.Cut(key, "=")
			if !has {
				value = "v"
			}
			if err := tx.Put(key, []byte(value)); err != nil {
				return err
			}
		}
		return nil
	}, store.Relaxed)
}

// delete commits the removal of the keys in one transaction.
func (k *kit) delete(keys ...string) int64 {
	k.Helper()
	return k.update(func(tx store.Tx) error {
		for _, key := range keys {
			if err := tx.Delete(key); err != nil {
				return err
			}
		}
		return nil
	}, store.Relaxed)
}

// view reads with fn and returns the revision that was read.
func (k *kit) view(fn func(r store.Reader) error) int64 {
	k.Helper()
	rev, err := k.View(k.ctx, fn)
	k.ok(err)
	return rev
}

// head is the newest revision.
func (k *kit) head() int64 {
	k.Helper()
	return k.view(func(store.Reader) error { return nil })
}

// get reads one key and whether it is there.
func (k *kit) get(key string) (kv store.KV, found bool) {
	k.Helper()
	k.view(func(r store.Reader) error {
		var err error
		kv, found, err = lookUp(r, key)
		return err
	})
	return kv, found
}

// has checks that key has the value want; "" means that there is no such key.
func (k *kit) has(key, want string) {
	k.Helper()
	kv, found := k.get(key)
	if !found && want != "" {
		k.Fatalf("there is no key %q, want it to have %q", key, want)
	}
	if found && want == "" {
		k.Fatalf("key %q is there", key)
	}
	same(k, "value of "+key, string(kv.Value), want)
}

// all is the store's content as "key=value" words.
func (k *kit) all() string {
	k.Helper()
	var out string
	k.view(func(r store.Reader) error {
		kvs, err := r.List("")
		out = words(kvs)
		return err
	})
	return out
}

func lookUp(r store.Reader, key string) (store.KV, bool, error) {
	kv, err := r.Get(key)
	if isNotFound(err) {
		return kv, false, nil
	}
	return kv, err == nil, err
}

// words writes keys with their values as one line.
func words(kvs []store.KV) string {
	out := make([]string, len(kvs))
	for i, kv := range kvs {
		out[i] = kv.Key + "=" + string(kv.Value)
	}
	return strings.Join(out, " ")
}

// increment adds one to the decimal number at key.
func increment(tx store.Tx, key string) error {
	n := 0
	kv, found, err := lookUp(tx, key)
	if err != nil {
		return err
	}
	if found {
		if _, err := fmt.Sscan(string(kv.Value), &n); err != nil {
			return err
		}
	}
	return tx.Put(key, fmt.Append(nil, n+1))
}
