package machine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/uniter/journal"
)

// Scenarios of docs/spec/uniter-scenarios.md that scripts can't play. Each test is
// named by the scenario's id.

func TestUBOOT3ADeadUnitRunsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	w.deploy("app", w.charm(plain, "true\n"), 1)
	for _, do := range []func() error{
		func() error { return w.model.SetDeployed(w.ctx, "app/0") },
		func() error { return w.model.SetDying(w.ctx, "app/0") },
		func() error { return w.model.SetDead(w.ctx, "app/0") },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	w.restart()
	w.until("it is gone", func(s *state.FullStatus) bool { return len(s.Applications[0].Units) == 0 })
	w.settle()
	w.wantHooks("app/0")
	if _, err := os.Lstat(w.unitDir("app/0")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has a directory: %v", err)
	}
}

func TestUBOOT5AnArchiveThatIsNotTheCharms(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(tx store.Tx, kv store.KV) error{
		"its hash differs": func(tx store.Tx, kv store.KV) error { return tx.Put(kv.Key, append([]byte("x"), kv.Value...)) },
		"it can't be had":  func(tx store.Tx, kv store.KV) error { return tx.Delete(kv.Key) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			url := w.charm(plain, "true\n")
			blobs := w.blobs()
			w.eachBlob(blobs, damage)
			w.deploy("app", url, 1)
			w.until("it has failed", func(s *state.FullStatus) bool {
				a := s.Applications[0].Units[0].Agent
				return a.Status == model.StatusFailed && strings.Contains(a.Message, "cannot read charm "+url+": the stored file's hash is ")
			})
			w.wantHooks("app/0")
			w.eachBlob(blobs, func(tx store.Tx, kv store.KV) error { return tx.Put(kv.Key, kv.Value) })
			w.settle()
			w.wantHooks("app/0", boot...)
			if got := w.agent("app/0"); got.Status != model.StatusIdle || got.Message != "" {
				t.Errorf("its agent is %v", got)
			}
		})
	}
}

// blobs are the pieces of all charms' archives.
func (w *world) blobs() (kvs []store.KV) {
	w.t.Helper()
	_, err := w.controller.Store().View(w.ctx, func(r store.Reader) (err error) {
		kvs, err = r.List("blob/")
		return err
	})
	if err != nil || len(kvs) == 0 {
		w.t.Fatalf("got %d, %v", len(kvs), err)
	}
	return kvs
}

