package state

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestDraw: which revision one gets, and which can be had later.
func TestDraw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		next, wanted int
		skipped      []span
		want         string
	}{
		{"the next one", 2, -1, nil, "2 []"},
		{"the next one is wanted", 2, 2, nil, "2 []"},
		{"a higher one skips some", 2, 5, nil, "5 [{2 5}]"},
		{"one that was used", 2, 1, nil, "2 []"},
		{"one that was skipped, in the middle", 6, 3, []span{{2, 5}}, "3 [{2 3} {4 5}]"},
		{"the first and the last that were skipped", 9, 3, []span{{1, 2}, {3, 4}, {6, 8}}, "3 [{1 2} {6 8}]"},
		{"one above what was skipped", 6, 5, []span{{2, 5}}, "6 [{2 5}]"},
	} {
		drawn, left := draw(c.next, c.skipped, c.wanted)
		if got := fmt.Sprint(drawn, left); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestDrawGivesNoRevisionTwice, and the wanted one where it is free.
func TestDrawGivesNoRevisionTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		next, skipped, used := 0, []span(nil), map[int]bool{}
		for _, wanted := range rapid.SliceOf(rapid.IntRange(-1, 12)).Draw(t, "wanted") {
			var drawn int
			drawn, skipped = draw(next, skipped, wanted)
			if used[drawn] {
				t.Fatalf("%d comes twice", drawn)
			}
			if wanted >= 0 && !used[wanted] && drawn != wanted {
				t.Fatalf("%d is free, and one gets %d", wanted, drawn)
			}
			used[drawn], next = true, max(next, drawn+1)
		}
	})
}
