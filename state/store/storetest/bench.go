package storetest

import (
	"fmt"
	"testing"

	"github.com/unitd/unitd/state/store"
)

// Bench measures what a unit agent does most. Each call of open must return an
// empty store; Bench closes it.
func Bench(b *testing.B, open func(b *testing.B) store.Store) {
	value := make([]byte, 300) // about the size of a unit's document
	for _, bench := range []struct {
		name string
		run  func(b *testing.B, k *kit)
	}{
		{"Get", benchGet},
		{"List1000", benchList},
		{"UpdateDurable", func(b *testing.B, k *kit) { benchUpdate(b, k, value) }},
		{"UpdateRelaxed", func(b *testing.B, k *kit) { benchUpdate(b, k, value, store.Relaxed) }},
		{"Watch", benchWatch},
	} {
		b.Run(bench.name, func(b *testing.B) {
			k := newKit(b, open(b))
			for i := range 1000 / 100 {
				k.update(func(tx store.Tx) error {
					for j := range 100 {
						if err := tx.Put(fmt.Sprintf("u/%02d%02d", i, j), value); err != nil {
							return err
						}
					}
					return nil
				}, store.Relaxed)
			}
			b.ReportAllocs()
			bench.run(b, k)
		})
	}
}

func benchGet(b *testing.B, k *kit) {
	for b.Loop() {
		k.has("u/0500", string(make([]byte, 300)))
	}
}

func benchList(b *testing.B, k *kit) {
	for b.Loop() {
		k.view(func(r store.Reader) error {
			kvs, err := r.List("u/")
			same(k, "keys", len(kvs), 1000)
			return err
		})
	}
}

func benchUpdate(b *testing.B, k *kit, value []byte, opts ...store.Option) {
	for b.Loop() {
		k.update(func(tx store.Tx) error { return tx.Put("u/0500", value) }, opts...)
	}
}

// benchWatch measures from the call of Update until its event has arrived.
func benchWatch(b *testing.B, k *kit) {
	l := k.watch("u/", 0)
	for b.Loop() {
		rev := k.put("u/0500")
		for l.rev < rev {
			l.next(k)
		}
	}
}
