package check

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestKillsShareWhatTheyAreComparedWith: a step is lived once without a kill, and then once for each kill, at
// the end of each of its hooks first; and hooks that work on files come before others.
func TestKillsShareWhatTheyAreComparedWith(t *testing.T) {
	t.Parallel()
	w := world()
	w.Hooks = []Seen{
		{0, "install", []string{"status-set"}}, {1, "db-relation-created", []string{"relation-get", "relation-set", "status-set"}},
		{2, "disk-storage-attached", []string{"status-set"}}, {3, "upgrade-charm", []string{"config-get"}},
	}
	w.Former, w.Was = "/was", w.Charm
	all := killing(w, rand.New(rand.NewPCG(1, 0)))
	all = slices.DeleteFunc(all, func(p probe) bool { return len(p.parts) == 0 })
	var kills [][]string
	for _, p := range all {
		if p.first[0] != "snapshot begin" || p.first[len(p.first)-1] != "mark expected" || len(p.end) > 0 {
			t.Errorf("%q has no comparison", p.lines())
		}
		var of []string
		for _, part := range p.parts {
			if part[0] != "restore begin" || part[len(part)-1] != "same expected" {
				t.Errorf("%q compares nothing", part)
			}
			of = append(of, strings.TrimPrefix(part[1], "kill-agent "))
		}
		kills = append(kills, of)
	}
	want := [][]string{
		{"at ended shop/0 upgrade-charm"}, // of the former version with storage, and then without
		{"at ended shop/0 disk-storage-attached", "after status-set shop/0 disk-storage-attached"}, {"at ended shop/0 upgrade-charm"},
	}
	if len(kills) < 5 || !slices.EqualFunc(kills[:3], want, slices.Equal) {
		t.Errorf("got %q, want at first %q", kills, want)
	}
	relation := []string{"after relation-set shop/0 db-relation-created", "after relation-get shop/0 db-relation-created"}
	if !slices.ContainsFunc(kills, func(of []string) bool { return slices.Equal(of, relation) }) {
		t.Errorf("got %q, want %q among them", kills, relation)
	}
}

// TestAFailureIsLookedAtWithoutTheOtherParts: what fails is in the first lines, in the first part, or in a later
// one.
func TestAFailureIsLookedAtWithoutTheOtherParts(t *testing.T) {
	t.Parallel()
	p := probe{setUp: []string{"s"}, first: []string{"a", "b"}, parts: [][]string{{"c"}, {"d", "e"}, {"f"}}}
	for line, want := range map[int]string{0: "", 1: "", 2: "a b d e f", 3: "a b f", 4: "a b f", 5: ""} {
		rest, ok := p.without(line)
		if got := strings.Join(rest.lines(), " "); ok != (want != "") || ok && got != want {
			t.Errorf("without line %d: %q, want %q", line, got, want)
		}
	}
}
