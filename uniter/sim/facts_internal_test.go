package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// breach is a hook that breaks a guarantee in a world in which something was planted.
type breach struct {
	sentence string // how it begins
	plant    func(*World)
	hook     hooks.Info
}

// containerBreaches are those of a unit with containers.
func containerBreaches() []breach {
	ready := func(container, boot string) hooks.Info {
		return hooks.Info{Kind: hooks.PebbleReady, Workload: container, Boot: boot}
	}
	answers := func(w *World, container, boot string, since time.Duration) {
		w.seen.Workloads = append(slices.Clone(w.seen.Workloads), resolver.Workload{Container: container, Boot: boot, Since: w.seen.Now.Add(since)})
	}
	notice := hooks.Info{Kind: hooks.PebbleCustomNotice, Workload: "web", NoticeID: "1", NoticeAt: time.Unix(1, 0)}
	status := hooks.Info{Kind: hooks.UpdateStatus}
	return []breach{
		{"pebble-ready tells of the Pebble that answers", func(w *World) { answers(w, "web", "new", 0) }, ready("web", "old")},
		{"a failed hook of a container runs again 5 s later", func(w *World) {
			w.Monitor.aside = map[string]hooks.Info{asideKey(notice): notice}
			w.containers.retry = map[string]time.Time{asideKey(notice): w.seen.Now.Add(time.Second)}
		}, notice},
		{"hooks of containers run in the order", func(w *World) { answers(w, "db", "first", 1); answers(w, "web", "second", 2) }, ready("web", "second")},
		{"what has happened in containers is told before", func(w *World) { answers(w, "web", "new", 0) }, status},
		{"in other containers start runs immediately", func(w *World) { w.charm.replaced, w.Monitor.last = true, hooks.ConfigChanged }, status},
		{"a unit that goes runs one hook of its containers", func(w *World) {
			answers(w, "web", "new", 0)
			w.seen.Life, w.Monitor.last = model.Dying, hooks.PebbleReady
		}, ready("web", "new")},
	}
}

// TestEachFactCanBreak: a hook that has no cause, in a world that was settled
// with a relation, breaks the guarantee about that cause, and no other one.
func TestEachFactCanBreak(t *testing.T) {
	t.Parallel()
	unitHook := func(k hooks.Kind) hooks.Info { return hooks.Info{Kind: k} }
	db := func(k hooks.Kind, version int, departing model.UnitName) hooks.Info {
		return hooks.Info{Kind: k, Endpoint: "db", RelationID: 1, RemoteApp: "mysql", RemoteUnit: "mysql/0", Version: version, Departing: departing}
	}
	ring := hooks.Info{Kind: hooks.RelationBroken, Endpoint: "cluster", RelationID: 2, RemoteApp: "app"}
	rows := []breach{
		{"hooks run in a deployed charm", func(w *World) { w.Dir, w.charm.url = "", "" }, unitHook(hooks.UpdateStatus)},
		{"upgrade-charm runs immediately", func(w *World) { w.Dir = "ch:app-2" }, unitHook(hooks.UpdateStatus)},
		{"a unit that is dying before install", func(w *World) { w.seen.Life = model.Dying }, unitHook(hooks.Install)},
		{"config-changed runs once", func(*World) {}, unitHook(hooks.ConfigChanged)},
		{"leader-elected runs once", func(*World) {}, unitHook(hooks.LeaderElected)},
		{"leader-settings-changed runs once", func(w *World) { w.seen.Want.LeaderSettings++ }, unitHook(hooks.LeaderSettingsChanged)},
		{"start runs once for a boot", func(*World) {}, unitHook(hooks.Start)},
		{"install runs when all storage", func(w *World) {
			w.seen.Storage, w.Local.Current = []resolver.Storage{{ID: "data/0", Initial: true}}, nil
			w.Monitor.installed = false
		}, unitHook(hooks.Install)},
		{"a storage hook says where", func(w *World) {
			w.seen.Storage = []resolver.Storage{{ID: "data/0", Ready: true, Location: "/here"}}
		}, hooks.Info{Kind: hooks.StorageAttached, Storage: "data/0", StorageLocation: "/there"}},
		{"created of each relation runs before", func(w *World) { w.Monitor.told, w.charm.leads = nil, false }, unitHook(hooks.LeaderElected)},
		{"joined and changed tell", func(*World) {}, db(hooks.RelationChanged, 7, "")},
		{"departed names the local unit", func(*World) {}, db(hooks.RelationDeparted, 1, "app/0")},
		{"a unit that goes leaves its peers last", func(w *World) { w.seen.Life = model.Dying }, ring},
	}
	rows = append(rows, containerBreaches()...)
	for _, f := range facts() {
		if !slices.ContainsFunc(rows, func(r breach) bool { return strings.HasPrefix(f.Sentence, r.sentence) }) {
			t.Errorf("no row breaks %q", f.Sentence)
		}
	}
	for _, row := range rows {
		t.Run(row.sentence, func(t *testing.T) {
			t.Parallel()
			w := New("app/0", "ch:app-1", true)
			for _, line := range []string{"relate db:1 mysql", "join db:1 mysql/0", "relate cluster:2 app"} {
				if _, err := w.Act(line); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.Settle(func(hooks.Info) How { return Well }); err != nil {
				t.Fatal(err)
			}
			w.Look()
			row.plant(&w)
			err := w.look(row.hook)
			if err == nil || !strings.HasPrefix(err.Error(), row.sentence) {
				t.Errorf("got %v, want %q", err, row.sentence)
			}
		})
	}
}
