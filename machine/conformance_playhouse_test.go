package machine_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/juju/clock"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/sealed"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/statetest"
)

// playhouse is a world with the data of docs/spec/hook-tools.md §10, whose hooks can be
// held while somebody else calls tools in their place.
type playhouse struct {
	*world
	client   string
	gate     string // the directory by which hooks are held
	cwd      string
	secret   model.SecretID
	location string
}

// theDay is when all of it happens.
var theDay = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

// frozen is a clock that stands still, though its timers go.
type frozen struct{ clock.Clock }

func (frozen) Now() time.Time { return theDay }

// NewAlarm rings when as much time has really passed.
func (f frozen) NewAlarm(at time.Time) clock.Alarm {
	return f.Clock.NewAlarm(f.Clock.Now().Add(at.Sub(theDay)))
}

const stageMetadata = `name: app
summary: s
requires:
  db: {interface: pgsql}
  a: {interface: http}
  b: {interface: http}
storage:
  data: {type: filesystem, multiple: {range: 1-3}}
resources:
  foo: {type: file, filename: f.tgz}
`

const stageConfig = `options:
  title: {type: string, default: Another Title}
  port: {type: int, default: 8080}
  ratio: {type: float, default: 1.5}
  debug: {type: boolean, default: true}
  off: {type: boolean, default: false}
  blank: {type: string, default: ""}
  unset: {type: string}
  big: {type: int, default: 12345678901}
  flt: {type: float, default: 1000000.0}
  num-str: {type: string, default: "123"}
  yaml-ish: {type: string, default: "yes"}
  multi: {type: string, default: "line1\nline2\n"}
  html: {type: string, default: "<a&b>"}
  intf: {type: float, default: 3.0}
`

// stageDispatch writes what is there before the recordings begin, and holds
// what it is asked to hold. The recordings know of no addresses in the databag,
// which config-changed brings.
const stageDispatch = `
name=${JUJU_HOOK_NAME:-$JUJU_ACTION_NAME}
case $JUJU_UNIT_NAME/$name in
app/0/leader-elected)
	leader-set k=v
	state-set one=1 empty=
	secret-add --rotate daily --label lbl token=old num=123 >secret
	status-set --application active 'app ok'
	;;
app/0/config-changed)
	[ -e started ] || secret-set "$(cat secret)" token=s3cret num=123
	;;
app/0/start) : >started;;
esac
if [ -e "GATE/hold-$name" ]; then
	rm "GATE/hold-$name"
	case $JUJU_UNIT_NAME in app/*) relation-set -r 3 ingress-address= private-address= egress-subnets= ;; esac
	env >"GATE/env-$name"
	if [ -n "${JUJU_ACTION_NAME:-}" ]; then action-log held; else status-set waiting "held $name"; fi
	read -r _ <"GATE/go-$name"
fi
`

func newPlayhouse(t *testing.T, client string) *playhouse {
	t.Helper()
	w := newWorldWith(t, func(c *machine.Config) {
		c.Clock, c.Client = frozen{clock.WallClock}, client
		c.Host.Addresses = []string{"1.2.3.4"}
		c.Host.Network = hookcontext.Network{
			Interfaces: []hookcontext.Interface{{
				Name: "eth0", MAC: "00:11:22:33:44:55", Addresses: []hookcontext.Address{{Value: "10.0.0.5", CIDR: "10.0.0.0/24"}},
			}},
			Ingress: []string{"10.0.0.5"}, Egress: []string{"10.0.0.5/32"},
		}
	})
	w.stop() // the relation's settings are there before any agent is
	keys, err := sealed.Generate()
	if err != nil {
		t.Fatal(err)
	}
	w.controller = state.NewController(w.controller.Store(), frozen{clock.WallClock}).WithSealer(statetest.Sealer(keys))
	m, err := w.controller.Model(w.ctx, "test")
	if err != nil {
		t.Fatal(err)
	}
	w.model = m
	s := &playhouse{world: w, client: client, gate: t.TempDir(), cwd: t.TempDir()}
	s.populate()
	w.restart()
	w.settle()
	s.learn()
	return s
}

