package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/audit"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// boot is what every unit runs first; a word is a hook, its outcome if it isn't
// committed, and the unit's id if it isn't "1": "start=failed@2". "#5" has the first
// run be number 5.
const boot = "install leader-elected config-changed start "

func TestDir(t *testing.T) {
	t.Parallel()
	const related = "install db-relation-created leader-elected config-changed start "
	for _, row := range []struct{ name, runs, log, want string }{
		{"a life in good order", boot + "update-status stop remove", "", ""},
		{"a hook out of its order", "install start", "", "app/0 broke a guarantee: config-changed runs immediately after install"},
		{"and all that ran before it is told", boot + "start", "", "start runs once"},
		{"a hook that was interrupted is one that failed", boot + "config-changed=interrupted config-changed", "", ""},
		{"nothing else runs before it is resolved", boot + "config-changed=interrupted update-status", "", "a failed hook is followed"},
		{"a hook that was stopped gives way", boot + "config-changed=stopped update-status", "", ""},
		{"skipped and dropped hooks had failed", boot + "config-changed=failed config-changed=skipped leader-elected=failed leader-elected=dropped", "", ""},
		{"a hook that had not failed is not skipped", boot + "config-changed=skipped", "", "only a failed run is skipped"},
		{"a unit that is deployed anew begins anew", boot + "stop remove install@2 leader-elected@2 config-changed@2 start@2", "", ""},
		{"a unit that isn't, doesn't", boot + "stop remove install", "", "install runs once"},
		{"a lost disk is made up for by upgrade-charm, and members join again", related + "db-relation-joined upgrade-charm!lost config-changed db-relation-joined", "", ""},
		{"without a loss nobody joins again", related + "db-relation-joined upgrade-charm config-changed db-relation-joined", "", "joined"},
		{"and whatever is lost, install doesn't run again", boot + "upgrade-charm!lost config-changed install", "", "install runs once"},
		{"a unit that began on another disk is left to who has its history", "#5 upgrade-charm!lost config-changed start stop remove", "", ""},
		{"a machine that was rebooted starts again", boot + "start!rebooted", "", ""},
		{"a relation that went by force is not broken", related + "stop remove", `forget reason="gone" relations="[7]"`, ""},
		{"another one that did is no excuse", related + "stop remove", `forget reason="gone" relations="[8 9]"`, "stop does not run while"},
		{"a hook of a container that failed holds nothing up", boot + "web-pebble-ready=failed update-status web-pebble-ready", "", ""},
		{"what is no hook runs at any time", "backup " + boot + "config-changed=failed backup config-changed", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeHistory(t, filepath.Join(dir, "models", "m"), row.runs, row.log)
			err := audit.Dir(dir)
			switch {
			case row.want == "" && err != nil:
				t.Error(err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "\n    install\n")):
				t.Errorf("got %v, want %q and the sequence", err, row.want)
			}
		})
	}
}

func TestADirectoryWithoutModelsIsWell(t *testing.T) {
	t.Parallel()
	if err := audit.Dir(t.TempDir()); err != nil {
		t.Error(err)
	}
}

func writeHistory(t *testing.T, dir, runs, line string) {
	t.Helper()
	histories := filepath.Join(dir, "history")
	if err := os.MkdirAll(histories, 0o700); err != nil {
		t.Fatal(err)
	}
	first := 1
	if n, rest, ok := strings.Cut(runs, " "); ok && n[0] == '#' {
		first, runs = int(n[1]-'0'), rest
	}
	for i, word := range strings.Fields(runs) {
		e := history.Entry{Unit: "app/0", ID: "1", Run: int64(i + first), Outcome: history.Committed}
		word, id, renewed := strings.Cut(word, "@")
		if renewed {
			e.ID = id
		}
		word, cause, _ := strings.Cut(word, "!")
		word, how, ended := strings.Cut(word, "=")
		if ended {
			e.Outcome = history.Outcome(how)
		}
		e.Hook = hooks.Info{Kind: hooks.Kind(word), Cause: map[string]string{"lost": resolver.CauseForgotten, "rebooted": resolver.CauseRebooted}[cause]}
		if endpoint, kind, ok := strings.Cut(word, "-relation-"); ok {
			e.Hook = hooks.Info{Kind: hooks.Kind("relation-" + kind), Endpoint: endpoint, RelationID: 7, RemoteApp: "db"}
		}
		if err := history.Append(durable.Disk{}, histories, e); err != nil {
			t.Fatal(err)
		}
	}
	log, err := debuglog.Open(durable.Disk{}, filepath.Join(dir, "debug.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Write(debuglog.Entry{Time: time.Unix(0, 0), Entity: model.UnitName("app/0").Tag(), Level: "WARNING", Module: "unitd", Message: line}); err != nil {
		t.Fatal(err)
	}
}
