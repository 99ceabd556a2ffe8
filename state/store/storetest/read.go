package storetest

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

func isNotFound(err error) bool { return errors.Is(err, errors.NotFound) }

var readTests = []test{
	{"a key that was put is got with its value", getsWhatWasPut},
	{"a key that isn't there is not found", missingKey},
	{"the error of a View's function is returned as it is", viewError},
	{"a list has the keys that begin with the prefix in bytewise order", lists},
	{"pages of any size add up to the list", pages},
	{"a page begins after a key that need not exist", pageAfter},
	{"keys are a page without its values and leases", keysOnly},
	{"what has changed since a revision are the keys that were written after it and are there", sinceRevision},
	{"what has changed since a revision can be asked when changes that old are forgotten", sinceForgotten},
	{"a key has the revisions of its last write and of its making", keyRevisions},
	{"a View keeps seeing what it saw first", snapshot},
	{"a View with a context that is done reads nothing", viewCancelled},
}

func getsWhatWasPut(k *kit) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, value := range [][]byte{[]byte("x"), {}, nil, {0}, every, bytes.Repeat([]byte("ab"), store.MaxValue/2)} {
		rev := k.update(func(tx store.Tx) error { return tx.Put("key", value) })
		kv, found := k.get("key")
		if !found || !bytes.Equal(kv.Value, value) {
			k.Fatalf("got %d bytes (found: %v), want the %d bytes that were put", len(kv.Value), found, len(value))
		}
		same(k, "key", kv.Key, "key")
		same(k, "revision", kv.Rev, rev)
		same(k, "lease", kv.Lease, 0)
	}
}

func missingKey(k *kit) {
	k.put("a/b", "a/b/c")
	for _, key := range []string{"a", "a/", "a/b/", "a/c", "A/B", "a/_", "a/%"} {
		k.view(func(r store.Reader) error {
			if kv, err := r.Get(key); !isNotFound(err) {
				k.Errorf("Get(%q) = %v, %v; want errors.NotFound", key, kv, err)
			}
			return nil
		})
	}
	_, err := k.View(k.ctx, func(r store.Reader) error {
		_, err := r.Get("nothing")
		return err
	})
	k.is(err, errors.NotFound)
}

func viewError(k *kit) {
	if _, err := k.View(k.ctx, func(store.Reader) error { return errNo }); err != errNo {
		k.Fatalf("got %v, want the function's own error", err)
	}
}

func lists(k *kit) {
	k.put("a", "a!", "a/", "a/b", "a/b/c", "a/b0", "a0", "aa", "a_", "a~", "a%", "a*", "B", "~")
	for _, tt := range []struct{ prefix, want string }{
		{"", "B a a! a% a* a/ a/b a/b/c a/b0 a0 a_ aa a~ ~"},
		{"a", "a a! a% a* a/ a/b a/b/c a/b0 a0 a_ aa a~"},
		{"a/", "a/ a/b a/b/c a/b0"},
		{"a/b", "a/b a/b/c a/b0"},
		{"a/b/", "a/b/c"},
		{"a_", "a_"},
		{"a%", "a%"},
		{"a*", "a*"},
		{"a~", "a~"},
		{"~", "~"},
		{"b", ""},
		{"A", ""},
		{"a/b/c/d", ""},
	} {
		check := func(r store.Reader) error {
			kvs, err := r.List(tt.prefix)
			if got := keysOf(kvs); got != tt.want {
				k.Errorf("List(%q) = %q, want %q", tt.prefix, got, tt.want)
			}
			return err
		}
		k.view(check)
		k.update(func(tx store.Tx) error { return check(tx) })
	}
}

func keysOf(kvs []store.KV) string {
	keys := make([]string, len(kvs))
	for i, kv := range kvs {
		keys[i] = kv.Key
	}
	return strings.Join(keys, " ")
}

func pages(k *kit) {
	var keys []string
	for i := range 23 {
		keys = append(keys, fmt.Sprintf("p/%02d=%d", i, i))
	}
	k.put(append(keys, "o/z", "p", "p0", "q/a")...)
	want := strings.Join(keys, " ")
	for limit := 1; limit <= len(keys)+1; limit++ {
		k.view(func(r store.Reader) error {
			var all []store.KV
			after := ""
			for {
				page, err := r.Page("p/", after, limit)
				if err != nil {
					return err
				}
				if len(page) > limit {
					k.Fatalf("a page of at most %d has %d keys", limit, len(page))
				}
				if len(page) == 0 {
					break
				}
				all = append(all, page...)
				after = page[len(page)-1].Key
			}
			same(k, fmt.Sprintf("pages of %d", limit), words(all), want)
			return nil
		})
	}
}

func pageAfter(k *kit) {
	k.put("a/1", "b/1", "b/2", "b/3", "c/1")
	for _, tt := range []struct{ prefix, after, want string }{
		{"b/", "", "b/1 b/2"},
		{"b/", "a/1", "b/1 b/2"},
		{"b/", "b/", "b/1 b/2"},
		{"b/", "b/1", "b/2 b/3"},
		{"b/", "b/1!", "b/2 b/3"},
		{"b/", "b/2", "b/3"},
		{"b/", "b/3", ""},
		{"b/", "c", ""},
		{"", "b/2", "b/3 c/1"},
	} {
		k.view(func(r store.Reader) error {
			kvs, err := r.Page(tt.prefix, tt.after, 2)
			same(k, fmt.Sprintf("Page(%q, %q, 2)", tt.prefix, tt.after), keysOf(kvs), tt.want)
			return err
		})
	}
}

