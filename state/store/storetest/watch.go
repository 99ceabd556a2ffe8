package storetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/unitd/unitd/state/store"
)

// watch begins a watch that lasts as long as the test.
func (k *kit) watch(prefix string, from int64) *listener {
	k.Helper()
	ch, err := k.Watch(k.ctx, []store.Keys{store.Below(prefix)}, from)
	k.ok(err)
	return &listener{ch: ch, prefix: prefix, rev: from, newest: map[string]store.Event{}}
}

// listener reads a watch and holds it to its promises.
type listener struct {
	ch     <-chan store.Batch
	prefix string
	rev    int64                  // the watcher has been told everything up to here
	newest map[string]store.Event // of each key
	resync int                    // how many batches said so
}

// next takes one batch and checks it.
func (l *listener) next(k *kit) store.Batch {
	k.Helper()
	select {
	case b, open := <-l.ch:
		if !open {
			k.Fatalf("the watch of %q has ended after revision %d", l.prefix, l.rev)
		}
		l.check(k, b)
		return b
	case <-time.After(patience):
		k.Fatalf("the watch of %q tells nothing after revision %d", l.prefix, l.rev)
	}
	panic("unreachable")
}

func (l *listener) check(k *kit, b store.Batch) {
	k.Helper()
	last := l.rev
	for _, e := range b.Events {
		if !strings.HasPrefix(e.Key, l.prefix) {
			k.Fatalf("told of %q, which doesn't begin with %q", e.Key, l.prefix)
		}
		if e.Rev <= l.rev {
			k.Fatalf("told of %q at revision %d after everything up to %d had been told", e.Key, e.Rev, l.rev)
		}
		if e.Rev < last || e.Rev > b.Rev {
			k.Fatalf("revision %d out of order in %v", e.Rev, b)
		}
		last = e.Rev
		l.newest[e.Key] = e
	}
	if b.Resync {
		l.resync++
		if len(b.Events) > 0 {
			k.Fatalf("events with a Resync: %v", b)
		}
	}
	l.rev = max(l.rev, b.Rev)
}

// told is what the watch tells up to revision rev: the keys in the order of
// their names, "!" before one that was deleted. rev must be that of a change
// that the watch is about.
func (k *kit) told(l *listener, rev int64) string {
	k.Helper()
	for l.rev < rev {
		l.next(k)
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(l.newest)) {
		if l.newest[key].Deleted {
			key = "!" + key
		}
		out = append(out, key)
	}
	if l.resync > 0 {
		out = append(out, fmt.Sprintf("(resync %d)", l.resync))
	}
	l.newest, l.resync = map[string]store.Event{}, 0
	return strings.Join(out, " ")
}

// ended waits until the watch is closed, whatever it still tells.
func (k *kit) ended(ch <-chan store.Batch) {
	k.Helper()
	late := time.After(patience)
	for {
		select {
		case _, open := <-ch:
			if !open {
				return
			}
		case <-late:
			k.Fatal("the watch isn't closed")
		}
	}
}

var watchTests = []test{
	{"a watch from 0 tells of what comes after it", watchFromNow},
	{"a watch tells of writes and deletions with their revisions", watchDeleted},
	{"a watch tells of keys with its prefix alone", watchPrefix},
	{"a watch of several keys tells of each transaction in one batch", watchSeveral},
	{"who wants to be told of other keys misses nothing of the former ones", watchOthers},
	{"a watch resumes after any old revision", watchResumes},
	{"all keys of a transaction are told at its revision", watchWhole},
	{"what is told of can be read", watchThenRead},
	{"a slow reader loses nothing", watchSlow},
	{"concurrent writers are told of in order", watchConcurrent},
	{"a watch that begins amid commits is told of each once", watchAmid},
	{"two watches are told independently", watchTwice},
	{"a watch from before a compaction begins with a Resync and goes on", watchCompacted},
	{"a watch from the compacted revision loses nothing", watchAtCompacted},
	{"compaction leaves keys, values and revisions as they are", compactKeeps},
	{"a watch whose context is done is closed", watchCancelled},
	{"Close closes all watches", watchClosed},
}

func watchFromNow(k *kit) {
	k.put("a", "b")
	ch := k.watch("", 0)
	rev := k.put("c")
	same(k, "told", k.told(ch, rev), "c")
}

