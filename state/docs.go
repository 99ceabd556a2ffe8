package state

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// ModelInfo is the document of one model.
type ModelInfo struct {
	Name    string     `json:"name"`
	UUID    string     `json:"uuid"`
	Life    model.Life `json:"life"`
	Created time.Time  `json:"created"`
	// Type is CAAS for a model of container charms alone; empty for any other,
	// which takes both kinds.
	Type ModelType `json:"type,omitempty"`
	// StorageFate is what becomes of its storage as it is destroyed.
	StorageFate StorageFate `json:"storage-fate,omitempty"`
	// controller is the name of the controller that it was opened by.
	controller string
}

// ModelType says what kinds of charms a model takes.
type ModelType string

// The types of models, as Juju calls them.
const (
	IAAS ModelType = ""
	CAAS ModelType = "caas"
)

// CharmDoc is the document of one revision of a charm; it never changes. The
// archive is stored apart, in chunks, by its hash.
type CharmDoc struct {
	URL      string      `json:"url"`
	Revision int         `json:"revision"`
	SHA256   string      `json:"sha256"`
	Size     int64       `json:"size"`
	Charm    model.Charm `json:"charm"`
	// Source is the tree that the charm was packed from, on the host of who has
	// deployed it; empty for an archive. It is for people alone.
	Source string `json:"source,omitempty"`
}

// newCharmDoc is there until an application has a charm for the first time: who has
// stored it is about to deploy it.
type newCharmDoc struct {
	Stored time.Time `json:"stored"`
}

// ApplicationDoc is the document of an application.
type ApplicationDoc struct {
	Name string `json:"name"`
	// ID tells an application of a container charm from former and later ones of the
	// same name: chance. Empty: it is of another kind, or of an older model.
	ID     string     `json:"id,omitempty"`
	Life   model.Life `json:"life"`
	Charm  string     `json:"charm"` // URL of the revision that its units should have
	Forced bool       `json:"forced,omitempty"`
	// Base is what its units are on, "ubuntu@24.04", as it was chosen at deploy. Empty:
	// nobody has said any, or the model is older; see ApplicationView.OnBase.
	Base string `json:"base,omitempty"`
	// Hub is where its charm came from when that was last a hub; nil: never.
	Hub *Hub `json:"hub,omitempty"`
	// Former is what it was made of before, the newest last; see Rollback.
	Former      []Former `json:"former,omitempty"`
	Subordinate bool     `json:"subordinate,omitempty"`
	Exposed     bool     `json:"exposed,omitempty"`
	// ExposedEndpoints says to whom endpoints are exposed, by their names; "" stands
	// for all of them. It is recorded, and has no effect.
	ExposedEndpoints map[string]ExposedTo `json:"exposed-endpoints,omitempty"`
	// Annotations are people's own words on it, by their keys.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Published are the ports of hosts by which its units are reached.
	Published []model.Publication `json:"published,omitempty"`
	Trust     bool                `json:"trust,omitempty"`
	// Constraints are the text of model.Constraints, for units that are added later.
	Constraints string `json:"constraints,omitempty"`
	// HookTimeout is how long a hook may take, as text; empty: as the model says.
	HookTimeout string `json:"hook-timeout,omitempty"`
	// LockGroup: only units of the same group on a machine run their hooks one
	// after the other; empty: the machine's own group.
	LockGroup string `json:"lock-group,omitempty"`
	// WorkloadErrors is AreErrors where a hook of a workload container that fails
	// puts its unit in error; empty: it stands aside.
	WorkloadErrors string `json:"workload-errors,omitempty"`
	// RecordPebble is RecordsPebble where recordings of hooks have what was asked of
	// the Pebbles of workload containers; empty: they don't.
	RecordPebble string `json:"record-pebble,omitempty"`
	// Force is how the application is being removed, and StorageFate what becomes of
	// its units' storage.
	Force       Force       `json:"force,omitempty"`
	StorageFate StorageFate `json:"storage-fate,omitempty"`
	// Units, Relations and Offers count what refers to the application.
	Units     int `json:"units"`
	Relations int `json:"relations"`
	Offers    int `json:"offers,omitempty"`
	// Token is what names it in models that it has consumed offers of; empty: it never has.
	Token string `json:"token,omitempty"`
	// NextUnit is the number that the next unit gets.
	NextUnit int `json:"next-unit"`
	// Sidecar: it is an application of a container charm, whose units are numbered
	// from 0 to Scale, in so far as they are there; see SetScale.
	Sidecar bool `json:"sidecar,omitempty"`
	Scale   int  `json:"scale,omitempty"`
	// PodTemplate tells what its charm has changed of the template of its pods, by the
	// Kubernetes API; empty: nothing.
	PodTemplate string `json:"pod-template,omitempty"`
	// Kept is the storage of container units that are gone, for when they are there
	// again.
	Kept map[model.UnitName][]model.StorageID `json:"kept,omitempty"`
	// Resources are what it was given for resources of its charm, by name. Given
	// counts the times that it was given new ones; when it moves, its units run
	// upgrade-charm.
	Resources map[string]Resource `json:"resources,omitempty"`
	Given     int                 `json:"given,omitempty"`
	// Secrets is what the application's secrets are listed under; empty: it has
	// never had any.
	Secrets string `json:"secrets,omitempty"`
	// Storage is what deploy was told of the storage of units, by the charm's
	// names; it holds for later units, too.
	Storage map[string]model.StorageDirective `json:"storage,omitempty"`
	// Bindings are the spaces that its endpoints are bound to.
	Bindings model.Bindings `json:"bindings,omitempty"`
	// Isolation says whether its units have machines of their own; it stays as it
	// was when the application was deployed.
	Isolation model.Isolation `json:"isolation,omitzero"`
	// StatusSet: the leader has set a status; else it is derived of the units'.
	StatusSet bool `json:"status-set,omitempty"`
}

