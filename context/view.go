package hookcontext

import (
	"time"

	"github.com/unitd/unitd/model"
)

// View is what one hook run can read of the model, and the few writes that
// are immediate by contract (docs/spec/hook-tools.md §4). It has two
// implementations: the live model, and a recording for replay without one.
//
// A View need not be repeatable: the Context asks for each thing once and
// remembers the answer. Methods may block; they are never called at once.
type View interface {
	// Config has every option of the charm: its value, else its default, else nil.
	Config() (map[string]any, error)
	// Settings are a unit's settings in a relation; they stay readable after
	// the unit has left. errors.NotFound where the unit never was in it.
	Settings(relation model.RelationID, unit model.UnitName) (model.Settings, error)
	// ApplicationSettings are an application's settings in a relation.
	ApplicationSettings(relation model.RelationID, application string) (model.Settings, error)
	// LeaderSettings are those of leader-get.
	LeaderSettings() (model.Settings, error)
	// State is the charm's key-value state, as committed.
	State() (map[string]string, error)
	// Leads asks live under which epoch of its application's leadership the unit
	// leads; 0: it doesn't. That it leads holds for the next 30 seconds. Epochs
	// are greater than 0, and each time of leading has one of its own.
	Leads() (epoch int64, err error)
	// Ports are the ports open on the unit's machine, by unit.
	Ports() (map[model.UnitName]model.Ports, error)
	// UnitStatus is the unit's own workload status.
	UnitStatus() (model.Status, error)
	// ApplicationStatus is the application's status and its units'.
	ApplicationStatus() (ApplicationStatus, error)
	// SetUnitStatus and SetApplicationStatus are immediate. The View sets the
	// time: Since is zero.
	SetUnitStatus(model.Status) error
	SetApplicationStatus(model.Status) error
	// Network is what the unit's machine offers an endpoint or extra binding;
	// the empty name is the default binding. errors.NotFound for any other.
	Network(endpoint string) (Network, error)
	// PublicAddress is the address for the world; errors.NotFound without one.
	PublicAddress() (string, error)
	// GoalState says which units and relations there will be.
	GoalState() (GoalState, error)
	// Secret is the content of a secret, and keeps which revision of it the unit
	// reads. errors.NotFound, and errors.Forbidden "permission denied".
	Secret(SecretRef) (model.SecretContent, error)
	// SecretPinned is the revision of a secret that the unit reads; 0: it hasn't
	// read it so far.
	SecretPinned(model.SecretID) (revision int, err error)
	// Hide is told of what the hook writes into secrets, which is to be seen by
	// nobody else.
	Hide(model.SecretContent)
	// OwnSecrets are the unit's and its application's, whoever leads.
	OwnSecrets() ([]model.SecretInfo, error)
	// NewSecretID is the id for a secret that is to be made.
	NewSecretID() (model.SecretID, error)
	// Now is the time.
	Now() time.Time
	// RegisterPayload, UnregisterPayload and SetPayloadStatus are immediate.
	RegisterPayload(model.Payload) error
	UnregisterPayload(class, id string) error
	SetPayloadStatus(class, id, status string) error
	// Cloud is what credential-get tells; errors.Forbidden "permission denied"
	// for an application that isn't trusted.
	Cloud() (Cloud, error)
	// Resource is the path of the unit's copy of a resource, which it gets first
	// if need be. Unlike the others it may be called while another is.
	// errors.NotFound for one that there isn't.
	Resource(name string) (string, error)
	// Storage is what is attached to the unit, or is about to be.
	Storage() ([]Storage, error)
	// Log writes one message of the charm's to the unit's log, at once. Level
	// is TRACE, DEBUG, INFO, WARNING, ERROR or CRITICAL.
	Log(level, message string)
	// LogAction tells whoever waits for the action that runs something, at once.
	LogAction(message string) error
}

// Relation is one of the unit's relations as the agent knows it at the start
// of the hook: the members are those whose joined hook has begun and whose
// departed hook has not.
type Relation struct {
	ID        model.RelationID
	Endpoint  string // the unit's own endpoint
	Peer      bool
	RemoteApp string // for a peer relation the unit's own application
	Key       string // by its endpoints, "shop:db pg:server"; empty: it isn't in the model any more
	// RemoteModel is the UUID of the model of RemoteApp; empty: the unit's own.
	RemoteModel string
	Members     model.Members
	// Broken: dying or suspended, and without members, as in its broken hook; a
	// peer relation is so in that hook only;
	// relation-ids leaves it out, though by its id it can be read and written.
	Broken bool
}

// ApplicationStatus is the status of an application with its units'.
type ApplicationStatus struct {
	Application model.Status
	Units       map[model.UnitName]model.Status
}

// Network is what network-get tells of a binding.
type Network struct {
	Interfaces []Interface
	Ingress    []string
	Egress     []string
}

// Interface is one network interface with its addresses.
type Interface struct {
	Name      string
	MAC       string
	Addresses []Address
}

// Address is an address of an interface; CIDR is its network, "10.0.0.0/24".
type Address struct{ Hostname, Value, CIDR string }

// Cloud is where machines come from, with the credential for it; AuthType is
// empty where there is none.
type Cloud struct {
	Type, Name, Region string
	AuthType           string
	Attributes         map[string]string
}

// GoalState is the model's plan for the unit's application: its units, and
// for each endpoint the remote applications and units.
type GoalState struct {
	Units     map[string]Goal
	Relations map[string]map[string]Goal
}

// Goal is a status word and since when it holds.
type Goal struct {
	Status string
	Since  time.Time
}
