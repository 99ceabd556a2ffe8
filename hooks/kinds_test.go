package hooks_test

import (
	"maps"
	"slices"
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
		if info.IsRelation() != (row.Prefix() == "endpoint") || info.IsStorage() != (row.Prefix() == "storage") {
			t.Errorf("%s: its name and its shape don't agree on what it is about", row.Kind)
		}
	}
	if len(seen) != 20 {
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

// place is where the hooks of the tests below run.
func place() hooks.Place {
	return hooks.Place{
		Unit: "wordpress/0", ModelName: "shop", ModelUUID: "uuid", MachineID: "0", CharmDir: "/charm", ToolsDir: "/tools",
		Socket: "/socket", ContextID: "id", APIAddresses: []string{"a:1", "b:2"}, Proxy: hooks.Proxy{HTTP: "http://p"}, Path: "/bin",
	}
}

// environ is the environment as a map; a name that is there twice is an error.
func environ(t *testing.T, i hooks.Info, p hooks.Place) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, v := range hooks.Environ(i, p) {
		name, value, ok := strings.Cut(v, "=")
		if _, twice := env[name]; twice || !ok {
			t.Errorf("%q is there twice, or has no value", v)
		}
		env[name] = value
	}
	return env
}

func TestEnvironOfAnyHook(t *testing.T) {
	t.Parallel()
	env := environ(t, hooks.Info{Kind: hooks.ConfigChanged}, place())
	// spec/uniter-behaviour.md §2, and the seed's JUJU_AGENT_SOCKET.
	want := strings.Fields(`CHARM_DIR JUJU_CHARM_DIR JUJU_CONTEXT_ID JUJU_HOOK_NAME JUJU_DISPATCH_PATH
		JUJU_AGENT_SOCKET_ADDRESS JUJU_AGENT_SOCKET_NETWORK JUJU_AGENT_SOCKET JUJU_UNIT_NAME JUJU_MODEL_UUID JUJU_MODEL_NAME
		JUJU_API_ADDRESSES JUJU_SLA JUJU_MACHINE_ID JUJU_PRINCIPAL_UNIT JUJU_AVAILABILITY_ZONE JUJU_VERSION CLOUD_API_VERSION
		JUJU_CHARM_HTTP_PROXY JUJU_CHARM_HTTPS_PROXY JUJU_CHARM_FTP_PROXY JUJU_CHARM_NO_PROXY PATH LANG TERM`)
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(env)); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for name, value := range map[string]string{
		"JUJU_HOOK_NAME": "config-changed", "JUJU_DISPATCH_PATH": "hooks/config-changed", "JUJU_API_ADDRESSES": "a:1 b:2",
		"PATH": "/tools:/bin", "LANG": "C.UTF-8", "TERM": "screen", "JUJU_PRINCIPAL_UNIT": "", "JUJU_CHARM_HTTP_PROXY": "http://p",
		"JUJU_AGENT_SOCKET_NETWORK": "unix", "JUJU_UNIT_NAME": "wordpress/0",
	} {
		if env[name] != value {
			t.Errorf("%s=%q, want %q", name, env[name], value)
		}
	}
}

func TestEnvironOfTasks(t *testing.T) {
	t.Parallel()
	action := environ(t, hooks.Info{Kind: hooks.Action, Action: "backup", Task: "7"}, place())
	for name, value := range map[string]string{
		"JUJU_HOOK_NAME": "", "JUJU_DISPATCH_PATH": "actions/backup",
		"JUJU_ACTION_NAME": "backup", "JUJU_ACTION_UUID": "7", "JUJU_ACTION_TAG": "action-7",
	} {
		if got, there := action[name]; !there || got != value {
			t.Errorf("in an action %s=%q (%v), want %q", name, got, there, value)
		}
	}
	plain := environ(t, hooks.Info{Kind: hooks.Exec, Task: "7"}, place())
	related := environ(t, hooks.Info{Kind: hooks.Exec, Task: "7", Endpoint: "db", RelationID: 3, RemoteUnit: "mysql/0"}, place())
	for _, env := range []map[string]string{plain, related} {
		name, there := env["JUJU_HOOK_NAME"]
		_, dispatch := env["JUJU_DISPATCH_PATH"]
		if _, action := env["JUJU_ACTION_NAME"]; !there || name != "" || dispatch || action {
			t.Errorf("of commands: %v", env)
		}
	}
	if _, there := plain["JUJU_RELATION"]; there {
		t.Errorf("of commands in no relation: %v", plain)
	}
	if related["JUJU_RELATION"] != "db" || related["JUJU_RELATION_ID"] != "db:3" || related["JUJU_REMOTE_UNIT"] != "mysql/0" {
		t.Errorf("of commands in a relation: %v", related)
	}
}

func TestEnvironDependsOnTheHost(t *testing.T) {
	t.Parallel()
	p := place()
	p.Debian, p.Ubuntu = true, true
	env := environ(t, hooks.Info{Kind: hooks.Install}, p)
	if env["TERM"] != "tmux-256color" || env["DEBIAN_FRONTEND"] != "noninteractive" || env["APT_LISTCHANGES_FRONTEND"] != "none" {
		t.Errorf("got %v", env)
	}
}

func TestEnvironOfRelationHooks(t *testing.T) {
	t.Parallel()
	about := hooks.Info{Endpoint: "db", RelationID: 3, RemoteApp: "mysql"}
	for _, c := range []struct {
		name      string
		kind      hooks.Kind
		unit      string
		departing string
	}{
		{"created has no remote unit", hooks.RelationCreated, "", ""},
		{"joined has one", hooks.RelationJoined, "mysql/0", ""},
		{"the application's changed has none", hooks.RelationChanged, "", ""},
		{"departed names who leaves", hooks.RelationDeparted, "mysql/0", "wordpress/0"},
		{"broken has no remote unit", hooks.RelationBroken, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			i := about
			i.Kind = c.kind
			if c.unit != "" {
				i.RemoteUnit = "mysql/0"
			}
			if c.departing != "" {
				i.Departing = "wordpress/0"
			}
			env := environ(t, i, place())
			departing, named := env["JUJU_DEPARTING_UNIT"]
			if named != (c.kind == hooks.RelationDeparted) || departing != c.departing {
				t.Errorf("JUJU_DEPARTING_UNIT is %q, there: %v", departing, named)
			}
			unit, there := env["JUJU_REMOTE_UNIT"]
			if !there || unit != c.unit || env["JUJU_RELATION"] != "db" || env["JUJU_RELATION_ID"] != "db:3" || env["JUJU_REMOTE_APP"] != "mysql" {
				t.Errorf("got %v", env)
			}
		})
	}
}

func TestEnvironOfStorageHooks(t *testing.T) {
	t.Parallel()
	env := environ(t, hooks.Info{Kind: hooks.StorageAttached, Storage: "data/0", StorageLocation: "/srv/data", StorageKind: "filesystem"}, place())
	for name, value := range map[string]string{
		"JUJU_STORAGE_ID": "data/0", "JUJU_STORAGE_LOCATION": "/srv/data", "JUJU_STORAGE_KIND": "filesystem",
		"JUJU_HOOK_NAME": "data-storage-attached", "JUJU_DISPATCH_PATH": "hooks/data-storage-attached",
	} {
		if env[name] != value {
			t.Errorf("%s=%q, want %q", name, env[name], value)
		}
	}
}