func watchDeleted(k *kit) {
	first := k.put("a", "b")
	ch := k.watch("", 0)
	ch.rev = first
	put := k.put("a")
	if b := ch.next(k); len(b.Events) != 1 || b.Events[0] != (store.Event{Key: "a", Rev: put}) || b.Rev < put {
		k.Fatalf("told %v, want a written at %d", b, put)
	}
	gone := k.delete("b")
	if b := ch.next(k); len(b.Events) != 1 || b.Events[0] != (store.Event{Key: "b", Rev: gone, Deleted: true}) || b.Rev < gone {
		k.Fatalf("told %v, want b deleted at %d", b, gone)
	}
}

func watchPrefix(k *kit) {
	ch := k.watch("a/", 0)
	k.put("a", "a0", "b", "a!")
	k.put("a/1", "b/1")
	k.delete("b/1")
	rev := k.put("a/2", "a")
	same(k, "told", k.told(ch, rev), "a/1 a/2")
}

func watchResumes(k *kit) {
	k.put("start")
	revs := []int64{k.head()}
	var want []string
	for i := range 12 {
		key := fmt.Sprintf("k/%02d", i)
		revs = append(revs, k.put(key))
		want = append(want, key)
	}
	for i, from := range revs[:len(revs)-1] {
		ch := k.watch("k/", from)
		same(k, fmt.Sprintf("told from %d", from), k.told(ch, revs[len(revs)-1]), strings.Join(want[i:], " "))
	}
	// What comes later is told to a watch that has resumed, too.
	ch := k.watch("k/", revs[6])
	rev := k.put("k/later")
	same(k, "told", k.told(ch, rev), strings.Join(want[6:], " ")+" k/later")
}

func watchWhole(k *kit) {
	for _, resume := range []bool{false, true} {
		from := k.put("start")
		ch := k.watch("k/", 0)
		rev := k.put("k/1", "k/2", "other", "k/3")
		if resume {
			ch = k.watch("k/", from)
		}
		b := ch.next(k)
		if len(b.Events) != 3 {
			k.Fatalf("told %v, want three keys", b)
		}
		for _, e := range b.Events {
			same(k, "revision of "+e.Key, e.Rev, rev)
		}
	}
}

