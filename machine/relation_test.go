package machine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// related has app/0, with that dispatch, in a relation with mysql/0, whose hooks
// do nothing. Failed hooks wait for a person.
func related(t *testing.T, dispatch string) (w *world, id model.RelationID) {
	t.Helper()
	w = newWorld(t)
	w.noRetries()
	w.deploy("mysql", w.charm("name: mysql\nsummary: s\nprovides: {server: {interface: kv}}\n", "true\n"), 1)
	w.deploy("app", w.charm("name: app\nsummary: s\nrequires: {db: {interface: kv}}\n", dispatch), 1)
	w.settle()
	r, err := w.model.AddRelation(w.ctx, "app", "mysql")
	if err != nil {
		t.Fatal(err)
	}
	w.settle()
	return w, r.ID
}

// write has mysql/0 write to its databag and its application's.
func (w *world) write(id model.RelationID, word string) {
	w.t.Helper()
	command := fmt.Sprintf("relation-set -r %d word=%s && relation-set -r %[1]d --app word=%[2]s", id, word)
	_, tasks, err := w.model.Enqueue(w.ctx, "write", []state.TaskRequest{{
		Unit: "mysql/0", TaskSpec: state.TaskSpec{Kind: state.ExecTask, Command: command, Relation: model.NoRelation},
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	if task := w.untilEnded(tasks[0].ID); task.Status != state.TaskCompleted {
		w.t.Fatalf("it couldn't write: %+v", task)
	}
}

func (w *world) wantLastHooks(unit model.UnitName, want ...string) {
	w.t.Helper()
	got := w.hooks(unit)
	if !slices.Equal(got[max(0, len(got)-len(want)):], want) {
		w.t.Errorf("%s ran\n  %s\nwant at its end\n  %s", unit, strings.Join(got, " "), strings.Join(want, " "))
	}
}

// Settings that a hook has read stay as they were through that hook, whatever
// is written meanwhile; the next hook reads the news.
func TestUREL14SettingsReadInOneHookStayAsTheyWere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"reached", "go"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, id := related(t, `
dir=`+dir+`
[ -e $dir/look ] || exit 0
id=$(relation-ids db)
read_all() { echo "$(relation-get -r $id word mysql/0) $(relation-get -r $id --app word mysql)"; }
first=$(read_all)
case "$JUJU_HOOK_NAME" in
config-changed) echo > $dir/reached; read line < $dir/go;;
esac
echo "$JUJU_HOOK_NAME ${JUJU_REMOTE_UNIT-}: $first, $(read_all)" >> $dir/said
`)
	w.write(id, "old")
	w.settle()
	if err := os.WriteFile(filepath.Join(dir, "look"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.model.SetTrust(w.ctx, "app", true); err != nil { // for a config-changed
		t.Fatal(err)
	}
	reached := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(filepath.Join(dir, "reached"))
		reached <- err
	}()
	select {
	case err := <-reached:
		if err != nil {
			t.Fatal(err)
		}
	case <-w.ctx.Done():
		t.Fatal("the hook has not come to where it waits")
	}
	w.write(id, "new")
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.settle()
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	want := "config-changed : old old, old old\n" +
		"db-relation-changed : new new, new new\n" +
		"db-relation-changed mysql/0: new new, new new\n"
	if string(said) != want {
		t.Errorf("the hooks have read\n%swant\n%s", said, want)
	}
}

// A joined that fails puts the unit in error, with the relation and the remote
// unit in the data of its status; left by --no-retry, the changed of that unit
// follows.
func TestURER1JoinedFails(t *testing.T) {
	t.Parallel()
	w, id := related(t, `[ "$JUJU_HOOK_NAME" != db-relation-joined ]`)
	w.wantLastHooks("app/0", "db-relation-created", "db-relation-joined(mysql/0) failed")
	s := w.agent("app/0")
	if s.Status != model.StatusError || s.Message != `hook failed: "db-relation-joined"` ||
		fmt.Sprint(s.Data["relation-id"]) != fmt.Sprint(id) || s.Data["remote-unit"] != "mysql/0" {
		t.Errorf("got status %+v", s)
	}
	if err := w.model.Resolve(w.ctx, "app/0", false); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.wantLastHooks("app/0", "db-relation-joined(mysql/0) failed", "db-relation-joined(mysql/0) skipped", "db-relation-changed(mysql/0)")
	if s := w.agent("app/0"); s.Status != model.StatusIdle {
		t.Errorf("got status %+v", s)
	}
}

// A changed has failed, and while no agent is there the relation is removed and
// goes by force: the error is dropped, which is recorded, and no hook runs for
// what isn't there.
func TestURER5TheRelationOfAFailedHookGoesByForce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w, id := related(t, `[ ! -e `+dir+`/fail ] || [ "$JUJU_HOOK_NAME" != db-relation-changed ]`)
	if err := os.WriteFile(filepath.Join(dir, "fail"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.write(id, "news")
	w.settle()
	if s := w.agent("app/0"); s.Status != model.StatusError {
		t.Fatalf("got status %+v", s)
	}
	w.stop()
	if err := w.model.DestroyRelationID(w.ctx, id); err != nil {
		t.Fatal(err)
	}
	for _, unit := range []model.UnitName{"app/0", "mysql/0"} {
		if err := w.model.LeaveScope(w.ctx, unit, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.model.Relation(w.ctx, id); !errors.Is(err, errors.NotFound) {
		t.Fatalf("the relation is there: %v", err)
	}
	w.restart()
	w.settle()
	w.wantLastHooks("app/0", "db-relation-changed(mysql/0)", "db-relation-changed failed", "db-relation-changed dropped")
	w.wantLastHooks("mysql/0", "server-relation-changed(app/0)", "exec")
	runs := w.entries("app/0")
	if last := runs[len(runs)-1]; last.Outcome != history.Dropped || last.Message != "the relation of the failed hook is gone" {
		t.Errorf("it is recorded as %+v", last)
	}
	if s := w.agent("app/0"); s.Status != model.StatusIdle {
		t.Errorf("got status %+v", s)
	}
	// It goes on with what else there is.
	if err := w.model.SetTrust(w.ctx, "app", true); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.wantLastHooks("app/0", "db-relation-changed dropped", "config-changed")
}
