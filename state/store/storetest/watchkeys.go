package storetest

import (
	"context"
	"fmt"

	"github.com/unitd/unitd/state/store"
)

// watchSeveral watches keys here and there, each transaction writes some of them and
// others: what it has changed of those that are watched comes in one batch.
func watchSeveral(k *kit) {
	k.put("start")
	of := []store.Keys{store.Only("a/1"), store.Below("b/"), store.Only("c"), store.Below("a/1/"), store.Below("b/2")}
	watched := func(key string) bool { return store.SpansOf(of).Has(key) }
	ch, err := k.Watch(k.ctx, of, 0)
	k.ok(err)
	l := &listener{ch: ch, newest: map[string]store.Event{}}
	whole := map[int64]int{}
	last := int64(0)
	for i := range 30 {
		keys := []string{"a/1", fmt.Sprintf("a/1%d", i), fmt.Sprintf("b/%d", i), "c", fmt.Sprintf("c/%d", i), fmt.Sprintf("a/1/%d", i)}
		if i%5 == 0 {
			keys = []string{"c/x", "a/2"} // nothing that is watched
		}
		rev := k.put(keys...)
		for _, key := range keys {
			if watched(key) {
				whole[rev]++
				last = rev
			}
		}
	}
	for l.rev < last {
		b := l.next(k)
		told := map[int64]int{}
		for _, e := range b.Events {
			if !watched(e.Key) {
				k.Fatalf("told of %q, which isn't watched", e.Key)
			}
			told[e.Rev]++
		}
		// Of a key that is written again within the batch the newest may be all.
		if newest := b.Events[len(b.Events)-1].Rev; told[newest] != whole[newest] {
			k.Fatalf("at revision %d, in %v: told of %d keys, want %d", newest, b, told[newest], whole[newest])
		}
	}
	same(k, "the newest", fmt.Sprint(len(l.newest)), fmt.Sprint(2+24+24))
}

// watchOthers goes on with other keys where another watch has ended.
func watchOthers(k *kit) {
	first := k.put("a", "b")
	ctx, stop := context.WithCancel(k.ctx)
	ch, err := k.Watch(ctx, []store.Keys{store.Only("a"), store.Only("b")}, 0)
	k.ok(err)
	l := &listener{ch: ch, rev: first, newest: map[string]store.Event{}}
	told := k.put("a")
	for l.rev < told {
		l.next(k)
	}
	stop()
	rev := k.put("b", "c")
	more := k.put("d")
	ch, err = k.Watch(k.ctx, []store.Keys{store.Only("b"), store.Below("c"), store.Only("d")}, l.rev)
	k.ok(err)
	same(k, "told", k.told(&listener{ch: ch, rev: l.rev, newest: map[string]store.Event{}}, max(rev, more)), "b c d")
	k.ok(k.Compact(k.ctx, k.head()))
	ch, err = k.Watch(k.ctx, []store.Keys{store.Only("b"), store.Only("z")}, l.rev)
	k.ok(err)
	if b := (&listener{ch: ch, newest: map[string]store.Event{}}).next(k); !b.Resync {
		k.Fatalf("after compaction: %v", b)
	}
}
