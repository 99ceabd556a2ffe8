package tools

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// memory is a View in memory: the data of docs/spec/hook-tools.md §10 unless a test
// changes it.
type memory struct {
	config    map[string]any
	settings  map[string]model.Settings // by unit or application
	leaderSet model.Settings
	state     map[string]string
	notLeader bool
	noSecrets bool // and no trust
	payloads  []string
	ports     map[model.UnitName]model.Ports
	status    model.Status
	networks  map[string]hookcontext.Network
	public    string
	goals     hookcontext.GoalState
	storage   []hookcontext.Storage

	mu            sync.Mutex
	log           []string
	unitStatuses  []model.Status
	appStatuses   []model.Status
	leaderAnswers []error
}

func newMemory() *memory {
	remote := model.Settings{
		"host": "10.0.0.1", "port": "5432", "multi": "a\nb\n", "yes": "yes", "empty": "", "html": "<a&b>",
	}
	since := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	network := hookcontext.Network{
		Interfaces: []hookcontext.Interface{{
			Name: "eth0", MAC: "00:11:22:33:44:55",
			Addresses: []hookcontext.Address{{Value: "10.0.0.5", CIDR: "10.0.0.0/24"}},
		}},
		Ingress: []string{"10.0.0.5"},
		Egress:  []string{"10.0.0.5/32"},
	}
	return &memory{
		config: map[string]any{
			"title": "My Title", "port": int64(8080), "ratio": 1.5, "debug": true, "off": false, "blank": "",
			"unset": nil, "big": int64(12345678901), "flt": 1000000.0, "num-str": "123", "yaml-ish": "yes",
			"multi": "line1\nline2\n", "html": "<a&b>", "intf": 3.0,
		},
		settings:  map[string]model.Settings{"pg/0": remote, "pg/1": remote, "pg": {}, "app/0": {"mine": "x"}, "app": {}},
		leaderSet: model.Settings{"k": "v"},
		state:     map[string]string{"one": "1", "empty": ""},
		status:    model.Status{Status: "active", Message: "ready"},
		networks:  map[string]hookcontext.Network{"db": network, "": network},
		public:    "1.2.3.4",
		storage:   []hookcontext.Storage{{ID: "data/0", Kind: model.Filesystem, Location: "/srv/data"}},
		goals: hookcontext.GoalState{
			Units:     map[string]hookcontext.Goal{"app/0": {Status: "active", Since: since}},
			Relations: map[string]map[string]hookcontext.Goal{"db": {"pg": {Status: "joined", Since: since}}},
		},
	}
}

func (m *memory) Config() (map[string]any, error) { return m.config, nil }

func (m *memory) Settings(_ model.RelationID, unit model.UnitName) (model.Settings, error) {
	return m.bag(string(unit))
}

func (m *memory) ApplicationSettings(_ model.RelationID, app string) (model.Settings, error) {
	return m.bag(app)
}

func (m *memory) bag(owner string) (model.Settings, error) {
	if s, ok := m.settings[owner]; ok {
		return s, nil
	}
	return nil, errors.NotFoundf("settings of %s", owner)
}

func (m *memory) LeaderSettings() (model.Settings, error) { return m.leaderSet, nil }
func (m *memory) State() (map[string]string, error)       { return m.state, nil }

func (m *memory) Leads() (int64, error) {
	if len(m.leaderAnswers) > 0 {
		err := m.leaderAnswers[0]
		m.leaderAnswers = m.leaderAnswers[1:]
		return 0, err
	}
	if m.notLeader {
		return 0, nil
	}
	return 1, nil
}

func (m *memory) Ports() (map[model.UnitName]model.Ports, error) { return m.ports, nil }
func (m *memory) UnitStatus() (model.Status, error)              { return m.status, nil }

func (m *memory) ApplicationStatus() (hookcontext.ApplicationStatus, error) {
	return hookcontext.ApplicationStatus{
		Application: model.Status{Status: "active", Message: "app ok"},
		Units:       map[model.UnitName]model.Status{"app/0": {Status: "active", Message: "ok"}},
	}, nil
}

func (m *memory) SetUnitStatus(s model.Status) error {
	m.unitStatuses = append(m.unitStatuses, s)
	return nil
}

func (m *memory) SetApplicationStatus(s model.Status) error {
	m.appStatuses = append(m.appStatuses, s)
	return nil
}

func (m *memory) Network(endpoint string) (hookcontext.Network, error) {
	if n, ok := m.networks[endpoint]; ok {
		return n, nil
	}
	return hookcontext.Network{}, errors.NotFoundf("binding %q", endpoint)
}

