package sim_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/uniter/sim"
)

// boot is the life of a unit until it runs in a relation.
const boot = "install; db-relation-created; leader-elected; config-changed; start; "

// feed gives a monitor the hooks of a trace: hooks with ";" between, each a
// name with the remote unit or application and its version ("@2"), then "as
// a/0" for the departing unit, and what became of it: "fails", "skipped",
// "stopped", "dropped"; nothing means that it succeeded. "end" is the end, and
// "gone" the forced end of the relation.
func feed(t *testing.T, trace string) error {
	t.Helper()
	m := sim.Monitor{Unit: "app/0"}
	for _, step := range strings.Split(trace, ";") {
		words := strings.Fields(step)
		if len(words) == 0 {
			continue
		}
		var err error
		switch words[0] {
		case "end":
			err = m.End()
		case "gone":
			m.Gone(1)
		default:
			h, o := parseRun(t, words)
			err = m.Hook(h, o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func parseRun(t *testing.T, words []string) (hooks.Info, sim.Outcome) {
	t.Helper()
	h, outcome := hooks.Info{Kind: hooks.Kind(words[0])}, sim.Succeeded
	if endpoint, kind, ok := strings.Cut(words[0], "-relation-"); ok {
		h = hooks.Info{Kind: hooks.Kind("relation-" + kind), Endpoint: endpoint, RelationID: 1, RemoteApp: "mysql"}
		if endpoint == "ring" {
			h.RelationID, h.RemoteApp = 2, "app"
		}
	}
	if _, kind, ok := strings.Cut(words[0], "-storage-"); ok {
		h = hooks.Info{Kind: hooks.Kind("storage-" + kind)}
	}
	if container, kind, ok := strings.Cut(words[0], "-pebble-"); ok {
		h = hooks.Info{Kind: hooks.Kind("pebble-" + kind), Workload: container}
	}
	outcomes := map[string]sim.Outcome{"fails": sim.Failed, "aside": sim.Aside, "skipped": sim.Skipped, "stopped": sim.Stopped, "dropped": sim.Dropped}
	for _, w := range words[1:] {
		who, version, versioned := strings.Cut(w, "@")
		switch o, ok := outcomes[w]; {
		case ok:
			outcome = o
		case w == "rebooted":
			h.Cause = resolver.CauseRebooted
		case w == "replaced":
			h.Cause = resolver.CauseReplaced
		case strings.HasPrefix(w, "boot-"):
			h.Boot = w
		case h.IsStorage():
			h.Storage = model.StorageID(w)
		case w == "as":
		case h.Kind == hooks.RelationDeparted && h.RemoteUnit != "":
			h.Departing = model.UnitName(w)
		case strings.Contains(who, "/"):
			h.RemoteUnit = model.UnitName(who)
		}
		if versioned {
			v, err := strconv.Atoi(version)
			if err != nil {
				t.Fatal(err)
			}
			h.Version = v
			if h.IsNotice() {
				h.NoticeID, h.NoticeAt = who, time.Unix(int64(v), 0)
			}
		}
	}
	return h, outcome
}

func TestMonitorAcceptsWhatIsGuaranteed(t *testing.T) {
	t.Parallel()
	for name, trace := range map[string]string{
		"a whole life": boot + "db-relation-joined mysql/0@1; db-relation-changed mysql/0@1; db-relation-changed mysql@1; update-status;" +
			"db-relation-departed mysql/0 as app/0; db-relation-broken; stop; remove; end",
		"a unit that never ran a hook":                              "end",
		"a unit that goes before it was configured":                 "install; db-relation-created; db-relation-broken; remove; end",
		"start runs again after a reboot, and after it failed then": boot + "start rebooted; start rebooted fails; start; update-status",
		"a unit that leaves breaks its peers last": boot + "ring-relation-created; ring-relation-joined app/1@1; ring-relation-changed app/1@1; " +
			"db-relation-broken; ring-relation-departed app/1 as app/0; ring-relation-broken; stop; remove; end",
		"a failed hook runs again":                     "install fails; install fails; install; config-changed; start",
		"a skipped hook counts as run":                 "install fails; install skipped; config-changed fails; config-changed skipped; start",
		"a hook that was stopped gives way to another": boot + "config-changed stopped; upgrade-charm; config-changed",
		"hooks of the unit come between joined and changed": boot +
			"db-relation-joined mysql/0@1; update-status; db-relation-changed mysql/0@2",
		"a unit that departed joins again":       boot + "db-relation-joined mysql/0@1; db-relation-changed mysql/0@1; db-relation-departed mysql/0 as mysql/0; db-relation-joined mysql/0@1",
		"a relation that was broken comes again": boot + "db-relation-broken; db-relation-created; db-relation-joined mysql/0@1",
		"nothing is owed to a relation that went by force": boot +
			"db-relation-joined mysql/0@1 fails; db-relation-joined mysql/0 dropped; gone; stop; remove; end",
		"storage comes before install, and goes first": "data-storage-attached data/0; " + boot +
			"data-storage-attached data/1; data-storage-detaching data/1; data-storage-detaching data/0; db-relation-broken; stop; remove; end",
		"storage that was attached before install goes without it": "data-storage-attached data/0; data-storage-detaching data/0; end",
		"hooks of containers, of which one stands aside": boot + "web-pebble-ready boot-1 aside; config-changed; web-pebble-custom-notice a@1; web-pebble-ready boot-1; " +
			"web-pebble-ready boot-2; web-pebble-check-failed b@2 aside; web-pebble-custom-notice a@3; web-pebble-check-failed b@2; db-relation-broken; stop; web-pebble-ready boot-3; remove; end",
		"containers are replaced":                                    "install; web-pebble-ready boot-1; config-changed; start; stop replaced; upgrade-charm; config-changed; start replaced; web-pebble-ready boot-2",
		"containers are replaced, and stop fails once":               boot + "stop replaced fails; stop; upgrade-charm; config-changed; start replaced; update-status",
		"a unit goes instead of having its containers replaced":      boot + "stop replaced; db-relation-broken; remove; end",
		"a hook of a container that stood, and was skipped":          boot + "web-pebble-ready boot-1 aside; web-pebble-ready boot-1 skipped",
		"upgrade-charm between install and the first config-changed": "install; upgrade-charm; leader-elected; config-changed; start",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := feed(t, trace); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMonitorRefuses(t *testing.T) {
	t.Parallel()
	const joined = boot + "db-relation-joined mysql/0@1; "
	const changed = joined + "db-relation-changed mysql/0@1; "
	type row struct{ name, trace, sentence string }
	rows := []row{
		{"another hook while one has failed", "install fails; config-changed", "a failed hook is followed"},
		{"install twice", "install; install", "install runs once"},
		{"a hook before install", "config-changed", "install runs once"},
		{"attached twice", "data-storage-attached data/0; data-storage-attached data/0", "attached runs once"},
		{"detaching of what was not attached", "data-storage-attached data/0; data-storage-detaching data/1", "detaching runs once"},
		{"detaching twice", boot + "data-storage-attached data/0; data-storage-detaching data/0; data-storage-detaching data/0", "detaching runs once"},
		{"stop with storage attached", "data-storage-attached data/0; install; config-changed; start; stop", "a unit that goes has its storage detached"},
		{"departed with storage attached, as the unit goes", boot + "data-storage-attached data/0; db-relation-joined mysql/0@1; db-relation-changed mysql/0@1; db-relation-departed mysql/0 as app/0",
			"a unit that goes has its storage detached"},
		{"storage between config-changed and start", "install; config-changed; data-storage-attached data/0", "start runs once"},
		{"the end with storage attached", "data-storage-attached data/0; end", "a unit goes when"},
		{"start before config-changed", "install; start", "config-changed runs immediately after install"},
		{"a hook between upgrade-charm and config-changed", boot + "upgrade-charm; update-status", "config-changed runs immediately after upgrade-charm"},
		{"start twice", boot + "start", "start runs once"},
		{"a hook between the first config-changed and start", "install; config-changed; leader-elected", "start runs once"},
		{"update-status before start", "install; update-status", "update-status runs only"},
		{"leader-elected after the first config-changed", "install; config-changed; leader-elected", "start runs once"},
		{"start again without a reboot, after a failure", boot + "start fails", "start runs once"},
		{"peers before others", boot + "ring-relation-created; ring-relation-joined app/1@1; ring-relation-changed app/1@1; ring-relation-departed app/1 as app/0; ring-relation-broken",
			"a unit that leaves has broken of its peer relations"},
		{"departed that names a remote unit when the local one leaves", changed + "db-relation-joined mysql/1@1; db-relation-changed mysql/1@1; " +
			"db-relation-departed mysql/0 as app/0; db-relation-departed mysql/1 as mysql/1", "departed names the unit"},
		{"a hook after stop", boot + "db-relation-broken; stop; config-changed", "stop and remove are the last"},
		{"a hook after remove", boot + "db-relation-broken; stop; remove; remove", "stop and remove are the last"},
		{"remove without stop", boot + "db-relation-broken; remove", "stop and remove are the last"},
		{"stop before broken", boot + "stop", "stop does not run while relations remain"},
		{"created twice", boot + "db-relation-created", "relation-created runs once"},
		{"joined before created", "install; config-changed; start; db-relation-joined mysql/0@1", "relation-created runs once"},
		{"joined before start", "install; db-relation-created; config-changed fails; config-changed skipped; db-relation-joined mysql/0@1", "no joined or changed runs before"},
		{"joined twice", changed + "db-relation-joined mysql/0@1", "joined runs once"},
		{"another hook of the relation while changed is owed", joined + "db-relation-departed mysql/0 as mysql/0", "changed runs immediately after joined"},
		{"changed of another unit while one is owed", joined + "db-relation-changed mysql/1@1", "changed runs immediately after joined"},
		{"changed of a unit that has not joined", boot + "db-relation-changed mysql/0@1", "changed runs only for units that have joined"},
		{"changed of a unit that has departed", changed + "db-relation-departed mysql/0 as mysql/0; db-relation-changed mysql/0@2", "changed runs only for units that have joined"},
		{"changed without a change", changed + "db-relation-changed mysql/0@1", "changed runs again only when"},
		{"departed twice", changed + "db-relation-departed mysql/0 as mysql/0; db-relation-departed mysql/0 as mysql/0", "departed runs once"},
		{"departed that names nobody", changed + "db-relation-departed mysql/0", "departed names the unit"},
		{"broken with a member", changed + "db-relation-broken", "broken does not run while"},
		{"a hook of a relation that was broken", boot + "db-relation-broken; db-relation-broken", "relation-created runs once"},
		{"skipping a hook that has not failed", "install skipped", "only a failed run is skipped"},
		{"pebble-ready twice for one start", boot + "web-pebble-ready boot-1; web-pebble-ready boot-1", "pebble-ready succeeds once"},
		{"pebble-ready before install", "web-pebble-ready boot-1", "install runs once"},
		{"pebble-ready between config-changed and start", "install; config-changed; web-pebble-ready boot-1", "start runs once"},
		{"pebble-ready between upgrade-charm and config-changed", boot + "upgrade-charm; web-pebble-ready boot-1", "config-changed runs immediately after upgrade-charm"},
		{"pebble-ready after remove", "install; config-changed; start; stop; remove; web-pebble-ready boot-1", "stop and remove are the last"},
		{"pebble-ready while another hook has failed", boot + "config-changed fails; web-pebble-ready boot-1", "a failed hook is followed"},
		{"a notice twice", boot + "web-pebble-custom-notice a@1; web-pebble-custom-notice a@1", "a notice is told once"},
		{"a notice after a later one", boot + "web-pebble-custom-notice a@2; web-pebble-custom-notice b@1", "a notice is told once"},
		{"another hook before start in other containers", boot + "stop replaced; update-status", "after stop, as the unit's containers"},
		{"stop twice in one set of containers", boot + "stop replaced; stop replaced", "after stop, as the unit's containers"},
		{"start in other containers without config-changed", boot + "stop replaced; upgrade-charm; config-changed; start replaced; update-status; start replaced", "start runs once"},
		{"the end in error", boot + "config-changed fails; end", "a unit goes when"},
		{"the end in a relation", boot + "end", "a unit goes when"},
		{"the end without remove", "install; config-changed; start; stop; end", "a unit goes when"},
	}
	for _, g := range sim.Guarantees() {
		if !slices.ContainsFunc(rows, func(r row) bool { return strings.HasPrefix(g.Sentence, r.sentence) }) {
			t.Errorf("no row breaks %q", g.Sentence)
		}
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			err := feed(t, r.trace)
			var broken *sim.Broken
			if !errors.As(err, &broken) || !strings.HasPrefix(err.Error(), r.sentence) || broken.Guarantee.Source == "" {
				t.Errorf("got %v, want %q", err, r.sentence)
			}
		})
	}
}
