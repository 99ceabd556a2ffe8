package testcharms_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/testcharms"
)

func TestShopConnectsToLedgerAndLetsGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.copies("ledger", "shop")
	w.wantStatus("ledger/0", "active ready on port 5432")
	w.wantStatus("shop/0", "blocked needs a database: integrate with a provider of ledgerdb")

	w.relate("shop:db", "ledger:db")
	w.wantStatus("shop/0", "active connected to ledger/0 as shop")
	w.wantStatus("ledger/0", "active serving 1 consumer on port 5432")
	before := w.file("shop/0", "run/shop.conf")
	password := line(before, "password")
	if len(password) != 32 || line(before, "port") != "5432" || line(before, "database") != "General ledger" {
		t.Errorf("shop.conf:\n%s", before)
	}

	w.set("ledger", "port=70000")
	w.wantStatus("ledger/0", "blocked port must be from 1 to 65535, not 70000")
	w.set("ledger", "port=5433")
	w.wantStatus("ledger/0", "active serving 1 consumer on port 5433")
	w.untilFile("shop/0", "run/shop.conf", "port = 5433")
	if after := line(w.file("shop/0", "run/shop.conf"), "password"); after != password {
		t.Errorf("the password has changed from %q to %q", password, after)
	}
	w.settle()
	wantPorts(w, "ledger/0", "5433/tcp")

	w.must(w.model.DestroyRelation(w.ctx, "shop", "ledger"))
	w.wantStatus("shop/0", "blocked needs a database: integrate with a provider of ledgerdb")
	w.wantStatus("ledger/0", "active ready on port 5433")
	if conf := w.file("shop/0", "run/shop.conf"); conf != "" {
		t.Errorf("shop.conf is still there:\n%s", conf)
	}
	w.settle() // a status is seen before the rest of what its hook changes
	state, err := w.model.CharmState(w.ctx, "ledger/0")
	w.must(err)
	if len(state) != 1 || state["started"] != "yes" {
		t.Errorf("ledger's state is %v", state)
	}
}

func TestShopUsesAnotherLedgerWhenItsOwnHasGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(testcharms.Copy(t, "ledger"), 2)
	w.copies("shop")
	w.relate("shop", "ledger")
	w.wantStatus("shop/0", "active connected to ledger/0 as shop")
	w.wantStatus("ledger/1", "active serving 1 consumer on port 5432")
	w.must(w.model.DestroyUnit(w.ctx, "ledger/0"))
	w.wantStatus("shop/0", "active connected to ledger/1 as shop")
}

func TestQuorumSharesItsTokenAndCountsItsPeers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(testcharms.Copy(t, "quorum"), 3)
	for _, unit := range []model.UnitName{"quorum/0", "quorum/1", "quorum/2"} {
		w.wantStatus(unit, "active clustered with 2 peers")
	}
	s, err := w.model.LeaderSettings(w.ctx, "quorum")
	w.must(err)
	rels, err := w.model.RelationsOf(w.ctx, "quorum")
	w.must(err)
	if len(rels) != 1 {
		t.Fatalf("relations: %v", rels)
	}
	shared, err := w.model.ApplicationSettings(w.ctx, rels[0].ID, "quorum")
	w.must(err)
	if len(s["token"]) != 32 || s["token"] != shared["token"] {
		t.Errorf("leader settings %v, the relation's %v", s, shared)
	}
	w.set("quorum", "quorum-size=4")
	w.wantStatus("quorum/1", "waiting 3 of 4 units are there")
	w.must(w.model.DestroyUnit(w.ctx, "quorum/2"))
	w.wantStatus("quorum/1", "waiting 2 of 4 units are there")
}

func TestLoggerLivesBesideItsPrincipal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.copies("noop")
	w.deploy(testcharms.Copy(t, "logger"), 0)
	w.relate("logger", "noop")
	w.wantStatus("logger/0", "active logging noop/0 at level info")
	w.set("logger", "level=loud")
	w.wantStatus("logger/0", `blocked unknown level "loud": use debug, info, warning or error`)
}

func TestGobinRunsWithAndWithoutADatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.copies("gobin", "ledger")
	w.wantStatus("gobin/0", "active ready, without a database")
	w.relate("gobin", "ledger")
	w.wantStatus("gobin/0", "active ready, with the database of ledger/0")
	w.must(w.model.DestroyRelation(w.ctx, "gobin", "ledger"))
	w.wantStatus("gobin/0", "active ready, without a database")
	w.set("gobin", "greeting=")
	w.wantStatus("gobin/0", "blocked greeting is empty: set it to a word")
}