// UnitDoc is the document of a unit.
type UnitDoc struct {
	Name model.UnitName `json:"name"`
	// ID tells the unit from former and later ones of the same name: chance.
	ID    string     `json:"id,omitempty"`
	Life  model.Life `json:"life"`
	Force Force      `json:"force,omitempty"` // how it is being removed
	// StorageFate is what becomes of its storage, and its subordinates', as it goes.
	StorageFate StorageFate `json:"storage-fate,omitempty"`
	Machine     string      `json:"machine"` // a subordinate's is its principal's
	// Pod: it is a container unit, whose machine is none that people see.
	Pod bool `json:"pod,omitempty"`
	// Provider is that of its machine.
	Provider string `json:"provider,omitempty"`
	// Arch is the architecture that its machine must have, as it was asked for when the
	// unit was made; empty: any will do.
	Arch         string           `json:"arch,omitempty"`
	Principal    model.UnitName   `json:"principal,omitempty"`
	Subordinates []model.UnitName `json:"subordinates,omitempty"`
	// Deployed: an agent has taken the unit on, so it must be taken away by one.
	Deployed bool `json:"deployed,omitempty"`
	// Charm is the URL of the charm that the unit's agent has deployed.
	Charm string `json:"charm,omitempty"`
	// Run is the stamp: the number of the newest hook run that has committed.
	Run int64 `json:"run"`
	// Memory is HookCommit.Memory of that run.
	Memory json.RawMessage `json:"memory,omitempty"`
	// Failed is the number of the run that has put the unit in error; 0: none.
	Failed int64 `json:"failed,omitempty"`
	// Resolved answers the run with that number.
	Resolved        Resolved `json:"resolved,omitzero"`
	WorkloadVersion string   `json:"workload-version,omitempty"`
	// Storage counts what is attached to it, or is about to be.
	Storage int `json:"storage,omitempty"`
	// StatusSet: the charm has set a workload status.
	StatusSet bool `json:"status-set,omitempty"`
	// Payloads are what the charm has noted by the payload tools.
	Payloads []model.Payload `json:"payloads,omitempty"`
	// Secrets: the unit owns secrets, or reads some.
	Secrets bool `json:"secrets,omitempty"`
	// Reboot is the boot of the machine, see HookCommit, in which the charm has
	// asked for the next one; empty: it hasn't, or it has come.
	Reboot string `json:"reboot,omitempty"`
}

