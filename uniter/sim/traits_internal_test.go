package sim

import (
	"testing"
	"time"

	"github.com/unitd/unitd/hooks"
)

func TestTraitsTellApartWhatDiffers(t *testing.T) {
	t.Parallel()
	type pair struct {
		a, b   string
		inside map[string]time.Time
		to     *int
	}
	one, other := 1, 1
	now := time.Unix(1, 0)
	for _, c := range []struct {
		name string
		a, b []any
		same bool
	}{
		{"where one text ends", []any{"ab", "c"}, []any{"a", "bc"}, false},
		{"and inside of what has parts", []any{&pair{a: "ab", b: "c"}}, []any{&pair{a: "a", b: "bc"}}, false},
		{"where a list ends", []any{[]int{1}, []int{2, 3}}, []any{[]int{1, 2}, []int{3}}, false},
		{"a key with another value", []any{map[string]bool{"a": true}}, []any{map[string]bool{"a": false}}, false},
		{"the order of a map is none", []any{map[int]int{1: 2, 3: 4, 5: 6, 7: 8}}, []any{map[int]int{7: 8, 5: 6, 3: 4, 1: 2}}, true},
		{"nothing in a map is no map", []any{map[int]int{}}, []any{map[int]int(nil)}, true},
		{"what is pointed at", []any{&pair{to: &one}}, []any{&pair{to: &other}}, true},
		{"nothing to point at", []any{&pair{to: new(int)}}, []any{&pair{}}, false},
		{"another time", []any{&pair{inside: map[string]time.Time{"x": now}}}, []any{&pair{inside: map[string]time.Time{"x": now.Add(1)}}}, false},
		{"the same time elsewhere", []any{&pair{inside: map[string]time.Time{"x": now}}}, []any{&pair{inside: map[string]time.Time{"x": now.UTC()}}}, true},
	} {
		var a, b traits
		a.add(c.a...)
		b.add(c.b...)
		if (string(a.bytes) == string(b.bytes)) != c.same {
			t.Errorf("%s: %v and %v: %q and %q", c.name, c.a, c.b, a.bytes, b.bytes)
		}
	}
	var a, b traits
	a.hook(hooks.Info{Kind: hooks.PebbleReady, Workload: "web"})
	b.hook(hooks.Info{Kind: hooks.PebbleReady, Boot: "web"})
	if string(a.bytes) == string(b.bytes) {
		t.Error("hooks of other containers are the same")
	}
}