func (w *world) eachBlob(kvs []store.KV, do func(store.Tx, store.KV) error) {
	w.t.Helper()
	for _, kv := range kvs {
		if _, err := w.controller.Store().Update(w.ctx, func(tx store.Tx) error { return do(tx, kv) }); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestUBOOT7ASettledAgentRunsNothingWhenItIsStartedAgain(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, func(c *machine.Config) { c.Log = quiet() })
	charm := w.charm("name: app\nsummary: s\npeers: {ring: {interface: r}}\nprovides: {server: {interface: x}}\nrequires: {client: {interface: x}}\n", "true\n")
	w.deploy("a", charm, 2)
	w.deploy("b", charm, 1)
	if _, err := w.model.AddRelation(w.ctx, "a:client", "b:server"); err != nil {
		t.Fatal(err)
	}
	w.settle()
	units := []model.UnitName{"a/0", "a/1", "b/0"}
	var want [][]string
	for _, unit := range units {
		want = append(want, w.hooks(unit))
	}
	restarts := 10
	if os.Getenv("UNITD_TEST_LONG") != "" {
		restarts = 100
	}
	for n := range restarts {
		w.stop()
		w.restart()
		w.settle()
		for i, unit := range units {
			if got := w.hooks(unit); !slices.Equal(got, want[i]) {
				t.Fatalf("restart %d: %s ran %v", n, unit, got[len(want[i]):])
			}
		}
	}
}

func TestUBOOT9StatusesOfAUnitThatBoots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("app", w.charm(plain, "[ $JUJU_HOOK_NAME != start ] || status-set active ready\n"), 1)
	w.settle()
	for kind, want := range map[state.StatusKind][]string{
		state.WorkloadStatus: {"waiting: waiting for machine", "waiting: agent initialising", "maintenance: installing charm software", "active: ready"},
		state.AgentStatus: {"allocating: ", "executing: running install hook", "executing: running leader-elected hook",
			"executing: running config-changed hook", "executing: running start hook", "idle: "},
	} {
		all, err := w.model.StatusHistory(w.ctx, kind, "app/0")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range all {
			got = append(got, s.Status+": "+s.Message)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
}

// TestUINT3KilledBeforeAllIsNotedOfACommit: the run is done, by its stamp, and
// neither the history nor anything else says so yet.
func TestUINT3KilledBeforeAllIsNotedOfACommit(t *testing.T) {
	t.Parallel()
	const configure = 2
	l := record(t, configure+1)
	noted := "write models/*/history/unit-a-0.jsonl"
	for _, p := range []point{
		{step: "commit Model.CommitHook", n: 1, when: after}, {step: noted, n: 1, when: before}, {step: noted, n: 1, when: within}, {step: noted, n: 1, when: after},
	} {
		t.Run(string(p.when)+" "+strings.Fields(p.step)[0], func(t *testing.T) {
			if !l.killAt(t, death{configure, p}, false) {
				t.Error("it wasn't killed")
			}
		})
	}
}

// TestUINT6KilledInAnUpgradeAtEachStep that puts the new charm in place.
func TestUINT6KilledInAnUpgradeAtEachStep(t *testing.T) {
	t.Parallel()
	const upgrade = 4
	l := record(t, upgrade+1)
	steps := map[durable.Verb]int{}
	for _, d := range l.deaths {
		verb, path, _ := strings.Cut(d.step, " ")
		name, ours := strings.CutPrefix(path, "models/*/agents/unit-a-0")
		deploys := ours && verb != "start" && !strings.HasPrefix(name, "/journal") || path == "Model.SetUnitCharm"
		// By default one of each kind of step; the exchange is what matters most.
		enough := steps[durable.Verb(verb)] > 0 && durable.Verb(verb) != durable.Exchange && os.Getenv("UNITD_TEST_LONG") == ""
		if d.stage == upgrade && deploys && !enough && l.kill(t, d, false) {
			steps[durable.Verb(verb)]++
		}
	}
	for _, verb := range []durable.Verb{durable.Create, durable.Write, durable.Sync, durable.Exchange, durable.Remove, durable.Mkdir, durable.Link, commit} {
		if steps[verb] == 0 {
			t.Errorf("it was killed at no %s: %v", verb, steps)
		}
	}
}

func TestUREL8ARelationThatTheModelDoesNotHaveIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("app", w.charm("name: app\nsummary: s\nrequires: {db: {interface: x}}\n", "true\n"), 1)
	w.settle()
	w.stop()
	doc, err := w.model.Unit(w.ctx, "app/0")
	if err != nil {
		t.Fatal(err)
	}
	j, l, err := journal.Open(durable.Disk{}, w.unitDir("app/0"), "app/0", doc.ID)
	if err != nil {
		t.Fatal(err)
	}
	l.Relations = map[model.RelationID]relation.State{
		99: {ID: 99, Endpoint: "db", RemoteApp: "mysql", Created: true, Members: model.Members{{Unit: "mysql/0", Version: 1}}},
	}
	if err := errors.Join(j.Store(l), j.Close()); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.settle()
	w.wantHooks("app/0", boot...)
	log, err := os.ReadFile(machine.LogPath(w.dir, w.model.UUID()))
	if err != nil || !strings.Contains(string(log), "forget") || !strings.Contains(string(log), "the model doesn't have it") {
		t.Errorf("the log doesn't say so: %v\n%s", err, log)
	}
	if got := w.workload("app/0"); got.Status == model.StatusError {
		t.Errorf("it is in error: %v", got)
	}
	if l, _, err := journal.Read(w.unitDir("app/0")); err != nil || len(l.Relations) > 0 {
		t.Errorf("it remembers %v, %v", l.Relations, err)
	}
}

// checkInterrupted looks for what a kill must have interrupted: a hook between
// its announcement and its commit.
func (l *recordedLife) checkInterrupted(t *testing.T, w *world, d death) {
	t.Helper()
	interrupted := map[model.UnitName]int{}
	all := 0
	for unit := range l.hooks[d.stage] {
		for _, e := range w.entries(unit) {
			if e.Outcome == history.Interrupted {
				interrupted[unit]++
				all++
			}
		}
	}
	for _, unit := range []model.UnitName{"a/0", "b/0"} {
		inHook := strings.HasPrefix(d.step, fmt.Sprintf("start models/*/agents/%s/", unit.Tag()))
		noted := strings.HasPrefix(d.step, fmt.Sprintf("write models/*/history/%s.", unit.Tag()))
		switch {
		case inHook && interrupted[unit] != 1:
			t.Errorf("%s was killed in a hook that wasn't interrupted", unit)
		case noted && interrupted[unit] > 0:
			t.Errorf("%s was killed when its hook had committed, and was interrupted", unit)
		}
	}
	if d.step == "commit Model.CommitHook" && d.when == before && all == 0 {
		t.Error("the hook whose commit wasn't made wasn't interrupted")
	}
}
