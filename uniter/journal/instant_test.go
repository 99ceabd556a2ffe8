package journal

import (
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/uniter/resolver"
)

// live is a unit's agent that runs hooks: each is announced, and then commits or fails.
type live struct {
	t         *rapid.T
	journal   *Journal
	local     resolver.Local
	committed int64
	// told are the runs that have committed, in what the agent knows: their number
	// stands in for all that hooks tell charms.
	told int
}

func (l *live) store() {
	if err := l.journal.Store(l.local); err != nil {
		l.t.Fatal(err)
	}
}

// step does one thing that an agent does.
func (l *live) step() {
	current := l.local.Current
	switch {
	case current != nil && current.Step == resolver.Pending && rapid.Bool().Draw(l.t, "commits"):
		// No record: the stamp says so.
		l.committed = current.Run
		l.told++
		l.local.Seen.Resources = l.told
		l.local.Current = nil
	case current != nil && current.Step == resolver.Pending:
		failed := *current
		failed.Step, failed.Failure = resolver.Failed, &resolver.Failure{Exit: 1}
		l.local.Current = &failed
		l.store()
	case current == nil && rapid.IntRange(0, 3).Draw(l.t, "enters") == 0:
		id := model.RelationID(len(l.local.Relations) + 1)
		relations := map[model.RelationID]relation.State{id: {ID: id}}
		for k, v := range l.local.Relations {
			relations[k] = v
		}
		l.local.Relations = relations
		l.store()
	default:
		l.local.Run++
		l.local.Current = &resolver.Current{Hook: hooks.Info{Kind: hooks.ConfigChanged}, Run: l.local.Run, Step: resolver.Pending}
		l.store()
	}
}

// moment is how things stand.
type moment struct {
	committed int64
	told      int
	newest    Record
}

func (l *live) now(dir string) moment {
	r, err := Newest(dir)
	if err != nil {
		l.t.Fatal(err)
	}
	return moment{l.committed, l.told, r}
}

// TestAJournalIsOfOneMomentWithTheModel: whatever an agent does before, at and after the moment, the
// record that is found is one that the agent had by then, or announces the one run that it began next; no run is
// taken for committed that the model doesn't have, and none that it has is unknown.
func TestAJournalIsOfOneMomentWithTheModel(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(base, "")
		if err != nil {
			rt.Fatal(err)
		}
		j, local, err := Open(durable.Disk{}, dir, "a/0", "id")
		if err != nil {
			rt.Fatal(err)
		}
		defer j.Close()
		l := &live{t: rt, journal: j, local: local}
		run := func(what string) {
			for range rapid.IntRange(0, 12).Draw(rt, what) {
				l.step()
			}
		}
		run("before")
		before := l.now(dir)
		run("meanwhile")
		at := l.now(dir)
		run("after")
		r, ok, err := At(dir, before.newest, "id", at.committed)
		if err != nil {
			rt.Fatal(err)
		}
		if !ok {
			if at.committed > 0 {
				rt.Fatalf("nothing was found of run %d", at.committed)
			}
			return
		}
		told := r.Local.Seen.Resources
		of, pending := began(r.Local)
		if of && pending <= at.committed {
			told++ // its stamp is there: the agent takes it for committed
		}
		if told != at.told {
			rt.Fatalf("of %d runs that have committed the agent would know %d: %+v", at.told, told, r.Local)
		}
		if r.Local.Run < at.committed || len(r.Local.Relations) > len(at.newest.Local.Relations) {
			rt.Fatalf("found %+v at %+v", r.Local, at)
		}
		if r.Generation > at.newest.Generation && (r.Generation != at.newest.Generation+1 || !of) {
			rt.Fatalf("record %d is later than %d", r.Generation, at.newest.Generation)
		}
		b, err := Encode(r)
		if err != nil {
			rt.Fatal(err)
		}
		copied := filepath.Join(dir, "copy")
		if err := os.Mkdir(copied, 0o700); err != nil {
			rt.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(copied, FirstSlot), b, 0o600); err != nil {
			rt.Fatal(err)
		}
		again, err := Newest(copied)
		if err != nil || again.Local.Run != r.Local.Run || again.Generation != r.Generation {
			rt.Fatalf("of record %d a journal was made with %+v, %v", r.Generation, again, err)
		}
	})
}
