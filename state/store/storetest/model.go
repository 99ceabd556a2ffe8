package storetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"pgregory.net/rapid"

	"github.com/unitd/unitd/state/store"
)

var modelTests = []test{
	{"any sequence of transactions gives what a map would", likeAMap},
}

// world is what a plain map says the store has below prefix.
type world struct {
	k       *kit
	prefix  string
	keys    map[string]store.KV
	history []store.Event // of all commits, by revision
	revs    []int64       // from which a watch may resume
	// ghosts are deletions of keys that their own transaction had made. They
	// may be told of or not.
	ghosts map[store.Event]bool
}

// likeAMap runs random sequences of transactions against the store and a map.
func likeAMap(k *kit) {
	check, isTest := k.TB.(rapid.TB)
	if !isTest {
		k.Skip("only a test can be checked like this")
	}
	k.put("start")
	var round atomic.Int64
	rapid.Check(check, func(t *rapid.T) {
		w := &world{
			k: k, prefix: fmt.Sprintf("r/%d/", round.Add(1)),
			keys: map[string]store.KV{}, revs: []int64{k.head()}, ghosts: map[store.Event]bool{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"commit": w.commit,
			"resume": w.resume,
			"":       w.compare,
		})
	})
}

// key draws one of a few keys, of which some are prefixes of others.
func (w *world) key(t *rapid.T) string {
	return w.prefix + rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "a0", "ab", "b", "b/", "b/~"}).Draw(t, "key")
}

// commit runs one transaction of several writes that may fail at its end.
func (w *world) commit(t *rapid.T) {
	type write struct {
		key    string
		value  []byte
		delete bool
	}
	writes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) write {
		return write{w.key(t), rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "value"), rapid.IntRange(0, 2).Draw(t, "how") == 0}
	}), 0, 5).Draw(t, "writes")
	var opts []store.Option
	if rapid.IntRange(0, 9).Draw(t, "durable") > 0 {
		opts = append(opts, store.Relaxed)
	}
	fails := rapid.IntRange(0, 4).Draw(t, "fails") == 0
	var next map[string]store.KV
	var touched map[string]bool
	rev, err := w.k.Update(w.k.ctx, func(tx store.Tx) error {
		next, touched = maps.Clone(w.keys), map[string]bool{}
		for _, wr := range writes {
			was, had := next[wr.key]
			if wr.delete {
				if err := tx.Delete(wr.key); err != nil {
					return err
				}
				delete(next, wr.key)
				if had {
					touched[wr.key] = true
				}
			} else {
				if err := tx.Put(wr.key, wr.value); err != nil {
					return err
				}
				next[wr.key] = store.KV{Key: wr.key, Value: wr.value, Rev: -1, CreateRev: was.CreateRev}
				touched[wr.key] = true
			}
			w.sameAs(t, tx, next, false)
		}
		if fails {
			return errNo
		}
		return nil
	}, opts...)
	if fails {
		if err != errNo {
			t.Fatalf("got %v, want the function's own error", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	w.committed(t, rev, next, touched)
}

// committed gives the keys written the commit's revision.
func (w *world) committed(t *rapid.T, rev int64, next map[string]store.KV, touched map[string]bool) {
	last := w.revs[len(w.revs)-1]
	if len(touched) > 0 && rev <= last {
		t.Fatalf("revision %d after %d", rev, last)
	}
	for _, key := range slices.Sorted(maps.Keys(touched)) {
		kv, there := next[key]
		if there {
			kv.Rev = rev
			if kv.CreateRev == 0 {
				kv.CreateRev = rev
			}
			next[key] = kv
		}
		e := store.Event{Key: key, Rev: rev, Deleted: !there}
		if _, had := w.keys[key]; had || there {
			w.history = append(w.history, e)
		} else {
			w.ghosts[e] = true
		}
	}
	w.keys = next
	w.revs = append(w.revs, rev)
}

// compare holds the store against the map.
func (w *world) compare(t *rapid.T) {
	if _, err := w.k.View(w.k.ctx, func(r store.Reader) error {
		w.sameAs(t, r, w.keys, true)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// sameAs checks that r has the keys of want, by List, Page and Get.
func (w *world) sameAs(t *rapid.T, r store.Reader, want map[string]store.KV, revisions bool) {
	prefix := w.prefix + rapid.SampledFrom([]string{"", "a", "a/", "a/b", "b", "c"}).Draw(t, "prefix")
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	kvs, err := r.List(prefix)
	if err != nil {
		t.Fatal(err)
	}
	if got := keysOf(kvs); got != strings.Join(keys, " ") {
		t.Fatalf("List(%q) = %q, want %q", prefix, got, keys)
	}
	for _, kv := range kvs {
		m := want[kv.Key]
		if string(kv.Value) != string(m.Value) {
			t.Fatalf("key %q has %q, want %q", kv.Key, kv.Value, m.Value)
		}
		if revisions && (kv.Rev != m.Rev || kv.CreateRev > kv.Rev) {
			t.Fatalf("key %q has revisions %d and %d, want %d", kv.Key, kv.Rev, kv.CreateRev, m.Rev)
		}
	}
	after, limit := w.key(t), rapid.IntRange(1, 4).Draw(t, "limit")
	if kvs, err = r.Page(prefix, after, limit); err != nil {
		t.Fatal(err)
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return key <= after })
	if got, page := keysOf(kvs), keys[:min(limit, len(keys))]; got != strings.Join(page, " ") {
		t.Fatalf("Page(%q, %q, %d) = %q, want %q", prefix, after, limit, got, page)
	}
	if _, found, err := lookUp(r, after); err != nil || found != (want[after].Key != "") {
		t.Fatalf("Get(%q): found %v, %v", after, found, err)
	}
}

// resume watches from an old revision and holds what is told against history.
func (w *world) resume(t *rapid.T) {
	from := rapid.SampledFrom(w.revs).Draw(t, "from")
	want := map[string]store.Event{}
	for _, e := range w.history {
		if e.Rev > from {
			want[e.Key] = e
		}
	}
	l := w.k.watch(w.prefix, from)
	// A mark of which the watch is sure to tell, so that there is an end.
	mark := w.prefix + "mark"
	rev := w.k.put(mark)
	for l.rev < rev {
		l.next(w.k)
	}
	delete(l.newest, mark)
	for key, e := range l.newest {
		if want[key] != e && !w.ghosts[e] {
			t.Fatalf("from %d told %v, want %v", from, e, want[key])
		}
	}
	for key, e := range want {
		if got := l.newest[key]; got != e && (!w.ghosts[got] || got.Rev < e.Rev) {
			t.Fatalf("from %d told %v, want %v", from, got, e)
		}
	}
	w.revs = append(w.revs, w.k.delete(mark))
}
