package tools

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/tools/wire"
)

// session runs lines of a shell-like session, one tool each, in one context,
// and writes down what came of them: the output, and "exit N" where N isn't 0.
func session(c *hookcontext.Context, lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		reply := Run(c, wire.Request{Dir: "/", Args: words(line)})
		b.Write(reply.Stdout)
		b.Write(reply.Stderr)
		if reply.Code != 0 {
			fmt.Fprintf(&b, "exit %d\n", reply.Code)
		}
	}
	return b.String()
}

// words splits a line at blanks. Two quotes are an empty argument, and _ is a blank.
func words(line string) []string {
	args := strings.Fields(line)
	for i, a := range args {
		args[i] = strings.ReplaceAll(strings.ReplaceAll(a, "''", ""), "_", " ")
	}
	return args
}

func TestSessions(t *testing.T) {
	t.Parallel()
	broken := relationHook()
	broken.Kind, broken.RemoteUnit = hooks.RelationBroken, ""
	for _, c := range []struct {
		name  string
		hook  hooks.Info
		setUp func(*memory, *hookcontext.Params)
		lines []string
		want  string
	}{
		{
			name:  "a hook reads its own relation settings, and what it deleted is gone",
			hook:  relationHook(),
			lines: []string{"relation-set a=1 mine=", "relation-get - app/0", "relation-get a app/0"},
			want:  "a: \"1\"\n1\n",
		},
		{
			name:  "tools for actions are refused in a hook",
			lines: []string{"action-get", "action-set", "action-set a=1", "action-fail", "action-log x"},
			want:  strings.Repeat("ERROR not running an action\nexit 1\n", 1) + strings.Repeat("ERROR not running an action\nexit 1\n", 3),
		},
		{
			name:  "an action's results are named by dotted keys of small letters",
			setUp: func(_ *memory, p *hookcontext.Params) { p.Action = &hookcontext.Action{Name: "act"} },
			lines: []string{"action-set a.b=1 a.b-c=2 return-code=3", "action-set", "action-set A=1", "action-set a.-b=1", "action-set a..b=1",
				"action-set x.stdout=1", "action-set stderr-encoding=1", "action-set a"},
			want: "ERROR key \"A\" must start and end with lowercase alphanumeric, and contain only lowercase alphanumeric, hyphens and periods\nexit 2\n" +
				"ERROR key \"-b\" must start and end with lowercase alphanumeric, and contain only lowercase alphanumeric, hyphens and periods\nexit 2\n" +
				"ERROR key \"\" must start and end with lowercase alphanumeric, and contain only lowercase alphanumeric, hyphens and periods\nexit 2\n" +
				"ERROR cannot set reserved action key \"stdout\"\nexit 2\n" +
				"ERROR cannot set reserved action key \"stderr-encoding\"\nexit 2\n" +
				"ERROR argument \"a\" must be of the form key...=value\nexit 2\n",
		},
		{
			name: "an action's parameters are found by dotted keys",
			setUp: func(_ *memory, p *hookcontext.Params) {
				p.Action = &hookcontext.Action{Name: "act", Params: map[string]any{"a": map[string]any{"b": "x", "n": int64(3)}, "t": true}}
			},
			lines: []string{"action-get a.b", "action-get a", "action-get t", "action-get a.b.c", "action-get --format=json", "action-log a b", "action-fail -- -m"},
			want:  "x\nb: x\n\"n\": 3\nTrue\n{\"a\":{\"b\":\"x\",\"n\":3},\"t\":true}\n",
		},
		{
			name:  "the flags' last occurrence wins",
			lines: []string{"config-get --format=json --format=smart debug"},
			want:  "True\n",
		},
		{
			name: "unitd-requeue takes how long to wait, and why",
			lines: []string{"unitd-requeue", "unitd-requeue --after 5m not-ready", "unitd-requeue --after 500ms", "unitd-requeue --after 31d",
				"unitd-requeue --after 30d", "unitd-requeue --after 1d12h", "unitd-requeue --after soon", "unitd-requeue --after xd", "unitd-requeue --after -1d", "unitd-requeue a b"},
			want: "ERROR invalid value \"500ms\" for option --after: it must be between 1s and 30d\nexit 2\n" +
				"ERROR invalid value \"31d\" for option --after: it must be between 1s and 30d\nexit 2\n" +
				"ERROR invalid value \"soon\" for option --after: expected it as 30s, 5m, 2h or 7d\nexit 2\n" +
				"ERROR invalid value \"xd\" for option --after: expected it as 30s, 5m, 2h or 7d\nexit 2\n" +
				"ERROR invalid value \"-1d\" for option --after: expected it as 30s, 5m, 2h or 7d\nexit 2\nERROR unrecognized args: [\"b\"]\nexit 2\n",
		},
		{
			name:  "help right of an error isn't given, and after two hyphens it is an argument",
			lines: []string{"config-get --bogus --help", "config-get -- --help"},
			want:  "ERROR option provided but not defined: --bogus\nexit 2\n",
		},
		{
			name:  "a bad boolean and an empty option",
			lines: []string{"config-get --all=maybe", "config-get --=x", "config-get --format=xml"},
			want: "ERROR invalid value \"maybe\" for option --all: strconv.ParseBool: parsing \"maybe\": invalid syntax\nexit 2\n" +
				"ERROR empty option in argument \"--=x\"\nexit 2\n" +
				"ERROR invalid value \"xml\" for option --format: unknown format \"xml\"\nexit 2\n",
		},
		{
			name:  "any text before a relation's number is ignored",
			lines: []string{"relation-list -r wrong:3", "relation-list --relation=a:b:3"},
			want:  "pg/0\npg/1\npg/0\npg/1\n",
		},
		{
			name: "in relation-broken, relation-get means the remote application",
			hook: broken,
			setUp: func(m *memory, _ *hookcontext.Params) {
				m.settings["pg"] = model.Settings{"app": "wide"}
			},
			lines: []string{"relation-get", "relation-get app"},
			want:  "app: wide\nwide\n",
		},
		{
			name:  "units and applications of no part in the relation are refused",
			lines: []string{"relation-get -r 3 - my/0", "relation-get -r 3 --app - my", "relation-get -r 3 --app - My", "relation-get -r 3 - pg/7"},
			want:  strings.Repeat("ERROR permission denied\nexit 1\n", 4),
		},
		{
			name:  "a non-leader can neither read nor write its application's settings",
			setUp: func(m *memory, _ *hookcontext.Params) { m.notLeader = true },
			lines: []string{"relation-get -r 3 --app - app", "relation-set -r 3 --app a=b", "relation-set -r 3 --app", "is-leader"},
			want:  "ERROR permission denied\nexit 1\nERROR cannot write relation settings\nexit 1\nFalse\n",
		},
		{
			name: "a non-leader can read its application's settings in a peer relation",
			setUp: func(m *memory, p *hookcontext.Params) {
				m.notLeader = true
				m.settings["app"] = model.Settings{"k": "v"}
				p.Relations = append(p.Relations, hookcontext.Relation{ID: 4, Endpoint: "peers", Peer: true, RemoteApp: "app"})
			},
			lines: []string{"relation-get -r 4 --app - app"},
			want:  "k: v\n",
		},
		{
			name: "relations are listed as text, without the broken ones",
			setUp: func(_ *memory, p *hookcontext.Params) {
				p.Relations = append(p.Relations,
					hookcontext.Relation{ID: 10, Endpoint: "db"}, hookcontext.Relation{ID: 9, Endpoint: "db"},
					hookcontext.Relation{ID: 5, Endpoint: "db", Broken: true})
				p.Relations[0].Members = model.Members{{Unit: "pg/2", Version: 1}, {Unit: "pg/10", Version: 1}}
			},
			lines: []string{"relation-ids db", "relation-ids ''", "relation-list -r 3"},
			want:  "db:10\ndb:3\ndb:9\npg/10\npg/2\n",
		},
		{
			name: "leadership that can't be told",
			setUp: func(m *memory, _ *hookcontext.Params) {
				m.leaderAnswers = []error{errors.New("no quorum"), errors.New("no quorum")}
			},
			lines: []string{"is-leader", "relation-set -r 3 --app a=b", "is-leader"},
			want: "ERROR leadership status unknown: no quorum\nexit 1\n" +
				"ERROR cannot determine leadership status: no quorum\nexit 1\nTrue\n",
		},
		{
			name:  "leader settings are read as they were written",
			lines: []string{"leader-set a=1 k=", "leader-get", "leader-get -", "leader-get a"},
			want:  "a: \"1\"\na: \"1\"\n1\n",
		},
		{
			name:  "a non-leader can't write leader settings",
			setUp: func(m *memory, _ *hookcontext.Params) { m.notLeader = true },
			lines: []string{"leader-set a=1", "leader-get"},
			want:  "ERROR cannot write leadership settings: cannot write settings: not the leader\nexit 1\nk: v\n",
		},
		{
			name:  "a non-leader has nothing to do with the application's status",
			setUp: func(m *memory, _ *hookcontext.Params) { m.notLeader = true },
			lines: []string{"status-set --application active", "status-get --application"},
			want: "ERROR this unit is not the leader\nexit 1\n" +
				"ERROR finding application status: this unit is not the leader\nexit 1\n",
		},
		{
			name:  "status-set doesn't show in the same hook",
			lines: []string{"status-set blocked no_disk", "status-get --include-data", "status-get --application", "status-set"},
			want: "message: ready\nstatus: active\nstatus-data: {}\nactive\n" +
				"ERROR invalid args, require <status> [message]\nexit 2\n",
		},
		{
			name: "state is written, read and deleted",
			lines: []string{
				"state-set a=1 b= one=2", "state-get", "state-delete a", "state-get a --strict", "state-get b --format=json",
				"state-get - --format=json",
			},
			want: "a: \"1\"\nb: \"\"\nempty: \"\"\none: \"2\"\nERROR \"a\" not found\nexit 1\n\"\"\n{\"b\":\"\",\"empty\":\"\",\"one\":\"2\"}\n",
		},
		{
			name:  "state has limits, and empty state is an empty map",
			setUp: func(m *memory, _ *hookcontext.Params) { m.state = nil },
			lines: []string{"state-set " + strings.Repeat("k", 257) + "=v", "state-set k=" + strings.Repeat("v", 65537), "state-get --format=json"},
			want: "ERROR max allowed key length (256) exceeded\nexit 1\n" +
				"ERROR max allowed value length (65536) exceeded\nexit 1\n{}\n",
		},
		{
			name: "ports of the machine's other units are in the way, and so are overlapping ones of the own",
			setUp: func(m *memory, _ *hookcontext.Params) {
				m.ports = map[model.UnitName]model.Ports{
					"b/0":   {"": {{From: 85, To: 85, Protocol: "tcp"}}},
					"app/0": {"": {{From: 10, To: 20, Protocol: "tcp"}}},
				}
			},
			lines: []string{
				"open-port 80-90", "open-port 85/udp", "open-port 15", "open-port 30-40", "open-port 35-45", "open-port 10-20",
				"close-port 10-20", "open-port 15", "opened-ports",
			},
			want: `ERROR cannot open 80-90/tcp (unit "app/0"): port range conflicts with 85/tcp (unit "b/0")` + "\nexit 1\n" +
				`ERROR cannot open 15/tcp (unit "app/0"): port range conflicts with 10-20/tcp (unit "app/0")` + "\nexit 1\n" +
				`ERROR cannot open 35-45/tcp (unit "app/0"): port range conflicts with 30-40/tcp (unit "app/0") requested earlier` + "\nexit 1\n" +
				"15/tcp\n30-40/tcp\n85/udp\n",
		},
		{
			name: "ports are open for some endpoints or for all",
			setUp: func(_ *memory, p *hookcontext.Params) {
				p.Charm.Endpoints["web"] = model.CharmRel{}
				p.Charm.Bindings = []string{"admin"}
			},
			lines: []string{
				"open-port 80 --endpoints db,_web", "opened-ports --endpoints", "open-port 80", "opened-ports --endpoints",
				"close-port 80 --endpoints web,admin", "opened-ports --endpoints", "close-port 80", "opened-ports",
				"close-port 80 --endpoints nosuch", "open-port abc", "open-port 80/icmp",
			},
			want: "80/tcp (db, web)\n80/tcp (*)\n80/tcp (db, juju-info)\nERROR endpoint \"nosuch\" not found\nexit 1\n" +
				"ERROR invalid port \"abc\": strconv.Atoi: parsing \"abc\": invalid syntax\nexit 2\n" +
				"ERROR protocol \"icmp\" doesn't support any ports; got \"80\"\nexit 2\n",
		},
		{
			name: "network-get without a network, without addresses, and without arguments",
			setUp: func(m *memory, _ *hookcontext.Params) {
				m.networks["db"] = hookcontext.Network{Interfaces: []hookcontext.Interface{{Name: "eth0"}}}
			},
			lines: []string{"network-get nosuch", "network-get db --bind-address", "network-get", "network-get db --format=json"},
			want: "ERROR no network config found for binding \"nosuch\"\nexit 1\n" +
				"ERROR no addresses attached to space for binding \"db\"\nexit 1\nERROR no arguments specified\nexit 2\n" +
				`{"bind-addresses":[{"mac-address":"","interface-name":"eth0","addresses":[]}]}` + "\n",
		},
		{
			name:  "addresses of the unit",
			setUp: func(m *memory, _ *hookcontext.Params) { m.public = "" },
			lines: []string{"unit-get private-address", "unit-get public-address", "unit-get"},
			want:  "10.0.0.5\nERROR public address not found\nexit 1\nERROR no setting specified\nexit 2\n",
		},
		{
			name: "a unit without an address, as one with containers may be",
			setUp: func(m *memory, _ *hookcontext.Params) {
				m.networks[""] = hookcontext.Network{Interfaces: []hookcontext.Interface{{}}}
			},
			lines: []string{"unit-get private-address"},
			want:  "ERROR private address not found\nexit 1\n",
		},
		{
			name: "a host name goes before its address",
			setUp: func(m *memory, _ *hookcontext.Params) {
				m.networks[""].Interfaces[0].Addresses[0].Hostname = "unit.example"
			},
			lines: []string{"unit-get private-address"},
			want:  "unit.example\n",
		},
		{
			name:  "metrics are refused, and before that what is wrong with them",
			lines: []string{"add-metric a=1", "add-metric a=", "add-metric a=1 --labels x", "add-metric juju-units=1"},
			want: "ERROR cannot record metric: metrics not allowed in this context\nexit 1\n" +
				"ERROR invalid metrics: expected \"key=value\", got \"a=\"\nexit 2\n" +
				"ERROR invalid labels: expected \"key=value\", got \"x\"\nexit 2\n" +
				"ERROR juju-units uses a reserved prefix\nexit 1\n",
		},
		{
			name:  "specs for containers are refused on a machine",
			lines: []string{"k8s-spec-get", "pod-spec-get", "k8s-raw-get", "pod-spec-set --file /nosuch"},
			want: "ERROR k8s spec not found: the unit is on a machine, not in a container\nexit 1\n" +
				"ERROR k8s spec not found: the unit is on a machine, not in a container\nexit 1\n" +
				"ERROR k8s raw spec not found: the unit is on a machine, not in a container\nexit 1\n" +
				"ERROR open /nosuch: no such file or directory\nexit 1\n",
		},
		{
			name:  "credential-get is for the trusted",
			setUp: func(m *memory, _ *hookcontext.Params) { m.noSecrets = true },
			lines: []string{"credential-get"},
			want:  "ERROR cannot access cloud credentials: permission denied\nexit 1\n",
		},
		{
			name:  "resource-get prints a path without a newline, and says what it can't get",
			lines: []string{"resource-get foo", "resource-get nosuch", "resource-get", "resource-get foo bar"},
			want: "/var/lib/juju/agents/unit-app-0/resources/foo/f.tgzERROR could not download resource: resource \"nosuch\" not found\nexit 1\n" +
				"ERROR missing required resource name\nexit 2\nERROR unrecognized args: [\"bar\"]\nexit 2\n",
		},
		{
			name:  "a file without keys is no content of a secret",
			lines: []string{"secret-add --file /dev/null", "secret-set 9m4e2mr0ui3e8a215n4g --file /dev/null --label it"},
			want:  "ERROR missing secret value or filename\nexit 2\n",
		},
		{
			name: "a grant names its relation by its key",
			setUp: func(_ *memory, p *hookcontext.Params) {
				p.Relations = append(p.Relations, hookcontext.Relation{ID: 5, Endpoint: "db", RemoteApp: "pg", Key: "app:db pg:server"})
			},
			lines: []string{"secret-grant 9m4e2mr0ui3e8a215n4g -r 5", `secret-info-get 9m4e2mr0ui3e8a215n4g --format=json`},
			want: `{"9m4e2mr0ui3e8a215n4g":{"revision":2,"label":"lbl","owner":"application","rotation":"daily",` +
				`"access":[{"target":"application-pg","scope":"relation-app.db#pg.server","role":"view"}]}}` + "\n",
		},
		{
			name: "a secret of another model isn't found, and one of this model's by its URI is",
			lines: []string{
				"secret-get secret://deadbeef-1bad-500d-9000-4b1d0d06f00d/9m4e2mr0ui3e8a215n4g", "secret-info-get secret://other/9m4e2mr0ui3e8a215n4g",
				"secret-set secret://other/9m4e2mr0ui3e8a215n4g token=a", "secret-remove secret://other/9m4e2mr0ui3e8a215n4g",
				"secret-grant secret://other/9m4e2mr0ui3e8a215n4g -r 3", "secret-revoke secret://other/9m4e2mr0ui3e8a215n4g -r 3",
				"secret-get secret://5c35d46b-5c2c-4dc8-85ff-48c7a0f1c0d1/9m4e2mr0ui3e8a215n4g num", "secret-get secret:///9m4e2mr0ui3e8a215n4g num",
			},
			want: "ERROR secret \"secret://deadbeef-1bad-500d-9000-4b1d0d06f00d/9m4e2mr0ui3e8a215n4g\" not found\nexit 1\n" +
				strings.Repeat("ERROR secret \"secret://other/9m4e2mr0ui3e8a215n4g\" not found\nexit 1\n", 5) + strings.Repeat("\"123\"\n", 2),
		},
		{
			name:  "goal-state in JSON",
			lines: []string{"goal-state --format=json"},
			want: `{"units":{"app/0":{"status":"active","since":"2024-05-06 07:08:09Z"}},` +
				`"relations":{"db":{"pg":{"status":"joined","since":"2024-05-06 07:08:09Z"}}}}` + "\n",
		},
		{
			name:  "goal-state of nothing has both of its maps",
			setUp: func(m *memory, _ *hookcontext.Params) { m.goals = hookcontext.GoalState{} },
			lines: []string{"goal-state --format=json", "goal-state"},
			want:  "{\"units\":{},\"relations\":{}}\nunits: {}\nrelations: {}\n",
		},
		{
			name: "the model of a relation with another model",
			setUp: func(_ *memory, p *hookcontext.Params) {
				p.Relations = append(p.Relations, hookcontext.Relation{ID: 5, Endpoint: "db", RemoteModel: "9a1e5cf0-0d2f-4f0b-8a3e-1d6a0a7d3c11"})
			},
			lines: []string{"relation-model-get -r 5"},
			want:  "uuid: 9a1e5cf0-0d2f-4f0b-8a3e-1d6a0a7d3c11\n",
		},
		{
			name:  "the model of a relation",
			hook:  relationHook(),
			lines: []string{"relation-model-get", "relation-model-get --format=json", "relation-model-get -r 99"},
			want: "uuid: 5c35d46b-5c2c-4dc8-85ff-48c7a0f1c0d1\n{\"uuid\":\"5c35d46b-5c2c-4dc8-85ff-48c7a0f1c0d1\"}\n" +
				"ERROR invalid value \"99\" for option -r: relation not found\nexit 2\n",
		},
		{
			name:  "a reboot isn't for actions",
			setUp: func(_ *memory, p *hookcontext.Params) { p.NoReboot = hookcontext.NoRebootInAction },
			lines: []string{"juju-reboot --now"},
			want:  "ERROR juju-reboot is not supported when running an action.\nexit 1\n",
		},
		{
			name:  "no command",
			lines: []string{"''", "nosuch --help"},
			want:  "ERROR bad request: command not specified\nexit 1\nERROR bad request: unknown command: nosuch\nexit 1\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.hook.Kind == "" {
				c.hook = plainHook()
			}
			view := newMemory()
			p := paramsOf(view, c.hook)
			if c.setUp != nil {
				c.setUp(view, &p)
			}
			mustBe(t, "session", session(hookcontext.New(p), c.lines...), c.want)
		})
	}
}

