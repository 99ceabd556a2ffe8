package store_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/unitd/unitd/state/store"
)

func TestSpansHaveTheKeysThatTheyAreOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[ab/~]{0,4}`)
		var of []store.Keys
		for _, k := range rapid.SliceOfN(key, 0, 6).Draw(t, "keys") {
			of = append(of, store.Keys{Key: k, Prefix: rapid.Bool().Draw(t, "prefix")})
		}
		spans := store.SpansOf(of)
		for _, k := range rapid.SliceOfN(key, 1, 20).Draw(t, "asked") {
			want := false
			for _, o := range of {
				want = want || o.Key == k || o.Prefix && strings.HasPrefix(k, o.Key)
			}
			if got := spans.Has(k); got != want {
				t.Errorf("%v: Has(%q) = %t", of, k, got)
			}
		}
		for i := range spans {
			if spans[i].From >= spans[i].End || i > 0 && spans[i-1].End >= spans[i].From {
				t.Errorf("%v: spans %q", of, spans)
			}
		}
	})
}
