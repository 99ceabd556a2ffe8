package machine_test

import (
	"testing"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// TestHistoriesSayWhatFollowsFromWhat: the hooks that tell of what a run, of a hook or a
// task, has written follow from that run, and each run has the revisions at which it was
// decided on and committed.
func TestHistoriesSayWhatFollowsFromWhat(t *testing.T) {
	t.Parallel()
	w, id := related(t, `[ "${JUJU_DISPATCH_PATH##*/}" != db-relation-changed ] || relation-set -r "$JUJU_RELATION_ID" got="$(relation-get word "$JUJU_REMOTE_UNIT")"`+"\n")
	w.write(id, "first")
	w.settle()
	w.write(id, "second")
	w.settle()
	var all []history.Entry
	if err := history.NewFollower(machine.HistoryDir(w.dir, w.model.UUID())).Next(1000, func(e []history.Entry) { all = append(all, e...) }); err != nil {
		t.Fatal(err)
	}
	var causes history.Causes
	byRef := map[history.Ref]history.Entry{}
	for _, e := range all {
		causes.Note(e)
		byRef[history.Ref{Unit: e.Unit, ID: e.ID, Run: e.Run}] = e
	}
	follows, last := map[string]int{}, map[model.UnitName]int64{}
	for _, e := range all {
		if e.Seen == 0 || e.Rev <= e.Seen || e.Seen < last[e.Unit] {
			t.Errorf("%s %s was decided on at %d and committed at %d; the one before it at %d", e.Unit, e.Name, e.Seen, e.Rev, last[e.Unit])
		}
		last[e.Unit] = e.Rev
		if from, ok := causes.Of(e); ok {
			cause := byRef[from]
			follows[string(e.Unit)+" "+e.Name+" from "+string(cause.Unit)+" "+cause.Name]++
			if cause.Rev == 0 || cause.Rev > e.Seen {
				t.Errorf("%s %s, decided on at %d, follows from what was committed at %d", e.Unit, e.Name, e.Seen, cause.Rev)
			}
		}
	}
	// Of the unit and of the application, each time.
	if n := follows["app/0 db-relation-changed from mysql/0 exec"]; n < 2 {
		t.Errorf("what follows from what: %v", follows)
	}
	if n := follows["mysql/0 server-relation-changed from app/0 db-relation-changed"]; n < 2 {
		t.Errorf("what follows from what: %v", follows)
	}
}