// venvOfOps is an environment with Ops; without one the test is skipped.
func venvOfOps(t testing.TB) string {
	t.Helper()
	venv := os.Getenv("UNITD_TEST_VENV")
	if venv == "" {
		venv = filepath.Join("..", ".venv")
	}
	if _, err := os.Stat(venv); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("CI has to run the Ops charm: %v", err)
		}
		t.Skipf("skipped: there is no environment with Ops; \"make venv\" makes one (%v)", err)
	}
	return venv
}

func TestOpsyRunsWithAndWithoutADatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(testcharms.CopyOps(t, venvOfOps(t)), 1)
	w.copies("ledger")
	w.wantStatus("opsy/0", "active ready, without a database")
	w.set("opsy", "need-database=true")
	w.wantStatus("opsy/0", "blocked needs a database: integrate with a provider of ledgerdb")
	w.relate("opsy", "ledger")
	w.wantStatus("opsy/0", "active ready, with the database of ledger/0")
	w.must(w.model.DestroyRelation(w.ctx, "opsy", "ledger"))
	w.wantStatus("opsy/0", "blocked needs a database: integrate with a provider of ledgerdb")
}

func TestTracerWritesDownItsHooksAndFailsWhenToldTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.copies("tracer")
	w.wantStatus("tracer/0", "active")
	want := "install\nring-relation-created ring:0\nleader-elected\nconfig-changed\nstart\n"
	if got := w.file("tracer/0", "trace.log"); got != want {
		t.Errorf("trace.log:\n%swant:\n%s", got, want)
	}
	w.set("tracer", "set-then-fail=config-changed")
	w.wantStatus("tracer/0", `error hook failed: "config-changed"`)
	state, err := w.model.CharmState(w.ctx, "tracer/0")
	w.must(err)
	if len(state) != 0 {
		t.Errorf("the failed hook has left the state %v", state)
	}
	wantPorts(w, "tracer/0", "")
	w.set("tracer", "set-then-fail=")
	w.must(w.model.Resolve(w.ctx, "tracer/0", true))
	w.wantStatus("tracer/0", "active")
}

func TestTracerPublishesForOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(testcharms.Copy(t, "tracer"), 2)
	w.wantStatus("tracer/0", "active")
	w.wantStatus("tracer/1", "active")
	w.untilFile("tracer/0", "trace.log", "ring-relation-changed ring:0 tracer/1\n")
	w.set("tracer", "publish=news")
	rels, err := w.model.RelationsOf(w.ctx, "tracer")
	w.must(err)
	// Each unit is told once of what the other one has when it joins, and once
	// of the news.
	w.untilFile("tracer/0", "trace.log", "config-changed\nring-relation-changed ring:0 tracer/1\n")
	settings, err := w.model.Settings(w.ctx, rels[0].ID, "tracer/1")
	w.must(err)
	if settings["value"] != "news" {
		t.Errorf("tracer/1 has published %v", settings)
	}
}

func TestTracerHangsUntilItMayGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.copies("tracer")
	w.wantStatus("tracer/0", "active")
	w.set("tracer", "hang-hook=config-changed")
	w.untilFile("tracer/0", "hanging", "config-changed")
	// The next change is served when the hook that hangs has ended.
	w.set("tracer", "hang-hook=")
	w.set("tracer", "fail-hook=config-changed")
	w.must(os.WriteFile(filepath.Join(w.charmDir("tracer/0"), "go"), nil, 0o600))
	w.wantStatus("tracer/0", `error hook failed: "config-changed"`)
	if w.file("tracer/0", "hanging") != "" || w.file("tracer/0", "go") != "" {
		t.Error("hanging or go is still there")
	}
	w.set("tracer", "fail-hook=")
	w.must(w.model.Resolve(w.ctx, "tracer/0", true))
	w.wantStatus("tracer/0", "active")
}

// line is the value of "key = value" in a file's text.
func line(text, key string) string {
	for _, l := range strings.Split(text, "\n") {
		if value, ok := strings.CutPrefix(l, key+" = "); ok {
			return value
		}
	}
	return ""
}

func wantPorts(w *world, unit model.UnitName, want string) {
	w.Helper()
	s, err := w.model.Status(w.ctx)
	w.must(err)
	var got []string
	for _, a := range s.Applications {
		for _, u := range a.Units {
			if u.Name == unit {
				for _, p := range u.Ports.All() {
					got = append(got, p.String())
				}
			}
		}
	}
	if strings.Join(got, " ") != want {
		w.Errorf("%s has the ports %v open, want %q", unit, got, want)
	}
}
