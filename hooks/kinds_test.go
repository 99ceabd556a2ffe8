package hooks_test

import (
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
)

func TestEachKindHasOneRow(t *testing.T) {
	t.Parallel()
	seen := map[hooks.Kind]bool{}
	for _, row := range hooks.Kinds() {
		if seen[row.Kind] || row.When == "" {
			t.Errorf("%s has two rows, or doesn't say when it runs", row.Kind)
		}
		seen[row.Kind] = true
		info := hooks.Info{Kind: row.Kind}
		if info.IsRelation() != (row.Prefix() == "endpoint") || info.IsStorage() != (row.Prefix() == "storage") ||
			info.IsWorkload() != (row.Prefix() == "container") {
			t.Errorf("%s: its name and its shape don't agree on what it is about", row.Kind)
		}
	}
	if len(seen) != 24 {
		t.Errorf("there are %d kinds", len(seen))
	}
}

func TestInfoNamesItself(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		info               hooks.Info
		name, ref, printed string
	}{
		{hooks.Info{Kind: hooks.Install}, "install", "", "install"},
		{hooks.Info{Kind: hooks.SecretRotate, Secret: "9m4e2mr0ui3e8a215n4g"}, "secret-rotate", "", "secret-rotate (secret:9m4e2mr0ui3e8a215n4g)"},
		{hooks.Info{Kind: hooks.SecretExpired, Secret: "9m4e2mr0ui3e8a215n4g", SecretRevision: 2},
			"secret-expired", "", "secret-expired (secret:9m4e2mr0ui3e8a215n4g/2)"},
		{hooks.Info{Kind: hooks.RelationJoined, Endpoint: "db", RelationID: 3, RemoteApp: "mysql", RemoteUnit: "mysql/0"},
			"db-relation-joined", "db:3", "db-relation-joined (db:3, mysql/0)"},
		{hooks.Info{Kind: hooks.RelationChanged, Endpoint: "db", RelationID: 0, RemoteApp: "mysql"},
			"db-relation-changed", "db:0", "db-relation-changed (db:0, mysql)"},
		{hooks.Info{Kind: hooks.RelationBroken, Endpoint: "db", RelationID: 3, RemoteApp: "mysql"},
			"db-relation-broken", "db:3", "db-relation-broken (db:3)"},
		{hooks.Info{Kind: hooks.StorageAttached, Storage: "web-logs/2", StorageLocation: "/x", StorageKind: "filesystem"},
			"web-logs-storage-attached", "", "web-logs-storage-attached (web-logs/2)"},
		{hooks.Info{Kind: hooks.PebbleReady, Workload: "my-db", Boot: "b1"}, "my-db-pebble-ready", "", "my-db-pebble-ready"},
		{notice, "web-pebble-custom-notice", "", "web-pebble-custom-notice (example.com/backup)"},
		{check(hooks.PebbleCheckFailed), "web-pebble-check-failed", "", "web-pebble-check-failed (up)"},
	} {
		if got := c.info.Name(); got != c.name {
			t.Errorf("name %q, want %q", got, c.name)
		}
		if got := c.info.RelationRef(); got != c.ref {
			t.Errorf("relation %q, want %q", got, c.ref)
		}
		if got := c.info.String(); got != c.printed {
			t.Errorf("printed %q, want %q", got, c.printed)
		}
	}
}

func TestInfoValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		info hooks.Info
		want string
	}{
		{"a hook of the unit", hooks.Info{Kind: hooks.Start}, ""},
		{"a relation's hook", hooks.Info{Kind: hooks.RelationCreated, Endpoint: "db"}, ""},
		{"changed may be of a unit", hooks.Info{Kind: hooks.RelationChanged, Endpoint: "db", RemoteUnit: "mysql/0"}, ""},
		{"changed may be of the application", hooks.Info{Kind: hooks.RelationChanged, Endpoint: "db"}, ""},
		{"a kind that isn't there", hooks.Info{Kind: "meter-status-changed"}, `hook kind "meter-status-changed" not valid`},
		{"a hook of the unit with an endpoint", hooks.Info{Kind: hooks.Start, Endpoint: "db"}, "with a relation"},
		{"a hook of the unit with a remote unit", hooks.Info{Kind: hooks.Start, RemoteUnit: "mysql/0"}, "with a relation"},
		{"a relation's hook without an endpoint", hooks.Info{Kind: hooks.RelationBroken}, "without an endpoint"},
		{"a storage's hook", hooks.Info{Kind: hooks.StorageAttached, Storage: "data/0"}, ""},
		{"a storage's hook without storage", hooks.Info{Kind: hooks.StorageDetaching}, "without storage"},
		{"a storage's hook with an endpoint", hooks.Info{Kind: hooks.StorageDetaching, Storage: "data/0", Endpoint: "db"}, "with a relation"},
		{"a hook of the unit with storage", hooks.Info{Kind: hooks.Start, Storage: "data/0"}, "with storage"},
		{"joined without a unit", hooks.Info{Kind: hooks.RelationJoined, Endpoint: "db"}, "without a remote unit"},
		{"an action", hooks.Info{Kind: hooks.Action, Action: "backup", Task: "2"}, ""},
		{"commands, in a relation", hooks.Info{Kind: hooks.Exec, Endpoint: "db", Task: "2"}, ""},
		{"a task without an id", hooks.Info{Kind: hooks.Exec}, "exec without the id of its task"},
		{"an action without a name", hooks.Info{Kind: hooks.Action, Task: "2"}, `action ""`},
		{"an action in a relation", hooks.Info{Kind: hooks.Action, Action: "backup", Task: "2", Endpoint: "db"}, `endpoint "db"`},
		{"commands with an action", hooks.Info{Kind: hooks.Exec, Action: "backup", Task: "2"}, "commands with an action"},
		{"broken with a unit", hooks.Info{Kind: hooks.RelationBroken, Endpoint: "db", RemoteUnit: "mysql/0"}, "with a remote unit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.info.Validate()
			if c.want == "" && err == nil {
				return
			}
			if c.want == "" || !errors.Is(err, errors.NotValid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
