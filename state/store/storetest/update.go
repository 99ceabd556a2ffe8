package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

var updateTests = []test{
	{"a transaction sees its own writes", ownWrites},
	{"a transaction sees the newest revision", readsNewest},
	{"an error of the function is returned as it is and nothing is committed", failedUpdate},
	{"a panic of the function commits nothing and leaves the store usable", panickingUpdate},
	{"what isn't committed is seen by nobody", uncommitted},
	{"every commit has a revision of its own, greater than all before", revisionsGrow},
	{"an Update that writes nothing returns the revision that it read", writesNothing},
	{"an Update with a context that is done commits nothing", updateCancelled},
	{"deleting a key that isn't there is no error", deleteMissing},
	{"the last write to a key within a transaction counts", lastWriteCounts},
	{"concurrent increments lose none", increments},
	{"of two transactions that each rely on what the other writes one sees the other", writeSkew},
	{"relaxed and durable commits are one order", mixedDurability},
}

func ownWrites(k *kit) {
	k.put("a=1", "b=1", "c=1")
	k.update(func(tx store.Tx) error {
		if err := firstError(tx.Put("a", []byte("2")), tx.Delete("b"), tx.Put("d", []byte("2"))); err != nil {
			return err
		}
		kvs, err := tx.List("")
		if err != nil {
			return err
		}
		same(k, "List", words(kvs), "a=2 c=1 d=2")
		if kvs, err = tx.Page("", "a", 1); err != nil {
			return err
		}
		same(k, "Page", words(kvs), "c=1")
		if _, err := tx.Get("b"); !isNotFound(err) {
			k.Errorf("a deleted key is there: %v", err)
		}
		kv, err := tx.Get("d")
		same(k, "Get", string(kv.Value), "2")
		return err
	})
	same(k, "committed", k.all(), "a=2 c=1 d=2")
}

func readsNewest(k *kit) {
	for range 3 {
		rev := k.put("a")
		k.update(func(tx store.Tx) error {
			same(k, "Rev", tx.Rev(), rev)
			kv, err := tx.Get("a")
			same(k, "the key's Rev", kv.Rev, rev)
			return err
		})
		same(k, "a View's revision", k.head(), rev)
	}
}

func failedUpdate(k *kit) {
	before := k.put("a=1", "b=1")
	ch := k.watch("", 0)
	_, err := k.Update(k.ctx, func(tx store.Tx) error {
		return firstError(tx.Put("a", []byte("2")), tx.Delete("b"), tx.Put("c", nil), errNo)
	})
	if err != errNo {
		k.Fatalf("got %v, want the function's own error", err)
	}
	same(k, "content", k.all(), "a=1 b=1")
	same(k, "revision", k.head(), before)
	rev := k.put("z")
	same(k, "told", k.told(ch, rev), "z")
}

func panickingUpdate(k *kit) {
	k.put("a=1")
	func() {
		defer func() {
			if recover() == nil {
				k.Error("the panic was swallowed")
			}
		}()
		_, _ = k.Update(k.ctx, func(tx store.Tx) error {
			k.ok(tx.Put("a", []byte("2")))
			panic("in the function")
		})
	}()
	k.has("a", "1")
	k.put("a=3")
	k.has("a", "3")
}

func uncommitted(k *kit) {
	k.put("a=1")
	before := k.head()
	k.update(func(tx store.Tx) error {
		k.ok(tx.Put("a", []byte("2")))
		k.has("a", "1")
		same(k, "revision", k.head(), before)
		return nil
	})
	k.has("a", "2")
}

func revisionsGrow(k *kit) {
	const writers, each = 4, 20
	var mu sync.Mutex
	seen := map[int64]bool{}
	k.together(writers, func(i int) error {
		last := int64(0)
		for range each {
			read := int64(0)
			rev, err := k.Update(k.ctx, func(tx store.Tx) error {
				read = tx.Rev()
				return tx.Put(fmt.Sprintf("k/%d", i), nil)
			}, store.Relaxed)
			if err != nil {
				return err
			}
			if rev <= read || rev <= last {
				k.Errorf("revision %d of a commit isn't greater than %d that was read and %d before", rev, read, last)
			}
			last = rev
			mu.Lock()
			if seen[rev] {
				k.Errorf("two commits have revision %d", rev)
			}
			seen[rev] = true
			mu.Unlock()
		}
		return nil
	})
	for rev := range seen {
		if head := k.head(); rev > head {
			k.Fatalf("the newest revision is %d, but %d was committed", head, rev)
		}
	}
}

