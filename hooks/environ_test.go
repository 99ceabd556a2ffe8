package hooks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// everyRun is what each run finds in its environment, where HOOK is its hook's
// name. Source: docs/spec/uniter-behaviour.md §2, docs/spec/hook-tools.md §9.
const everyRun = `APT_LISTCHANGES_FRONTEND=none
CHARM_DIR=/charm
CLOUD_API_VERSION=
DEBIAN_FRONTEND=noninteractive
JUJU_AGENT_SOCKET=/socket
JUJU_AGENT_SOCKET_ADDRESS=/socket
JUJU_AGENT_SOCKET_NETWORK=unix
JUJU_API_ADDRESSES=a:1 b:2
JUJU_AVAILABILITY_ZONE=zone-1
JUJU_CHARM_DIR=/charm
JUJU_CHARM_FTP_PROXY=
JUJU_CHARM_HTTPS_PROXY=
JUJU_CHARM_HTTP_PROXY=http://p
JUJU_CHARM_NO_PROXY=localhost
JUJU_CONTEXT_ID=id
JUJU_HOOK_NAME=HOOK
JUJU_MACHINE_ID=0
JUJU_MODEL_NAME=shop
JUJU_MODEL_UUID=uuid
JUJU_PRINCIPAL_UNIT=
JUJU_SLA=unsupported
JUJU_UNIT_NAME=wordpress/0
JUJU_VERSION=3.6.12
LANG=C.UTF-8
PATH=/tools:/bin
TERM=tmux-256color
UNITD_RUN_NUMBER=7`

const (
	inRelation = "JUJU_RELATION=db\nJUJU_RELATION_ID=db:3\nJUJU_REMOTE_APP=mysql\nJUJU_REMOTE_UNIT="
	withUnit   = inRelation + "mysql/0"
	ofSecret   = "JUJU_SECRET_ID=secret:9m4e2mr0ui3e8a215n4g\nJUJU_SECRET_LABEL=lbl"
	ofStorage  = "JUJU_STORAGE_ID=data/0\nJUJU_STORAGE_KIND=filesystem\nJUJU_STORAGE_LOCATION=/srv/data"
	ofWorkload = "JUJU_WORKLOAD_NAME=web"
	leaves     = "\nUNITD_DEPARTURE=unit-removed"
)

// environments are all that runs find besides, by what they are.
var environments = []struct {
	name  string
	info  hooks.Info
	extra string
}{
	{"install", hooks.Info{Kind: hooks.Install}, ""},
	{"start", hooks.Info{Kind: hooks.Start, Cause: "first config-changed has run"}, "UNITD_CAUSE=first config-changed has run"},
	{"stop", hooks.Info{Kind: hooks.Stop}, leaves},
	{"remove", hooks.Info{Kind: hooks.Remove}, leaves},
	{"config-changed", hooks.Info{Kind: hooks.ConfigChanged}, ""},
	{"upgrade-charm", hooks.Info{Kind: hooks.UpgradeCharm}, ""},
	{"update-status", hooks.Info{Kind: hooks.UpdateStatus}, ""},
	{"leader-elected", hooks.Info{Kind: hooks.LeaderElected}, ""},
	{"leader-settings-changed", hooks.Info{Kind: hooks.LeaderSettingsChanged}, ""},
	{"db-relation-created", related(hooks.RelationCreated, ""), inRelation},
	{"db-relation-joined", related(hooks.RelationJoined, "mysql/0"), withUnit},
	{"db-relation-changed", related(hooks.RelationChanged, "mysql/0"), withUnit},
	{"db-relation-changed", related(hooks.RelationChanged, ""), inRelation},
	{"db-relation-departed", departed("mysql/0"), withUnit + "\nJUJU_DEPARTING_UNIT=mysql/0" + leaves},
	{"db-relation-departed", departed("wordpress/0"), withUnit + "\nJUJU_DEPARTING_UNIT=wordpress/0" + leaves},
	{"db-relation-broken", related(hooks.RelationBroken, ""), inRelation + leaves},
	{"secret-changed", secret(hooks.SecretChanged, 0), ofSecret},
	{"secret-rotate", secret(hooks.SecretRotate, 0), ofSecret},
	{"secret-expired", secret(hooks.SecretExpired, 2), ofSecret + "\nJUJU_SECRET_REVISION=2"},
	{"secret-remove", secret(hooks.SecretRemove, 1), ofSecret + "\nJUJU_SECRET_REVISION=1"},
	{"data-storage-attached", stored(hooks.StorageAttached), ofStorage},
	{"web-pebble-ready", ready, ofWorkload},
	{"web-pebble-custom-notice", notice, ofWorkload + "\nJUJU_NOTICE_ID=7\nJUJU_NOTICE_KEY=example.com/backup\nJUJU_NOTICE_TYPE=custom"},
	{"web-pebble-check-failed", check(hooks.PebbleCheckFailed), ofWorkload + "\nJUJU_PEBBLE_CHECK_NAME=up"},
	{"web-pebble-check-recovered", check(hooks.PebbleCheckRecovered), ofWorkload + "\nJUJU_PEBBLE_CHECK_NAME=up"},
	{"data-storage-detaching", stored(hooks.StorageDetaching), ofStorage + leaves},
	{"", hooks.Info{Kind: hooks.Action, Action: "backup", Task: "7"},
		"JUJU_ACTION_NAME=backup\nJUJU_ACTION_TAG=action-7\nJUJU_ACTION_UUID=7\nJUJU_DISPATCH_PATH=actions/backup"},
	{"", hooks.Info{Kind: hooks.Exec, Task: "7"}, ""},
	{"", hooks.Info{Kind: hooks.Exec, Task: "7", Endpoint: "db", RelationID: 3, RemoteApp: "mysql", RemoteUnit: "mysql/0"}, withUnit},
}

