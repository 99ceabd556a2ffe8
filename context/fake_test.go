package hookcontext_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// changing is a View of a model that is never the same twice: each answer has
// the number of the question in it. It counts the questions.
type changing struct {
	asked  map[string]int
	err    error // what every question is answered with, if not nil
	leader func() (int64, error)
	ports  map[model.UnitName]model.Ports
	bag    model.Settings // what every bag has, if not nil
	state  map[string]string
	log    []string
	set    []model.Status
}

func newChanging() *changing {
	return &changing{asked: map[string]int{}, leader: func() (int64, error) { return 1, nil }}
}

// ask counts a question and returns its answer.
func (v *changing) ask(what string) (string, error) {
	v.asked[what]++
	return fmt.Sprint(v.asked[what]), v.err
}

func (v *changing) bagOf(what string) (model.Settings, error) {
	s, err := v.ask(what)
	if err != nil {
		return nil, err
	}
	if v.bag != nil {
		return v.bag, nil
	}
	return model.Settings{"n": s}, nil
}

func (v *changing) Config() (map[string]any, error) {
	s, err := v.ask("config")
	return map[string]any{"n": s}, err
}

func (v *changing) Settings(_ model.RelationID, unit model.UnitName) (model.Settings, error) {
	return v.bagOf(string(unit))
}

func (v *changing) ApplicationSettings(_ model.RelationID, app string) (model.Settings, error) {
	return v.bagOf(app)
}

func (v *changing) LeaderSettings() (model.Settings, error) { return v.bagOf("leader settings") }

func (v *changing) State() (map[string]string, error) {
	s, err := v.ask("state")
	if v.state != nil {
		return v.state, err
	}
	return map[string]string{"n": s}, err
}

func (v *changing) Leads() (int64, error) {
	v.asked["leader"]++
	return v.leader()
}

func (v *changing) Ports() (map[model.UnitName]model.Ports, error) {
	_, err := v.ask("ports")
	return v.ports, err
}

func (v *changing) UnitStatus() (model.Status, error) {
	s, err := v.ask("status")
	return model.Status{Message: s}, err
}

func (v *changing) ApplicationStatus() (hookcontext.ApplicationStatus, error) {
	s, err := v.ask("application status")
	return hookcontext.ApplicationStatus{Application: model.Status{Message: s}}, err
}

func (v *changing) SetUnitStatus(s model.Status) error {
	v.set = append(v.set, s)
	return v.err
}

func (v *changing) SetApplicationStatus(s model.Status) error { return v.SetUnitStatus(s) }

func (v *changing) Network(endpoint string) (hookcontext.Network, error) {
	s, err := v.ask("network " + endpoint)
	return hookcontext.Network{Ingress: []string{s}, Interfaces: []hookcontext.Interface{{
		Addresses: []hookcontext.Address{{Value: s}},
	}}}, err
}

func (v *changing) PublicAddress() (string, error) { return v.ask("public address") }

func (v *changing) Secret(ref hookcontext.SecretRef) (model.SecretContent, error) {
	s, err := v.ask("secret " + string(ref.ID) + ref.Label)
	return model.SecretContent{"key": s}, err
}

func (v *changing) SecretPinned(model.SecretID) (int, error) { return 1, v.err }

func (v *changing) Hide(model.SecretContent) {}

func (v *changing) OwnSecrets() ([]model.SecretInfo, error) {
	s, err := v.ask("own secrets")
	return []model.SecretInfo{{ID: model.SecretID(s), Revisions: []model.SecretRevision{{Revision: 1}}}}, err
}

func (v *changing) NewSecretID() (model.SecretID, error) { return "9m4e2mr0ui3e8a215n4g", v.err }
func (v *changing) Now() time.Time                       { return time.Unix(0, 0) }

func (v *changing) RegisterPayload(model.Payload) error           { return v.err }
func (v *changing) UnregisterPayload(string, string) error        { return v.err }
func (v *changing) SetPayloadStatus(string, string, string) error { return v.err }
func (v *changing) Cloud() (hookcontext.Cloud, error)             { return hookcontext.Cloud{}, v.err }

func (v *changing) Resource(name string) (string, error) { return v.ask("resource " + name) }

func (v *changing) GoalState() (hookcontext.GoalState, error) {
	s, err := v.ask("goals")
	return hookcontext.GoalState{Units: map[string]hookcontext.Goal{s: {}}}, err
}

func (v *changing) Storage() ([]hookcontext.Storage, error) {
	s, err := v.ask("storage")
	return []hookcontext.Storage{{ID: "data/0", Location: s}, {ID: "data/1"}}, err
}

func (v *changing) Log(level, message string) { v.log = append(v.log, level+" "+message) }

func (v *changing) LogAction(message string) error {
	v.log = append(v.log, "action "+message)
	return v.err
}

// paramsOf are those of app/0's hook, in the relation db:3 to pg and its peer
// relation 4.
func paramsOf(view hookcontext.View) hookcontext.Params {
	return hookcontext.Params{
		Unit:  "app/0",
		Hook:  hooks.Info{Kind: hooks.ConfigChanged},
		Charm: model.Charm{Endpoints: map[string]model.CharmRel{"db": {}, "web": {}}},
		Relations: []hookcontext.Relation{
			{ID: 3, Endpoint: "db", RemoteApp: "pg", Members: model.Members{{Unit: "pg/0", Version: 1}}},
			{ID: 4, Endpoint: "peers", Peer: true, RemoteApp: "app"},
		},
		View: view,
	}
}

func newContext(view hookcontext.View) *hookcontext.Context { return hookcontext.New(paramsOf(view)) }

// readers ask a context for each thing that it remembers, and print it.
func readers(c *hookcontext.Context) map[string]func() (string, error) {
	return map[string]func() (string, error){
		"config":             func() (string, error) { return printed(c.Config()) },
		"pg/0":               func() (string, error) { return printed(c.UnitSettings(3, "pg/0")) },
		"app/0":              func() (string, error) { return printed(c.UnitSettings(3, "app/0")) },
		"pg":                 func() (string, error) { return printed(c.ApplicationSettings(3, "pg")) },
		"app":                func() (string, error) { return printed(c.ApplicationSettings(3, "app")) },
		"leader settings":    func() (string, error) { return printed(c.LeaderSettings()) },
		"state":              func() (string, error) { return printed(c.State()) },
		"ports":              func() (string, error) { return printed(c.OpenedPorts()) },
		"status":             func() (string, error) { return printed(c.UnitStatus()) },
		"application status": func() (string, error) { return printed(c.ApplicationStatus()) },
		"network db":         func() (string, error) { return printed(c.Network("db")) },
		"network ":           func() (string, error) { return printed(c.PrivateAddress()) },
		"public address":     func() (string, error) { return printed(c.PublicAddress()) },
		"storage":            func() (string, error) { return printed(c.Storage("data/0")) },
		"goals":              func() (string, error) { return printed(c.GoalState()) },
	}
}

func printed[T any](v T, err error) (string, error) { return fmt.Sprint(v), err }

func mustBe[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %#v\nwant %#v", what, got, want)
	}
}

func mustFail(t *testing.T, what string, err error, kind error, text string) {
	t.Helper()
	if err == nil || err.Error() != text || !errors.Is(err, kind) {
		t.Errorf("%s: error %v, want %q of kind %v", what, err, text, kind)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