// host is StorageDoc.Host for storage of the unit.
func (u UnitDoc) host() string {
	if u.Provider == ManualProvider {
		return u.Machine
	}
	return ""
}

// Resolved is an operator's answer to the failed run with that number. Mode is
// "retry" or "skip".
type Resolved struct {
	Run  int64  `json:"run,omitempty"`
	Mode string `json:"mode,omitempty"`
}

// RelationDoc is the document of a relation.
type RelationDoc struct {
	ID        model.RelationID `json:"id"`
	Key       string           `json:"key"`
	Endpoints []model.Endpoint `json:"endpoints"` // one for a peer relation, else two
	Life      model.Life       `json:"life"`
	Force     Force            `json:"force,omitempty"` // how it is being removed
	// Suspended: its units leave it, and enter it again when it is resumed.
	Suspended bool `json:"suspended,omitempty"`
	// SuspendedMessage says for people why it is.
	SuspendedMessage string `json:"suspended-message,omitempty"`
	// Since is when it was made.
	Since time.Time `json:"since"`
	// Across: it is one half of a relation across models.
	Across *Counterpart `json:"across,omitempty"`
	By     string       `json:"by,omitempty"` // see Origin
}

// Scope is the relation's scope: container if either endpoint says so.
func (r RelationDoc) Scope() model.Scope {
	for _, e := range r.Endpoints {
		if e.Scope == model.Container {
			return model.Container
		}
	}
	return model.Global
}

// IsPeer says whether it is a peer relation.
func (r RelationDoc) IsPeer() bool { return len(r.Endpoints) == 1 }

// Endpoint is the application's own endpoint, and Other the counterpart; for
// a peer relation both are the same. ok is false where the application has no
// part in the relation.
func (r RelationDoc) Endpoint(application string) (own, other model.Endpoint, ok bool) {
	for i, e := range r.Endpoints {
		if e.Application == application {
			return e, r.Endpoints[len(r.Endpoints)-1-i], true
		}
	}
	return model.Endpoint{}, model.Endpoint{}, false
}

// scopeDoc says that a unit is in the scope of a relation. Version is that of
// its settings: whoever watches who is in scope need not read what they say.
type scopeDoc struct {
	Unit    model.UnitName `json:"unit"`
	Version int            `json:"version"`
}

// leftDoc says that a unit has left the scope of a relation. It stays when the
// unit enters again: what tells is when it was written.
type leftDoc struct {
	Unit model.UnitName  `json:"unit"`
	Why  model.Departure `json:"why,omitempty"`
}

// settingsDoc is a databag. It stays when its unit leaves the scope.
type settingsDoc struct {
	Version int            `json:"version"`
	Values  model.Settings `json:"values"`
	Moved   moved          `json:"moved,omitempty"`
	By      string         `json:"by,omitempty"` // see Origin
}

// configDoc has the options of an application that were set. Numbers are read
// as json.Number, which the option's Coerce turns into its type.
type configDoc struct {
	Values map[string]any `json:"values"`
	By     string         `json:"by,omitempty"` // see Origin
}

// UnmarshalJSON keeps every digit of a number.
func (c *configDoc) UnmarshalJSON(b []byte) error {
	type plain configDoc
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return errors.Trace(d.Decode((*plain)(c)))
}

// portsDoc has the ports open on a machine.
type portsDoc struct {
	Units map[model.UnitName]model.Ports `json:"units"`
}

// consumerDoc says that a unit reads a secret: the revision that it gets until
// it asks for a newer one, and the latest that there was when it last asked.
type consumerDoc struct {
	Unit     model.UnitName `json:"unit"`
	Label    string         `json:"label,omitempty"`
	Revision int            `json:"revision"`
	Seen     int            `json:"seen"`
}

