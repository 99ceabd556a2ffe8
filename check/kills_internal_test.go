package check

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/history"
)

// TestKillsShareWhatTheyAreComparedWith: a step is lived once without a kill, and then once for each kill, at
// the end of each of its hooks first; and hooks that work on files come before others.
func TestKillsShareWhatTheyAreComparedWith(t *testing.T) {
	t.Parallel()
	w := world()
	w.Hooks = []Seen{
		{0, "install", []string{"status-set"}}, {1, "db-relation-created", []string{"relation-get", "relation-set", "2 relation-get", "status-set", "2 relation-set"}},
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
	if later := []string{"after 2 relation-set shop/0 db-relation-created", "after 2 relation-get shop/0 db-relation-created"}; !slices.Equal(kills[len(kills)-1], later) {
		t.Errorf("got %q, want %q at last", kills, later)
	}
}

// TestCallsOfAToolAreToldApart: up to the tenth, in their order; tasks are no hooks of a life.
func TestCallsOfAToolAreToldApart(t *testing.T) {
	t.Parallel()
	run := func(name string, tools ...string) history.Entry {
		e := history.Entry{Name: name}
		for _, tool := range tools {
			e.Calls = append(e.Calls, history.Call{Tool: tool})
		}
		return e
	}
	var w World
	w.note(1, run("start", "state-get", "state-set", "state-get"))
	w.note(2, run("start", "state-get", "state-set", "state-get"))
	w.note(3, run("stop", slices.Repeat([]string{"state-get"}, manyOfOne+3)...))
	if want := []string{"state-get", "state-set", "2 state-get"}; len(w.Hooks) != 2 || w.Hooks[0].Step != 1 || !slices.Equal(w.Hooks[0].Tools, want) {
		t.Fatalf("got %+v, want %q", w.Hooks, want)
	}
	if got := w.Hooks[1].Tools; len(got) != manyOfOne || got[manyOfOne-1] != "10 state-get" {
		t.Errorf("got %q", got)
	}
	w = world()
	w.Hooks = []Seen{{0, "install", []string{"status-set", "2 status-set"}}, {0, "start", []string{"status-set"}}, {0, "start", []string{"status-set", "state-set"}}}
	var kills []string
	for _, p := range interrupting(w, nil) {
		for _, line := range p.lines() {
			if kill, ok := strings.CutPrefix(line, "kill-agent "); ok {
				kills = append(kills, kill)
			}
		}
	}
	want := []string{
		"at ended shop/0 install", "at ended shop/1 install", "after status-set shop/0 install", "at ended shop/0 start", "at ended shop/1 start",
		"after status-set shop/0 start", "after state-set shop/0 start", "after 2 status-set shop/0 install",
	}
	if !slices.Equal(kills, want) {
		t.Errorf("got %q, want %q", kills, want)
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
