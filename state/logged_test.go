package state_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// by is the world's model as commands of a user have it.
func (w *world) by(user string) *state.Model {
	w.Helper()
	m, err := w.controller.WithAuthor(func() state.Author { return state.Author{User: user, Command: "unitd"} }).Model(w.ctx, w.Name())
	w.ok(err)
	return m
}

// TestCommandsThatChangeAtOnceAreEachLogged: of commands at the same time each leaves one entry,
// numbered in the order in which they were committed, so that what was after one was before the
// next.
func TestCommandsThatChangeAtOnceAreEachLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const users, each = 4, 5
	var all sync.WaitGroup
	for u := range users {
		m := w.by(fmt.Sprint("user", u))
		all.Go(func() {
			for i := range each {
				if err := m.SetModelConfig(w.ctx, map[string]string{"color": fmt.Sprint(u, "-", i)}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	log, err := w.Changes(w.ctx)
	w.ok(err)
	if len(log) != users*each {
		t.Fatalf("there are %d entries of %d commands", len(log), users*each)
	}
	last, of := "", map[string]int{}
	for i, l := range log {
		if l.Number != i+1 || len(l.Changes) != 1 || l.Changes[0].Before != last {
			t.Fatalf("entry %d after %q: %+v", i, last, l)
		}
		last = l.Changes[0].After
		of[l.User]++
	}
	for user, n := range of {
		if n != each {
			t.Errorf("%s has %d entries, not %d", user, n, each)
		}
	}
}

// TestWhatNobodyCommandsIsNotLogged: without an author, as an agent writes, and for what fails.
func TestWhatNobodyCommandsIsNotLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(w.SetModelConfig(w.ctx, map[string]string{"color": "red"}, nil))
	m := w.by("ann")
	if err := m.SetModelConfig(w.ctx, map[string]string{state.ChangesKept: "-1"}, nil); err == nil {
		t.Error("a negative number is taken")
	}
	w.ok(m.SetModelConfig(w.ctx, map[string]string{"color": "red"}, nil)) // as it was
	_, err := m.Mark(w.ctx, "")
	w.ok(err)
	log, err := w.Changes(w.ctx)
	w.ok(err)
	if len(log) != 0 {
		t.Errorf("logged: %+v", log)
	}
}

// TestTheLifeOfAModelIsLogged: who adds it, and who destroys it, as long as it is there.
func TestTheLifeOfAModelIsLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m, err := w.controller.WithAuthor(func() state.Author { return state.Author{User: "ann", Command: "unitd"} }).AddModel(w.ctx, "other")
	w.ok(err)
	w.ok(m.Destroy(w.ctx, false))
	log, err := m.Changes(w.ctx)
	w.ok(err)
	want := []state.LoggedField{
		{Kind: "model", Did: state.DidAdd},
		{Kind: "model", Field: "life", Did: state.DidSet, Before: `"alive"`, After: `"dying"`},
		{Kind: "model", Field: "storage-fate", Did: state.DidSet, After: `"destroy"`},
	}
	var got []state.LoggedField
	for _, l := range log {
		got = append(got, l.Changes...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("logged: %+v, want %+v", log, want)
	}
}

// TestTheLogKeepsAsManyAsTheModelSays, also after fewer are asked for, bit by bit.
func TestTheLogKeepsAsManyAsTheModelSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.by("ann")
	set := func(key, value string) {
		t.Helper()
		w.ok(m.SetModelConfig(w.ctx, map[string]string{key: value}, nil))
	}
	for i := range 70 {
		set("color", fmt.Sprint(i))
	}
	set(state.ChangesKept, "3")
	set("color", "red")
	log, err := w.Changes(w.ctx)
	w.ok(err)
	numbers := []int{}
	for _, l := range log {
		numbers = append(numbers, l.Number)
	}
	if !slices.Equal(numbers, []int{70, 71, 72}) {
		t.Errorf("kept: %v", numbers)
	}
}

// TestTheLogHasRoomInEachTransaction: whatever a charm brings with its units, the transactions of a
// person's command have room for the log, also when the oldest entry goes.
func TestTheLogHasRoomInEachTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.by("ann")
	w.ok(m.SetModelConfig(w.ctx, map[string]string{state.ChangesKept: "1"}, nil))
	for peers := range 4 {
		for stores := range 5 {
			line := fmt.Sprintf("app-%c%c", 'a'+peers, 'a'+stores)
			for i := range peers {
				line += fmt.Sprintf(" peer%d=peer:x", i)
			}
			c := charm(line)
			c.Storage = map[string]model.StorageSpec{}
			for i := range stores {
				c.Storage[fmt.Sprint("data", i)] = model.StorageSpec{Type: model.Filesystem, CountMin: 1, CountMax: 1}
			}
			if err := m.Deploy(w.ctx, state.DeployArgs{Application: c.Name, Charm: w.addCharm(c), Units: 40}); err != nil {
				t.Errorf("%d peer relations, %d kinds of storage: %v", peers, stores, err)
				continue
			}
			if _, err := m.AddUnits(w.ctx, c.Name, 40); err != nil {
				t.Errorf("%d peer relations, %d kinds of storage, more units: %v", peers, stores, err)
			}
		}
	}
}