func writesNothing(k *kit) {
	rev := k.put("a")
	for range 2 {
		got := k.update(func(tx store.Tx) error {
			_, err := tx.Get("a")
			return err
		})
		same(k, "revision", got, rev)
	}
	same(k, "newest revision", k.head(), rev)
}

func updateCancelled(k *kit) {
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	_, err := k.Update(ctx, func(tx store.Tx) error { return tx.Put("a", nil) })
	k.is(err, context.Canceled)
	k.has("a", "")
}

func deleteMissing(k *kit) {
	k.put("a=1")
	k.delete("b")
	k.delete("a", "a")
	same(k, "content", k.all(), "")
}

func lastWriteCounts(k *kit) {
	k.put("b=1")
	ch := k.watch("", 0)
	rev := k.update(func(tx store.Tx) error {
		return firstError(
			tx.Put("a", []byte("1")), tx.Put("a", []byte("2")),
			tx.Delete("b"), tx.Put("b", []byte("2")),
			tx.Put("c", []byte("1")), tx.Put("c", []byte("2")))
	})
	same(k, "content", k.all(), "a=2 b=2 c=2")
	same(k, "told", k.told(ch, rev), "a b c")
	k.update(func(tx store.Tx) error {
		return firstError(tx.Put("a", []byte("3")), tx.Delete("a"), tx.Delete("b"))
	})
	same(k, "content", k.all(), "c=2")
}

// together runs fn in n goroutines and waits for them.
func (k *kit) together(n int, fn func(i int) error) {
	k.Helper()
	errs := make(chan error)
	for i := range n {
		go func() { errs <- fn(i) }()
	}
	for range n {
		if err := <-errs; err != nil {
			k.Error(err)
		}
	}
	if k.Failed() {
		k.FailNow()
	}
}