func TestWhatIsImmediateIsDoneAtOnce(t *testing.T) {
	t.Parallel()
	view := newMemory()
	c := hookOf(view, relationHook())
	mustBe(t, "session", session(c,
		"status-set waiting for_it", "status-set --application=True active",
		"juju-log hello world", "juju-log -l warn --debug x", "juju-log -l nope y", "juju-log --log-level critical z",
	), "")
	mustBe(t, "unit status", fmt.Sprint(view.unitStatuses), fmt.Sprint([]model.Status{{Status: "waiting", Message: "for it"}}))
	mustBe(t, "application status", fmt.Sprint(view.appStatuses), fmt.Sprint([]model.Status{{Status: "active"}}))
	mustBe(t, "log", strings.Join(view.log, "\n"), "INFO db:3: hello world\nDEBUG db:3: x\n"+
		"WARNING db:3: log level of message unknown; got: nope\nINFO db:3: y\nCRITICAL db:3: z")
	if changes := c.Changes(); !reflect.DeepEqual(changes, model.Changes{}) {
		t.Errorf("there is something left to commit: %+v", changes)
	}
}

func TestWhatIsBufferedIsInTheChanges(t *testing.T) {
	t.Parallel()
	c := hookOf(newMemory(), plainHook())
	mustBe(t, "session", session(c,
		"relation-set -r 3 a=1", "relation-set -r db:3 --app b=2", "state-set s=3", "state-delete one", "leader-set l=4",
		"open-port 80", "application-version-set v5", "juju-reboot",
	), "")
	got := c.Changes()
	mustBe(t, "relations", fmt.Sprint(got.Relations), "map[3:{map[a:1] map[b:2]}]")
	mustBe(t, "state", *got.State["s"], "3")
	if v, ok := got.State["one"]; !ok || v != nil {
		t.Errorf("state-delete left no trace: %v", got.State)
	}
	mustBe(t, "leader settings", fmt.Sprint(got.LeaderSettings), "map[l:4]")
	mustBe(t, "ports", fmt.Sprint(got.Ports), "[{ 80/tcp false}]")
	mustBe(t, "version", *got.WorkloadVersion, "v5")
	mustBe(t, "reboot", got.Reboot, model.RebootAfter)
}

func TestAToolThatWantsStdinHasDoneNothingBefore(t *testing.T) {
	t.Parallel()
	c := hookOf(newMemory(), relationHook())
	req := wire.Request{Dir: "/", Args: []string{"relation-set", "--file", "-", "a=over"}}
	mustBe(t, "code", Run(c, req).Code, wire.NeedStdin)
	if changes := c.Changes(); !reflect.DeepEqual(changes, model.Changes{}) {
		t.Errorf("changes: %+v", changes)
	}
	req.StdinSet, req.Stdin = true, []byte("a: 1\nb: 2")
	mustBe(t, "code", Run(c, req).Code, 0)
	mustBe(t, "changes", fmt.Sprint(c.Changes().Relations), "map[3:{map[a:over b:2] map[]}]")
}