func related(k hooks.Kind, unit model.UnitName) hooks.Info {
	return hooks.Info{Kind: k, Endpoint: "db", RelationID: 3, RemoteApp: "mysql", RemoteUnit: unit}
}

func departed(who model.UnitName) hooks.Info {
	h := related(hooks.RelationDeparted, "mysql/0")
	h.Departing = who
	return h
}

func secret(k hooks.Kind, revision int) hooks.Info {
	return hooks.Info{Kind: k, Secret: "9m4e2mr0ui3e8a215n4g", SecretLabel: "lbl", SecretRevision: revision}
}

func stored(k hooks.Kind) hooks.Info {
	return hooks.Info{Kind: k, Storage: "data/0", StorageLocation: "/srv/data", StorageKind: "filesystem"}
}

// place is where those runs are: on Ubuntu, with a proxy.
func place() hooks.Place {
	return hooks.Place{
		Unit: "wordpress/0", ModelName: "shop", ModelUUID: "uuid", MachineID: "0", CharmDir: "/charm", ToolsDir: "/tools",
		Socket: "/socket", ContextID: "id", APIAddresses: []string{"a:1", "b:2"}, Proxy: hooks.Proxy{HTTP: "http://p", No: "localhost"},
		Path: "/bin", Debian: true, Ubuntu: true, AvailabilityZone: "zone-1", Run: 7, Departure: model.UnitRemoved,
	}
}

// TestTheWholeEnvironmentOfEachKindOfRun has no name that isn't in the table,
// and each of them once.
func TestTheWholeEnvironmentOfEachKindOfRun(t *testing.T) {
	t.Parallel()
	seen := map[hooks.Kind]bool{hooks.Action: true, hooks.Exec: true}
	for _, row := range environments {
		seen[row.info.Kind] = true
		if err := row.info.Validate(); err != nil {
			t.Errorf("%s: %v", row.info, err)
		}
		want := strings.Split(strings.Replace(everyRun, "=HOOK", "="+row.name, 1), "\n")
		if row.name != "" {
			want = append(want, "JUJU_DISPATCH_PATH=hooks/"+row.name)
		}
		mustHave(t, row.info.String(), hooks.Environ(row.info, place()), append(want, strings.Fields(strings.ReplaceAll(row.extra, " ", "_"))...))
	}
	for _, kind := range hooks.Kinds() {
		if !seen[kind.Kind] {
			t.Errorf("the table hasn't %s", kind.Kind)
		}
	}
}

// mustHave compares environments, whatever their order; blanks in what is wanted
// may be written as "_".
func mustHave(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	for i, v := range got {
		if strings.HasPrefix(v, "UNITD_CAUSE=") {
			got[i] = strings.ReplaceAll(v, " ", "_")
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s has\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// TestTheEnvironmentOfOtherPlaces differs from the table's in these names.
func TestTheEnvironmentOfOtherPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*hooks.Place)
		gone   string // names
		here   []string
	}{
		{"Debian isn't Ubuntu", func(p *hooks.Place) { p.Ubuntu = false }, "TERM", []string{"TERM=screen"}},
		{"another Linux has no apt", func(p *hooks.Place) { p.Ubuntu, p.Debian = false, false }, "TERM DEBIAN_FRONTEND APT_LISTCHANGES_FRONTEND", []string{"TERM=screen"}},
		{"a subordinate has its principal", func(p *hooks.Place) { p.Principal = "nginx/1" }, "JUJU_PRINCIPAL_UNIT", []string{"JUJU_PRINCIPAL_UNIT=nginx/1"}},
		{"no proxy is empty", func(p *hooks.Place) { p.Proxy = hooks.Proxy{} }, "JUJU_CHARM_HTTP_PROXY JUJU_CHARM_NO_PROXY",
			[]string{"JUJU_CHARM_HTTP_PROXY=", "JUJU_CHARM_NO_PROXY="}},
		{"a proxy for any program", func(p *hooks.Place) { p.LegacyProxy = hooks.Proxy{HTTPS: "http://q", No: "::1"} }, "",
			[]string{"https_proxy=http://q", "HTTPS_PROXY=http://q", "no_proxy=::1", "NO_PROXY=::1"}},
		{"no number", func(p *hooks.Place) { p.Run = 0 }, "UNITD_RUN_NUMBER", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := place()
			want := slices.DeleteFunc(hooks.Environ(hooks.Info{Kind: hooks.Install}, p), func(v string) bool {
				name, _, _ := strings.Cut(v, "=")
				return slices.Contains(strings.Fields(c.gone), name)
			})
			c.change(&p)
			mustHave(t, "the environment", hooks.Environ(hooks.Info{Kind: hooks.Install}, p), append(want, c.here...))
		})
	}
}