func watchThenRead(k *kit) {
	ch := k.watch("", 0)
	const n = 50
	done := make(chan error, 1)
	go func() {
		for range n {
			if _, err := k.Update(k.ctx, func(tx store.Tx) error { return increment(tx, "n") }, store.Relaxed); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for seen := false; !seen; {
		b := ch.next(k)
		if head := k.head(); head < b.Rev {
			k.Fatalf("told of revision %d, but %d is read", b.Rev, head)
		}
		kv, _ := k.get("n")
		if kv.Rev < b.Events[len(b.Events)-1].Rev {
			k.Fatalf("told %v, but the key is read at %d", b, kv.Rev)
		}
		seen = string(kv.Value) == fmt.Sprint(n)
	}
	k.ok(<-done)
}

func watchSlow(k *kit) {
	ch := k.watch("k/", 0)
	var want []string
	rev := int64(0)
	for i := range 300 {
		key := fmt.Sprintf("k/%03d", i)
		rev = k.put(key, "other")
		want = append(want, key)
	}
	same(k, "told", k.told(ch, rev), strings.Join(want, " "))
}

func watchConcurrent(k *kit) {
	const writers, each = 4, 25
	k.put("start")
	ch := k.watch("k/", k.head())
	var want []string
	for w := range writers {
		for i := range each {
			want = append(want, fmt.Sprintf("k/%d/%02d", w, i))
		}
	}
	k.together(writers, func(w int) error {
		for i := range each {
			_, err := k.Update(k.ctx, func(tx store.Tx) error {
				return tx.Put(fmt.Sprintf("k/%d/%02d", w, i), nil)
			}, store.Relaxed)
			if err != nil {
				return err
			}
		}
		return nil
	})
	same(k, "told", k.told(ch, k.head()), strings.Join(want, " "))
}

func watchAmid(k *kit) {
	from := k.put("start")
	const n = 400
	done := make(chan error, 1)
	go func() {
		for i := range n {
			_, err := k.Update(k.ctx, func(tx store.Tx) error {
				return tx.Put(fmt.Sprintf("k/%03d", i), nil)
			}, store.Relaxed)
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	var watches []*listener
	for range 40 {
		watches = append(watches, k.watch("k/", from))
		from = k.head()
	}
	k.ok(<-done)
	last := k.head()
	for _, l := range watches {
		from := l.rev
		var want []string
		k.view(func(r store.Reader) error {
			kvs, err := r.List("k/")
			for _, kv := range kvs {
				if kv.Rev > from {
					want = append(want, kv.Key)
				}
			}
			return err
		})
		if len(want) > 0 {
			same(k, fmt.Sprintf("told from %d", from), k.told(l, last), strings.Join(want, " "))
		}
	}
}

func watchTwice(k *kit) {
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	short, err := k.Watch(ctx, []store.Keys{store.Below("")}, 0)
	k.ok(err)
	a, b := k.watch("a/", 0), k.watch("", 0)
	rev := k.put("b/1")
	same(k, "the wide watch is told", k.told(b, rev), "b/1")
	cancel()
	k.ended(short)
	rev = k.put("a/1")
	same(k, "the narrow watch is told", k.told(a, rev), "a/1")
	same(k, "the wide watch is told", k.told(b, rev), "a/1")
}

func watchCompacted(k *kit) {
	old := k.put("a/1")
	k.put("a/2")
	k.ok(k.Compact(k.ctx, k.put("a/3")))
	for _, prefix := range []string{"a/", "", "b/"} {
		ch := k.watch(prefix, old)
		if b := ch.next(k); !b.Resync || b.Rev < old {
			k.Fatalf("prefix %q: told %v, want a Resync", prefix, b)
		}
		ch.resync = 0
		rev := k.put("a/4", "b/4")
		want := map[string]string{"a/": "a/4", "b/": "b/4", "": "a/4 b/4"}[prefix]
		same(k, "then told", k.told(ch, rev), want)
	}
}

func watchAtCompacted(k *kit) {
	k.put("a/1")
	at := k.put("a/2")
	rev := k.put("a/3")
	k.ok(k.Compact(k.ctx, at))
	same(k, "told", k.told(k.watch("a/", at), rev), "a/3")
	open := k.watch("a/", 0)
	k.ok(k.Compact(k.ctx, rev))
	rev = k.put("a/4")
	same(k, "an older watch is told", k.told(open, rev), "a/4")
}

func compactKeeps(k *kit) {
	k.put("a=1", "b=1")
	k.put("a=2")
	k.delete("b")
	rev := k.head()
	before, _ := k.get("a")
	k.ok(k.Compact(k.ctx, rev))
	k.ok(k.Compact(k.ctx, rev-1)) // what is forgotten stays so
	same(k, "content", k.all(), "a=2")
	after, _ := k.get("a")
	same(k, "Rev", after.Rev, before.Rev)
	same(k, "CreateRev", after.CreateRev, before.CreateRev)
	same(k, "revision", k.head(), rev)
	ch := k.watch("", rev-1)
	if b := ch.next(k); !b.Resync {
		k.Fatalf("told %v, want a Resync", b)
	}
}

func watchCancelled(k *kit) {
	for _, tt := range []struct {
		name string
		act  func(cancel func())
	}{
		{"idle", func(cancel func()) { cancel() }},
		{"with a change that nobody has taken", func(cancel func()) { k.put("a"); k.put("b"); cancel() }},
		{"with a change after it", func(cancel func()) { cancel(); k.put("a") }},
	} {
		ctx, cancel := context.WithCancel(k.ctx)
		ch, err := k.Watch(ctx, []store.Keys{store.Below("")}, 0)
		k.ok(err)
		tt.act(cancel)
		k.Log(tt.name)
		k.ended(ch)
		cancel()
	}
}

func watchClosed(k *kit) {
	var chs []<-chan store.Batch
	for _, prefix := range []string{"", "a", "b"} {
		ch, err := k.Watch(k.ctx, []store.Keys{store.Below(prefix)}, 0)
		k.ok(err)
		chs = append(chs, ch)
	}
	k.put("a") // which nobody takes
	k.ok(k.Close())
	for i, ch := range chs {
		select {
		case b, open := <-ch:
			if open {
				k.Errorf("watch %d tells %v after Close", i, b)
			}
		default:
			k.Errorf("watch %d is still open after Close", i)
		}
	}
}
