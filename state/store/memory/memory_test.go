package memory_test

import (
	"testing"

	"github.com/juju/clock"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/memory"
	"github.com/unitd/unitd/state/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) store.Store { return memory.New(clock.WallClock) })
}

func TestConformanceOfAPair(t *testing.T) {
	t.Parallel()
	storetest.RunPair(t, func(*testing.T) (a, b store.Store) {
		s := memory.New(clock.WallClock)
		return s, s.Share()
	})
}

func TestSizeIsThatOfKeysAndValues(t *testing.T) {
	t.Parallel()
	s := memory.New(clock.WallClock)
	for _, step := range []struct {
		do          func(store.Tx) error
		keys, bytes int64
	}{
		{func(tx store.Tx) error { return tx.Put("a", []byte("12345")) }, 1, 6},
		{func(tx store.Tx) error { return tx.Put("bb", nil) }, 2, 8},
		{func(tx store.Tx) error { return tx.Put("a", []byte("1")) }, 2, 4},
		{func(tx store.Tx) error { return tx.Delete("a") }, 1, 2},
		{func(tx store.Tx) error { return tx.Delete("none") }, 1, 2},
	} {
		if _, err := s.Update(t.Context(), step.do); err != nil {
			t.Fatal(err)
		}
		if keys, bytes := s.Size(); keys != step.keys || bytes != step.bytes {
			t.Errorf("size %d, %d; want %d, %d", keys, bytes, step.keys, step.bytes)
		}
	}
}