func (m *memory) PublicAddress() (string, error) {
	if m.public == "" {
		return "", errors.NotFoundf("address")
	}
	return m.public, nil
}

// observedSecret is the one that there is.
const observedSecret = "9m4e2mr0ui3e8a215n4g"

func (m *memory) Secret(ref hookcontext.SecretRef) (model.SecretContent, error) {
	if uuid, _ := ref.ID.Split(); uuid != "" {
		return nil, errors.NewNotFound(nil, fmt.Sprintf("secret %q not found", ref.ID.URI()))
	}
	if ref.ID != observedSecret && ref.Label == "" {
		return nil, errors.NewNotFound(nil, fmt.Sprintf("secret %q not found", ref.ID))
	}
	return model.SecretContent{"token": "czNjcmV0", "num": "MTIz"}, nil
}

func (m *memory) SecretPinned(model.SecretID) (int, error) { return 1, nil }

func (m *memory) Hide(model.SecretContent) {}

func (m *memory) OwnSecrets() ([]model.SecretInfo, error) {
	if m.noSecrets {
		return nil, nil
	}
	return []model.SecretInfo{{
		ID: observedSecret, Owner: model.SecretOwner{Kind: model.OwnedByApplication, Name: "app"},
		Label: "lbl", Rotate: "daily", Revisions: []model.SecretRevision{{Revision: 1}, {Revision: 2}},
	}}, nil
}

func (m *memory) NewSecretID() (model.SecretID, error) { return observedSecret, nil }
func (m *memory) Now() time.Time                       { return time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC) }

func (m *memory) RegisterPayload(p model.Payload) error {
	m.payloads = append(m.payloads, fmt.Sprint(p))
	return nil
}

func (m *memory) UnregisterPayload(class, id string) error {
	m.payloads = append(m.payloads, "no "+class+"/"+id)
	return nil
}

func (m *memory) SetPayloadStatus(class, id, status string) error {
	m.payloads = append(m.payloads, class+"/"+id+" "+status)
	return nil
}

func (m *memory) Cloud() (hookcontext.Cloud, error) {
	if m.noSecrets {
		return hookcontext.Cloud{}, errors.NewForbidden(nil, "permission denied")
	}
	return hookcontext.Cloud{Type: "lxd", Name: "localhost", Region: "r1", AuthType: "certificate", Attributes: map[string]string{"k": "v"}}, nil
}

func (m *memory) Resource(name string) (string, error) {
	if name != "foo" {
		return "", errors.NewNotFound(nil, "resource \""+name+"\" not found")
	}
	return "/var/lib/juju/agents/unit-app-0/resources/foo/f.tgz", nil
}

func (m *memory) Storage() ([]hookcontext.Storage, error) { return m.storage, nil }

func (m *memory) GoalState() (hookcontext.GoalState, error) { return m.goals, nil }

func (m *memory) Log(level, message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, level+" "+message)
}

func (m *memory) LogAction(message string) error {
	m.Log("action", message)
	return nil
}

// plainHook is about no relation, relationHook about db:3 and pg/0.
func plainHook() hooks.Info { return hooks.Info{Kind: hooks.ConfigChanged} }

func relationHook() hooks.Info {
	return hooks.Info{
		Kind: hooks.RelationChanged, Endpoint: "db", RelationID: 3, RemoteApp: "pg", RemoteUnit: "pg/0",
	}
}

// hookOf is the context of app/0's hook over a view.
func hookOf(view hookcontext.View, hook hooks.Info) *hookcontext.Context {
	return hookcontext.New(paramsOf(view, hook))
}

func paramsOf(view hookcontext.View, hook hooks.Info) hookcontext.Params {
	return hookcontext.Params{
		Unit:      "app/0",
		ModelUUID: "5c35d46b-5c2c-4dc8-85ff-48c7a0f1c0d1",
		Hook:      hook,
		Charm: model.Charm{
			Name:      "app",
			Endpoints: map[string]model.CharmRel{"db": {Role: model.Requirer, Interface: "pgsql"}},
			Storage:   map[string]model.StorageSpec{"data": {Type: model.Filesystem, CountMin: 1, CountMax: 3}},
		},
		Relations: []hookcontext.Relation{{
			ID: 3, Endpoint: "db", RemoteApp: "pg", Members: model.Members{{Unit: "pg/0", Version: 1}, {Unit: "pg/1", Version: 1}},
		}},
		View: view,
	}
}

// mustBe fails the test where got isn't want, and shows both.
func mustBe[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %#v\nwant %#v", what, got, want)
	}
}
