package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/juju/clock"
	jujuerrors "github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/memory"
)

// TestWhoIsAheadReadsTheSame: whatever is asked for, and in whatever order, it is what
// the store has, of the model and of others.
func TestWhoIsAheadReadsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := memory.New(clock.WallClock)
		defer s.Close()
		part := rapid.SampledFrom([]string{"a", "a-b", "ab", "b"})
		key := rapid.Custom(func(t *rapid.T) string {
			prefix := rapid.SampledFrom([]string{"m/1/", "m/11/", ""}).Draw(t, "model")
			for range rapid.IntRange(1, 3).Draw(t, "depth") {
				prefix += part.Draw(t, "part") + "/"
			}
			return prefix + part.Draw(t, "name")
		})
		keys := rapid.SliceOfN(key, 0, 20).Draw(t, "keys")
		_, err := s.Update(context.Background(), func(tx store.Tx) error {
			for i, k := range keys {
				if err := tx.Put(k, fmt.Append(nil, i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.View(context.Background(), func(r store.Reader) error {
			ahead := aheadOf(r, "m/1/", "a", "ab")
			for range rapid.IntRange(1, 10).Draw(t, "questions") {
				k := key.Draw(t, "key")
				if rapid.Bool().Draw(t, "get") {
					want, wanted := r.Get(k)
					got, err := ahead.Get(k)
					if got.Key != want.Key && wanted == nil || string(got.Value) != string(want.Value) || got.Rev != want.Rev ||
						errors.Is(err, jujuerrors.NotFound) != errors.Is(wanted, jujuerrors.NotFound) {
						t.Fatalf("%s is %v, %v, not %v, %v", k, got, err, want, wanted)
					}
					continue
				}
				k = k[:rapid.IntRange(0, len(k)).Draw(t, "length")]
				want, _ := r.List(k)
				got, err := ahead.List(k)
				if err != nil || !slices.EqualFunc(got, want, func(a, b store.KV) bool { return a.Key == b.Key && a.Rev == b.Rev }) {
					t.Fatalf("below %q are %v, %v, not %v", k, got, err, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