func increments(k *kit) {
	const writers, each = 6, 25
	k.together(writers, func(i int) error {
		var opts []store.Option
		if i%2 == 0 {
			opts = append(opts, store.Relaxed)
		}
		for range each {
			_, err := k.Update(k.ctx, func(tx store.Tx) error { return increment(tx, "n") }, opts...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	k.has("n", fmt.Sprint(writers*each))
}

func writeSkew(k *kit) {
	for round := range 20 {
		names := [2]string{fmt.Sprintf("%d/a", round), fmt.Sprintf("%d/b", round)}
		k.together(2, func(i int) error {
			// Each takes the place only if the other hasn't.
			_, err := k.Update(k.ctx, func(tx store.Tx) error {
				_, taken, err := lookUp(tx, names[1-i])
				if taken || err != nil {
					return err
				}
				return tx.Put(names[i], nil)
			}, store.Relaxed)
			return err
		})
		_, a := k.get(names[0])
		_, b := k.get(names[1])
		if a == b {
			k.Fatalf("round %d: taken by the first: %v, by the second: %v; want one of them", round, a, b)
		}
	}
}

func mixedDurability(k *kit) {
	ch := k.watch("", 0)
	last := int64(0)
	for i := range 20 {
		var opts []store.Option
		if i%3 != 0 {
			opts = append(opts, store.Relaxed)
		}
		rev := k.update(func(tx store.Tx) error { return increment(tx, "n") }, opts...)
		if rev <= last {
			k.Fatalf("revision %d after %d", rev, last)
		}
		last = rev
		k.has("n", fmt.Sprint(i+1))
	}
	same(k, "told", k.told(ch, last), "n")
}

var limitTests = []test{
	{"a value may have MaxValue bytes and no more", valueLimit},
	{"a transaction may write MaxWrites keys and no more", writesLimit},
	{"a transaction may write MaxBytes of keys and values and no more", bytesLimit},
	{"a transaction that was too large is not committed though its function says so", ignoredError},
	{"a key that isn't printable ASCII, or longer than MaxKey, is refused", badKeys},
	{"every method of a closed store returns ErrClosed", closed},
}

func valueLimit(k *kit) {
	k.update(func(tx store.Tx) error { return tx.Put("a", make([]byte, store.MaxValue)) })
	before := k.head()
	_, err := k.Update(k.ctx, func(tx store.Tx) error {
		return firstError(tx.Put("b", nil), tx.Put("a", make([]byte, store.MaxValue+1)))
	})
	k.is(err, store.ErrTooLarge)
	kv, _ := k.get("a")
	same(k, "bytes", len(kv.Value), store.MaxValue)
	k.has("b", "")
	same(k, "revision", k.head(), before)
}

func writesLimit(k *kit) {
	write := func(n int) error {
		_, err := k.Update(k.ctx, func(tx store.Tx) error {
			for i := range n {
				// A key that is written twice counts once.
				if err := firstError(tx.Put(fmt.Sprintf("%d/%03d", n, i), nil), tx.Put(fmt.Sprintf("%d/%03d", n, i), nil)); err != nil {
					return err
				}
			}
			return nil
		})
		return err
	}
	k.ok(write(store.MaxWrites))
	before := k.all()
	k.is(write(store.MaxWrites+1), store.ErrTooLarge)
	same(k, "content", k.all(), before)
}

func bytesLimit(k *kit) {
	write := func(bytes int) error {
		_, err := k.Update(k.ctx, func(tx store.Tx) error {
			half := make([]byte, store.MaxBytes/2-1)
			// What was written before in its place doesn't count.
			return firstError(tx.Put("a", half), tx.Put("b", half), tx.Put("b", nil), tx.Put("b", make([]byte, bytes-len(half)-2)))
		})
		return err
	}
	k.ok(write(store.MaxBytes))
	before := k.head()
	k.is(write(store.MaxBytes+1), store.ErrTooLarge)
	same(k, "revision", k.head(), before)
}

func ignoredError(k *kit) {
	_, err := k.Update(k.ctx, func(tx store.Tx) error {
		_ = tx.Put("a", nil)
		_ = tx.Put("b", make([]byte, store.MaxValue+1))
		return nil
	})
	k.is(err, store.ErrTooLarge)
	_, err = k.Update(k.ctx, func(tx store.Tx) error {
		for i := range store.MaxWrites + 1 {
			_ = tx.Put(fmt.Sprintf("k/%d", i), nil)
		}
		return nil
	})
	k.is(err, store.ErrTooLarge)
	same(k, "content", k.all(), "")
}

func badKeys(k *kit) {
	for _, key := range []string{"", "a\x00", "a\nb", "\x7f", "caf\xc3\xa9", "\xff", strings.Repeat("k", store.MaxKey+1)} {
		if _, err := k.Update(k.ctx, func(tx store.Tx) error { return tx.Put(key, nil) }); err == nil {
			k.Errorf("key %q was taken", key)
		}
	}
	same(k, "content", k.all(), "")
	k.put(strings.Repeat("k", store.MaxKey))
}

func closed(k *kit) {
	lease, err := k.Grant(k.ctx, time.Hour)
	k.ok(err)
	k.ok(k.Close())
	never := func() error { k.Error("the function was called"); return nil }
	for name, call := range map[string]func() error{
		"View": func() error { _, err := k.View(k.ctx, func(store.Reader) error { return never() }); return err },
		"Update": func() error {
			_, err := k.Update(k.ctx, func(store.Tx) error { return never() })
			return err
		},
		"Watch":     func() error { _, err := k.Watch(k.ctx, []store.Keys{store.Below("")}, 0); return err },
		"Grant":     func() error { _, err := k.Grant(k.ctx, time.Hour); return err },
		"KeepAlive": func() error { return k.KeepAlive(k.ctx, lease) },
		"Revoke":    func() error { return k.Revoke(k.ctx, lease) },
		"Compact":   func() error { return k.Compact(k.ctx, 1) },
	} {
		if err := call(); !errors.Is(err, store.ErrClosed) {
			k.Errorf("%s returned %v, want ErrClosed", name, err)
		}
	}
}