// populate makes the applications and the relation db:3.
func (s *playhouse) populate() {
	s.t.Helper()
	dispatch := "#!/bin/sh\nset -eu\n" + strings.ReplaceAll(stageDispatch, "GATE", s.gate)
	app := s.addFiles(map[string]string{
		"metadata.yaml": stageMetadata, "config.yaml": stageConfig, "dispatch": dispatch,
		"actions.yaml": "act:\n  params:\n    outfile: {type: object}\n",
	})
	empty := s.addFiles(map[string]string{
		"metadata.yaml": "name: empty\nsummary: s\nrequires: {db: {interface: pgsql}}\n", "actions.yaml": "nothing: {}\n", "dispatch": dispatch,
	})
	pg := s.charm("name: pg\nsummary: s\nprovides: {server: {interface: pgsql}}\n", `
[ "$JUJU_HOOK_NAME" != start ] || relation-set -r 3 ingress-address= private-address= egress-subnets=
`)
	content := []byte("resource\n")
	sum := sha256.Sum256(content)
	file, err := s.model.StoreFile(s.ctx, hex.EncodeToString(sum[:]), bytes.NewReader(content))
	s.must(err)
	for _, d := range []state.DeployArgs{
		{Application: "app", Charm: app, Units: 1, Trust: true, Resources: map[string]state.Content{"foo": {File: file}}},
		{Application: "empty", Charm: empty, Units: 1},
		{Application: "pg", Charm: pg, Units: 2},
		{Application: "other", Charm: pg, Units: 0},
	} {
		s.must(s.model.Deploy(s.ctx, d))
	}
	// Relations are numbered in the order in which they are made.
	var id model.RelationID
	for id != 3 {
		r, err := s.model.AddRelation(s.ctx, "app:db", "other:server")
		s.must(err)
		s.must(s.model.DestroyRelationID(s.ctx, r.ID))
		if id = r.ID + 1; id > 3 {
			s.t.Fatalf("relation %d is beyond that of the recordings", id)
		}
	}
	r, err := s.model.AddRelation(s.ctx, "app:db", "pg:server")
	s.must(err)
	remote := model.Settings{"host": "10.0.0.1", "port": "5432", "multi": "a\nb\n", "yes": "yes", "empty": "", "html": "<a&b>"}
	for unit, settings := range map[model.UnitName]model.Settings{"pg/0": remote, "pg/1": remote, "app/0": {"mine": "x"}} {
		s.must(s.model.EnterScope(s.ctx, unit, r.ID, settings))
	}
}

func (s *playhouse) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// addFiles adds a charm of those files.
func (s *playhouse) addFiles(files map[string]string) string {
	s.t.Helper()
	dir := s.t.TempDir()
	for name, body := range files {
		s.must(os.WriteFile(filepath.Join(dir, name), []byte(body), 0o755))
	}
	return s.add(dir)
}

// learn finds out what chance and this test's directory have made of the data.
func (s *playhouse) learn() {
	s.t.Helper()
	secrets, err := s.model.OwnedSecrets(s.ctx, "app/0")
	s.must(err)
	storage, err := s.model.StorageOf(s.ctx, "app/0")
	s.must(err)
	if len(secrets) != 1 || len(storage) != 1 {
		s.t.Fatalf("%d secrets and %d storages are there; %v", len(secrets), len(storage), s.hooks("app/0"))
	}
	s.secret, s.location = secrets[0].ID, storage[0].Attachment.Location
}

func (s *playhouse) setStatus(message string) {
	s.t.Helper()
	s.must(s.model.SetCharmStatus(s.ctx, "app/0", model.Status{Status: "active", Message: message}))
}

// hold has that hook or action begin, and stand still. It returns the
// environment that it has, and what lets it go to its end.
func (s *playhouse) hold(name string) (env []string, release func()) {
	s.t.Helper()
	gate := func(what string) string { return filepath.Join(s.gate, what+"-"+name) }
	s.must(os.WriteFile(gate("hold"), nil, 0o600))
	s.must(syscall.Mkfifo(gate("go"), 0o600))
	// Opened for both, it waits for nobody.
	lever, err := os.OpenFile(gate("go"), os.O_RDWR, 0)
	s.must(err)
	s.t.Cleanup(func() { lever.Close() })

	wait := s.cause(name)
	b, err := os.ReadFile(gate("env"))
	s.must(err)
	return strings.Split(strings.TrimSpace(string(b)), "\n"), func() {
		s.t.Helper()
		_, err := lever.WriteString("\n")
		s.must(err)
		wait()
		s.settle()
	}
}

// cause has the hook or action run, and waits until it is held; wait is until
// it has succeeded.
func (s *playhouse) cause(name string) (wait func()) {
	s.t.Helper()
	unit, task := "app/0", state.TaskSpec{Kind: state.ActionTask, Action: name, Relation: model.NoRelation}
	switch name {
	case "config-changed":
		s.must(s.model.SetConfig(s.ctx, "app", map[string]string{"title": "My Title"}, nil))
	case "db-relation-changed":
		_, _, err := s.model.Enqueue(s.ctx, "test", []state.TaskRequest{{Unit: "pg/0", TaskSpec: state.TaskSpec{
			Kind: state.ExecTask, Command: "relation-set -r 3 more=settings", Relation: model.NoRelation,
		}}})
		s.must(err)
	case "act":
		task.Params = map[string]any{"outfile": map[string]any{"n": 3, "name": "x"}}
	case "nothing":
		unit = "empty/0"
	}
	if name == "act" || name == "nothing" {
		_, tasks, err := s.model.Enqueue(s.ctx, "test", []state.TaskRequest{{Unit: unit, TaskSpec: task}})
		s.must(err)
		s.untilTask(tasks[0].ID, "it is held", func(t state.TaskDoc) bool { return len(t.Log) > 0 })
		return func() {
			if t := s.untilEnded(tasks[0].ID); t.Status != state.TaskCompleted {
				s.t.Errorf("%s ended %s: %s", name, t.Status, t.Message)
			}
		}
	}
	s.until(name+" is held", func(st *state.FullStatus) bool {
		for _, a := range st.Applications {
			if a.Name == "app" {
				return a.Units[0].Workload.Message == "held "+name
			}
		}
		return false
	})
	s.setStatus("ready")
	return func() {}
}