func keysOnly(k *kit) {
	id := k.grant(time.Hour)
	k.put("a/1", "b/1=x", "b/2", "b/3", "c/1")
	k.lend(id, "b/2")
	check := func(r store.Reader) error {
		for _, after := range []string{"", "b/1", "b/1!", "b/3", "c"} {
			page, err := r.Page("b/", after, 2)
			if err != nil {
				return err
			}
			for i := range page {
				page[i].Value, page[i].Lease = nil, 0
			}
			got, err := r.Keys("b/", after, 2)
			if err != nil || !reflect.DeepEqual(got, page) {
				k.Errorf("Keys after %q: %v, %v; want %v", after, got, err, page)
			}
		}
		return nil
	}
	k.view(check)
	k.update(func(tx store.Tx) error { return check(tx) })
}

func sinceRevision(k *kit) {
	first := k.put("a/1=x", "a/2=x", "a/3=x", "b/1=x")
	second := k.put("a/2=y", "b/2=y")
	k.delete("a/3")
	k.delete("a/1")
	last := k.put("a/1=z", "a/4=z")
	for _, tt := range []struct {
		rev  int64
		want string
	}{
		{first - 1, "a/1=z a/2=y a/4=z"},
		{first, "a/1=z a/2=y a/4=z"},
		{second, "a/1=z a/4=z"},
		{last - 1, "a/1=z a/4=z"},
		{last, ""},
		{last + 10, ""},
	} {
		k.since("a/", tt.rev, tt.want)
	}
	// A transaction sees what it has written itself.
	k.update(func(tx store.Tx) error {
		if err := firstError(tx.Put("a/0", []byte("new")), tx.Delete("a/4")); err != nil {
			return err
		}
		kvs, err := tx.Since("a/", second)
		same(k, "what a transaction sees", words(kvs), "a/0=new a/1=z")
		return err
	})
	// What comes and goes in one leaves nothing to tell.
	rev := k.put("c")
	k.delete("c")
	k.since("c", rev-1, "")
}

func sinceForgotten(k *kit) {
	first := k.put("a/1=x", "a/2=x")
	second := k.put("a/2=y", "b/1=y")
	if err := k.Compact(k.ctx, second); err != nil {
		k.Fatal(err)
	}
	third := k.put("a/3=z")
	k.since("a/", first, "a/2=y a/3=z")
	k.since("a/", second, "a/3=z")
	k.since("a/", third, "")
}

// since checks what has changed below a prefix, and that Get and List say the
// same of it.
func (k *kit) since(prefix string, rev int64, want string) {
	k.Helper()
	k.view(func(r store.Reader) error {
		kvs, err := r.Since(prefix, rev)
		same(k, fmt.Sprintf("Since(%q, %d)", prefix, rev), words(kvs), want)
		for _, kv := range kvs {
			if got, err := r.Get(kv.Key); err != nil || !reflect.DeepEqual(got, kv) {
				k.Errorf("Since has %v, Get %v, %v", kv, got, err)
			}
		}
		return err
	})
}

func keyRevisions(k *kit) {
	made := k.put("a", "b")
	written := k.put("a")
	check := func(key string, rev, create int64) {
		k.Helper()
		kv, _ := k.get(key)
		same(k, "Rev of "+key, kv.Rev, rev)
		same(k, "CreateRev of "+key, kv.CreateRev, create)
	}
	check("a", written, made)
	check("b", made, made)
	k.delete("a")
	again := k.put("a")
	check("a", again, again)
	k.view(func(r store.Reader) error {
		kvs, err := r.List("")
		if len(kvs) != 2 || kvs[0].Rev != again || kvs[0].CreateRev != again || kvs[1].Rev != made {
			k.Errorf("List has other revisions than Get: %v", kvs)
		}
		return err
	})
}

func snapshot(k *kit) {
	first := k.put("a=old", "gone=old")
	rev := k.view(func(r store.Reader) error {
		same(k, "Rev before", r.Rev(), first)
		done := make(chan error)
		go func() {
			_, err := k.Update(k.ctx, func(tx store.Tx) error {
				return errors.Trace(firstError(tx.Put("a", []byte("new")), tx.Put("b", nil), tx.Delete("gone")))
			})
			done <- err
		}()
		if err := <-done; err != nil {
			return err
		}
		kvs, err := r.List("")
		same(k, "what the View sees", words(kvs), "a=old gone=old")
		same(k, "Rev after", r.Rev(), first)
		return err
	})
	same(k, "revision returned", rev, first)
	k.has("a", "new")
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func viewCancelled(k *kit) {
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	_, err := k.View(ctx, func(store.Reader) error {
		k.Error("the function was called")
		return nil
	})
	k.is(err, context.Canceled)
}
