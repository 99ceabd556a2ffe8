package resolver_test

import (
	"slices"
	"testing"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// working is a unit that has run all that it had to, and one with storage that
// is going and that its charm was told of, and of another one that it was not,
// and for which a task waits.
func working() (resolver.Local, resolver.Remote) {
	l := resolver.New("app/0")
	l.Charm, l.Run = "ch:1", 4
	l.Installed, l.Configured, l.Started = true, true, true
	l.Seen.Config, l.Seen.LeaderSettings = "c", 0
	l.Storage = map[model.StorageID]bool{"data/0": true}
	r := resolver.Remote{
		Charm: "ch:1", Committed: 4, Want: resolver.Seen{Config: "c"},
		Storage: []resolver.Storage{{ID: "data/0", Ready: true, Going: true}, {ID: "data/1", Going: true}},
		Task:    resolver.Task{Hook: hooks.Info{Kind: hooks.Exec, Task: "1", Cause: "task 1"}},
	}
	return l, r
}

func TestWhatIsDueComesAfterTasksAndStorage(t *testing.T) {
	t.Parallel()
	l, r := working()
	r.Life = model.Dying
	for _, begun := range []bool{false, true} {
		r.Task.Begun = begun
		var got []hooks.Kind
		for _, h := range resolver.Due(l, r) {
			got = append(got, h.Kind)
		}
		want := []hooks.Kind{hooks.StorageDetaching, hooks.Stop, hooks.Remove}
		if !slices.Equal(got, want) {
			t.Errorf("task begun %v: due are %v, not %v", begun, got, want)
		}
	}
}

// An answer to a failed hook is looked at beyond the task and the storage that
// come first.
func TestAPreviewComesToItsEndWithTasksAndStorage(t *testing.T) {
	t.Parallel()
	l, r := working()
	l.Current = &resolver.Current{
		Hook: hooks.Info{Kind: hooks.UpdateStatus}, Run: 4, Step: resolver.Failed, Seen: l.Seen, Failure: &resolver.Failure{},
	}
	ops, err := resolver.Preview(l, resolver.SkipIt, func(resolver.Local) (resolver.Remote, error) { return r, nil })
	var got []resolver.Verb
	for _, op := range ops {
		got = append(got, op.Verb)
	}
	want := []resolver.Verb{resolver.RunTask, resolver.Skip, resolver.Detach, resolver.RunHook}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the preview is %v (%v), not %v", got, err, want)
	}
}
