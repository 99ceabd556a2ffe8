package resolver_test

import (
	"testing"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// An agent that has lost the record of a task alone goes on as if nothing were:
// also with a hook that had failed before the task.
func TestTheLostRecordOfATaskIsNoLostDisk(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{false, true} {
		before, r := working()
		if failed {
			before.Current = &resolver.Current{
				Hook: hooks.Info{Kind: hooks.UpdateStatus}, Run: 4, Step: resolver.Failed, Seen: before.Seen, Failure: &resolver.Failure{},
			}
		}
		op := resolver.Next(before, r)
		if op.Verb != resolver.RunTask {
			t.Fatalf("%s, not a task", op.Verb)
		}
		began := resolver.After(before, op, resolver.Event{Kind: resolver.Began})
		r = r.After(op)
		r.Memory = resolver.Remember(began, nil)

		recall := resolver.Next(before, r)
		if recall.Verb != resolver.Recall {
			t.Fatalf("%s, not recall", recall.Verb)
		}
		after := resolver.After(before, recall, resolver.Event{Kind: resolver.Done})
		switch {
		case after.Upgraded || after.Forgotten:
			t.Errorf("failed %v: the charm is told that all is lost", failed)
		case failed != (after.Current != nil):
			t.Errorf("failed %v: %+v waits", failed, after.Current)
		case after.Run != op.Run || after.Task != nil || after.Ended.Run != op.Run:
			t.Errorf("failed %v: it is %+v", failed, after)
		}
	}
}

// An agent that has lost its journal knows of what storage and of which secrets the
// charm was told: storage doesn't go without its hook, and no secret is told twice.
func TestALostJournalForgetsNeitherStorageNorSecrets(t *testing.T) {
	t.Parallel()
	l, r := withSecret(resolver.OwnSecret{
		ID: secretID, Obsolete: []int{1}, Expiring: []resolver.Expiring{{Revision: 2, At: noon.Add(-time.Hour)}},
	})
	l.Storage = map[model.StorageID]bool{"data/0": true}
	l.Secrets = map[model.SecretID]resolver.SecretTold{secretID: {Removed: []int{1}}}
	r.Storage = []resolver.Storage{{ID: "data/0", Ready: true}}
	op := resolver.Next(l, r)
	if op.Hook.Kind != hooks.SecretExpired {
		t.Fatalf("%s runs", op.Hook)
	}
	l = resolver.After(l, op, resolver.Event{Kind: resolver.Began, At: r.Now})
	r.Committed, r.Memory = op.Run, resolver.Remember(l, nil)

	lost := resolver.New("app/0")
	lost.Charm = "ch:1"
	lost = resolver.After(lost, resolver.Next(lost, r), resolver.Event{Kind: resolver.Done, At: r.Now})
	going := r
	going.Storage = []resolver.Storage{{ID: "data/0", Ready: true, Going: true}}
	if op := resolver.Next(lost, going); op.Verb == resolver.Detach {
		t.Errorf("storage goes without a hook: %s", op.Reason)
	}
	lost, got := play(lost, r, noon.Add(5*time.Minute))
	wantStrings(t, got, "upgrade-charm +0s", "data-storage-attached +0s", "secret-expired +5m0s")
	if op := resolver.Next(lost, going); op.Hook.Kind != hooks.StorageDetaching {
		t.Errorf("storage goes by %s %s", op.Verb, op.Hook)
	}
}
