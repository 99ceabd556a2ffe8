package resolver_test

import (
	"testing"

	"github.com/unitd/unitd/hooks"
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