// cleanupDoc is work left for the cleanup queue: all keys below Prefix, or
// those of them that were last written up to revision Upto; the rest of what
// refers to Application, which is Dying; a Unit that is Dead; a Relation that
// nobody is to be in any more; the secrets that are listed under
// SecretsOf, whose owner is gone, with what it has read; the tasks whose refs are
// below Tasks, of a unit that is gone; the tasks of an Operation that wait to be queued; the units that the scale of the application
// ScaleOf asks for; or storage that the units of StorageOf
// lack since its charm was upgraded.
type cleanupDoc struct {
	StorageOf   string `json:"storage-of,omitempty"`
	ScaleOf     string `json:"scale-of,omitempty"`
	SecretsOf   string `json:"secrets-of,omitempty"`
	Prefix      string `json:"prefix,omitempty"`
	Upto        int64  `json:"upto,omitempty"`
	Application string `json:"application,omitempty"`
	Tasks       string `json:"tasks,omitempty"`
	// Operation is one of whose tasks some may wait to be queued.
	Operation string `json:"operation,omitempty"`

	Unit     *cleanupUnit      `json:"unit,omitempty"`
	Relation *model.RelationID `json:"relation,omitempty"`
	// Strangers: of the Relation, only those leave that are of a model that isn't in the store.
	Strangers bool `json:"strangers,omitempty"`
	// SAAS is one that is Dying, and Offer one that is gone, whose relations are to go.
	SAAS  *goingSAAS `json:"saas,omitempty"`
	Offer *goneOffer `json:"offer,omitempty"`
	// Blobs: content may be stored that nothing refers to any more.
	Blobs bool `json:"blobs,omitempty"`
	// Model: the model itself is being destroyed, and of what is in it some may not be.
	Model *goingModel `json:"model,omitempty"`
	// Machine is one whose removal by force has begun.
	Machine string `json:"machine,omitempty"`
	// Objects are those of the Kubernetes API that an application has left behind.
	Objects *objectsOf `json:"objects,omitempty"`
}

type cleanupUnit struct {
	Name model.UnitName `json:"name"`
	ID   string         `json:"id"`
}

// StorageDoc is the document of an instance of storage.
type StorageDoc struct {
	ID       model.StorageID `json:"id"`
	Life     model.Life      `json:"life"`
	Kind     string          `json:"kind"` // model.Filesystem or model.Block
	Pool     string          `json:"pool"`
	Provider string          `json:"provider"`
	Size     uint64          `json:"size"` // in MiB
	ReadOnly bool            `json:"read-only,omitempty"`
	// Unit is what it is attached to, or is about to be; empty: nothing.
	Unit model.UnitName `json:"unit,omitempty"`
	// Host is the machine of ManualProvider that it is on, or is to be; empty:
	// the host of the agent that has the models.
	Host string `json:"host,omitempty"`
	// Provided: it was there once, so something may be in it.
	Provided bool `json:"provided,omitempty"`
	// Released: what is in it is left on the host when the instance goes.
	Released bool `json:"released,omitempty"`
	// Problem is what keeps the host from providing it, in a line.
	Problem string `json:"problem,omitempty"`
	// Since is when it was attached, detached, or got its problem.
	Since time.Time `json:"since"`
}

// AttachmentDoc says that storage is attached to a unit, or is about to be.
type AttachmentDoc struct {
	Storage model.StorageID `json:"storage"`
	Unit    model.UnitName  `json:"unit"`
	// Life is the attachment's own; that of a unit that goes counts, too.
	Life model.Life `json:"life"`
	// Initial: it was made with the unit.
	Initial bool `json:"initial,omitempty"`
	// Wanted is where the charm wants it; empty: anywhere.
	Wanted string `json:"wanted,omitempty"`
	// Ready: it is there, at Location.
	Ready    bool   `json:"ready,omitempty"`
	Location string `json:"location,omitempty"`
	// Detached: the charm of a container unit that goes was told that it goes. It is no
	// longer in what the unit has to detach, or reads, and stays where it is until the
	// unit is gone, as a pod's volume does. Source: docs/spec/containers.md §3.5, §5.4.
	Detached bool `json:"detached,omitempty"`
}

// PoolDoc is a storage pool that somebody has made.
type PoolDoc struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
}
