package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// RunPair checks what two handles on the same data, such as two processes
// have, see of each other. Each call of open must return two stores on the
// same, empty data; RunPair closes them.
func RunPair(t *testing.T, open func(t *testing.T) (a, b store.Store)) {
	for _, tt := range []struct {
		name string
		run  func(a, b *kit)
	}{
		{"a commit of one is read by the other at once", pairReads},
		{"a watch of one is told of the other's commits", pairWatches},
		{"a watch resumes at a revision that the other returned", pairResumes},
		{"concurrent increments of both lose none", pairIncrements},
		{"both are told of all that both commit", pairBothTold},
		{"a lease of one is known to the other", pairLeases},
		{"a lease of one that expires is told to the other", pairExpiry},
		{"a compaction by one makes the other's old watch resync", pairCompacts},
		{"the closing of one does not touch the other", pairCloses},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			tt.run(newKit(t, a), newKit(t, b))
		})
	}
}

func pairReads(a, b *kit) {
	for i := range 20 {
		rev := a.put(fmt.Sprintf("n=%d", i))
		b.has("n", fmt.Sprint(i))
		same(b, "revision", b.head(), rev)
		a, b = b, a
	}
	a.delete("n")
	b.has("n", "")
}

func pairWatches(a, b *kit) {
	atA, atB := a.watch("k/", 0), b.watch("k/", 0)
	for i := range 20 {
		key := fmt.Sprintf("k/%d", i)
		rev := a.put(key, "other")
		same(b, "the other is told", b.told(atB, rev), key)
		b.has(key, "v")
		same(a, "the writer is told", a.told(atA, rev), key)
		rev = b.delete(key)
		same(a, "the other is told", a.told(atA, rev), "!"+key)
		same(b, "the writer is told", b.told(atB, rev), "!"+key)
	}
}

func pairResumes(a, b *kit) {
	from := a.put("k/1")
	a.put("k/2")
	rev := b.put("k/3")
	same(a, "told", a.told(a.watch("k/", from), rev), "k/2 k/3")
	same(b, "told", b.told(b.watch("k/", from), rev), "k/2 k/3")
}

func pairIncrements(a, b *kit) {
	const writers, each = 6, 20
	a.together(writers, func(i int) error {
		s, opts := a, []store.Option{store.Relaxed}
		if i%2 == 0 {
			s = b
		}
		if i < 2 {
			opts = nil
		}
		for range each {
			if _, err := s.Update(s.ctx, func(tx store.Tx) error { return increment(tx, "n") }, opts...); err != nil {
				return err
			}
		}
		return nil
	})
	a.has("n", fmt.Sprint(writers*each))
	b.has("n", fmt.Sprint(writers*each))
}

func pairBothTold(a, b *kit) {
	atA, atB := a.watch("k/", 0), b.watch("k/", 0)
	const each = 50
	a.together(2, func(i int) error {
		s := []*kit{a, b}[i]
		for n := range each {
			_, err := s.Update(s.ctx, func(tx store.Tx) error {
				return tx.Put(fmt.Sprintf("k/%d/%02d", i, n), nil)
			}, store.Relaxed)
			if err != nil {
				return err
			}
		}
		return nil
	})
	var want []string
	for i := range 2 {
		for n := range each {
			want = append(want, fmt.Sprintf("k/%d/%02d", i, n))
		}
	}
	rev := a.head()
	same(a, "one is told", a.told(atA, rev), strings.Join(want, " "))
	same(b, "the other is told", b.told(atB, rev), strings.Join(want, " "))
}

func pairLeases(a, b *kit) {
	id := a.grant(time.Hour)
	b.ok(b.KeepAlive(b.ctx, id))
	b.lend(id, "b/1")
	rev := a.lend(id, "a/1")
	ch := a.watch("", rev)
	b.ok(b.Revoke(b.ctx, id))
	for len(ch.newest) < 2 {
		ch.next(a)
	}
	same(a, "told", a.told(ch, ch.rev), "!a/1 !b/1")
	same(a, "content", a.all(), "")
	a.is(a.KeepAlive(a.ctx, id), errors.NotFound)
	if b.grant(time.Hour) == id {
		b.Fatal("a lease has the id of another")
	}
}

func pairExpiry(a, b *kit) {
	ch := b.watch("", 0)
	_, rev, _ := a.lendBriefly("a")
	same(b, "told", b.told(ch, rev), "a")
	ch.next(b)
	same(b, "told", b.told(ch, ch.rev), "!a")
	a.has("a", "")
}

func pairCompacts(a, b *kit) {
	old := b.put("k/1")
	a.put("k/2")
	open := b.watch("k/", 0)
	a.ok(a.Compact(a.ctx, a.head()))
	if batch := b.watch("k/", old).next(b); !batch.Resync {
		b.Fatalf("told %v, want a Resync", batch)
	}
	rev := a.put("k/3")
	same(b, "the watch that had missed nothing is told", b.told(open, rev), "k/3")
}

func pairCloses(a, b *kit) {
	ch := b.watch("", 0)
	a.put("a=1")
	a.ok(a.Close())
	b.has("a", "1")
	rev := b.put("b=1")
	same(b, "told", b.told(ch, rev), "a b")
}
