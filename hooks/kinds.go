package hooks

import (
	"fmt"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Kind is a kind of hook. For relation hooks it is the part of the file's
// name after the endpoint: "relation-joined" in "db-relation-joined"; for
// storage hooks that after the storage's name, for those of workload containers
// that after the container's.
type Kind string

// The hook kinds that unitd runs.
const (
	Install               Kind = "install"
	Start                 Kind = "start"
	Stop                  Kind = "stop"
	Remove                Kind = "remove"
	ConfigChanged         Kind = "config-changed"
	UpgradeCharm          Kind = "upgrade-charm"
	UpdateStatus          Kind = "update-status"
	LeaderElected         Kind = "leader-elected"
	LeaderSettingsChanged Kind = "leader-settings-changed"
	RelationCreated       Kind = "relation-created"
	RelationJoined        Kind = "relation-joined"
	RelationChanged       Kind = "relation-changed"
	RelationDeparted      Kind = "relation-departed"
	RelationBroken        Kind = "relation-broken"
	SecretExpired         Kind = "secret-expired"
	SecretRotate          Kind = "secret-rotate"
	SecretChanged         Kind = "secret-changed"
	SecretRemove          Kind = "secret-remove"
	StorageAttached       Kind = "storage-attached"
	StorageDetaching      Kind = "storage-detaching"
	PebbleReady           Kind = "pebble-ready"
	PebbleCustomNotice    Kind = "pebble-custom-notice"
	PebbleCheckFailed     Kind = "pebble-check-failed"
	PebbleCheckRecovered  Kind = "pebble-check-recovered"
)

// Shape is what a run of a kind is about besides its unit.
type Shape int

// The shapes.
const (
	AboutUnit       Shape = iota // nothing else
	AboutRelation                // a relation
	AboutRemoteUnit              // a relation and one remote unit in it
	AboutRemote                  // a relation and a remote unit, or the remote application
	AboutSecret                  // a secret
	AboutRevision                // a secret and one revision of it
	AboutStorage                 // an instance of storage
	AboutWorkload                // a workload container
	AboutNotice                  // a workload container, and a notice of its Pebble
	AboutCheck                   // a workload container, and a check of its Pebble
)

// Row describes one kind.
type Row struct {
	Kind  Kind
	Shape Shape
	When  string // one line for people
}

// Prefix says of what the name stands before the kind in the hook's own:
// "endpoint", "storage", "container"; empty where the kind is the name.
func (r Row) Prefix() string {
	switch r.Shape {
	case AboutRelation, AboutRemoteUnit, AboutRemote:
		return "endpoint"
	case AboutStorage:
		return "storage"
	case AboutWorkload, AboutNotice, AboutCheck:
		return "container"
	}
	return ""
}

// Kinds is the table of all hook kinds, in the order of a unit's life.
func Kinds() []Row {
	return []Row{
		{StorageAttached, AboutStorage, "once for each storage that is attached; before install for the storage that the unit is deployed with, or after install in a unit with containers"},
		{Install, AboutUnit, "once, before any other hook except storage-attached"},
		{RelationCreated, AboutRelation, "once for each relation: after install and before start, or when the relation appears"},
		{LeaderElected, AboutUnit, "when the unit becomes its application's leader"},
		{LeaderSettingsChanged, AboutUnit, "in units that aren't the leader, when leader settings have changed"},
		{ConfigChanged, AboutUnit, "after install, after upgrade-charm, and when configuration, trust or addresses have changed"},
		{Start, AboutUnit, "once after the first config-changed, and once after each reboot of the machine or replacement of the unit's containers"},
		{PebbleReady, AboutWorkload, "after install, once for each time that the container's Pebble has started and answers"},
		{PebbleCustomNotice, AboutNotice, "once for each custom notice of the container's Pebble, and for each time that it is repeated; repetitions that come before the hook runs count as one"},
		{PebbleCheckFailed, AboutCheck, "each time that a check of the container's Pebble has failed as often as its threshold says"},
		{PebbleCheckRecovered, AboutCheck, "each time that such a failed check succeeds again"},
		{RelationJoined, AboutRemoteUnit, "once for each new remote unit"},
		{RelationChanged, AboutRemote, "after joined, and whenever the remote settings have changed"},
		{RelationDeparted, AboutRemoteUnit, "once for each remote unit that has left"},
		{RelationBroken, AboutRelation, "as the last hook of a relation, when it has no members left"},
		{SecretExpired, AboutRevision, "in the owner, when a revision expires, and every 5 minutes until it is removed"},
		{SecretRotate, AboutSecret, "in the owner, each time that a rotation of the secret is due, and every 5 minutes until the hook makes a new revision"},
		{SecretChanged, AboutSecret, "in each unit that has read the secret, when there is a newer revision"},
		{SecretRemove, AboutRevision, "in the owner, once for each revision that is not the latest and that nobody reads any more"},
		{UpgradeCharm, AboutUnit, "after an upgrade has changed the charm directory, and when the application was given resources; in a unit with containers, after these were replaced"},
		{UpdateStatus, AboutUnit, "at every interval while nothing else is due"},
		{StorageDetaching, AboutStorage, "when attached storage is going; before the relations are broken, if the unit is going"},
		{Stop, AboutUnit, "before the unit is removed, when all its relations are broken, and before its containers are replaced"},
		{Remove, AboutUnit, "after stop, as the last hook of all"},
	}
}

// Info is one hook that is to be run, is running, or has run.
type Info struct {
	Kind       Kind             `json:"kind"`
	Endpoint   string           `json:"endpoint,omitempty"`    // relation hooks: the local endpoint
	RelationID model.RelationID `json:"relation-id,omitempty"` // relation hooks
	RemoteApp  string           `json:"remote-app,omitempty"`  // relation hooks
	RemoteUnit model.UnitName   `json:"remote-unit,omitempty"` // joined, departed; changed unless it is the application's
	// Version is the version of the remote settings that a joined or changed
	// hook tells of; the relation's state keeps it once the hook has committed.
	Version int `json:"version,omitempty"`
	// Secret is what a secret hook is about; SecretLabel is the label that the
	// unit knows it by, and SecretRevision, of expired and remove, the revision.
	Secret         model.SecretID `json:"secret,omitempty"`
	SecretLabel    string         `json:"secret-label,omitempty"`
	SecretRevision int            `json:"secret-revision,omitempty"`
	// Departing is the unit whose leaving a departed hook tells of: the remote
	// unit, or the local one where that is what leaves.
	Departing model.UnitName `json:"departing,omitempty"`
	// Task is the id of the task whose run it is, and Action the name of the
	// charm's action; both are empty in hooks, the latter in commands too.
	Task   string `json:"task,omitempty"`
	Action string `json:"action,omitempty"`
	// Storage is what a storage hook is about, with where it is and its kind,
	// model.Filesystem or model.Block.
	Storage         model.StorageID `json:"storage,omitempty"`
	StorageLocation string          `json:"storage-location,omitempty"`
	StorageKind     string          `json:"storage-kind,omitempty"`
	// Workload is the container that a workload hook is about. The next three are
	// the notice's that it came by, which the charm is told of a custom one's only;
	// NoticeAt is when that was last repeated, by the clock of Pebble's host.
	Workload   string    `json:"workload,omitempty"`
	NoticeID   string    `json:"notice-id,omitempty"`
	NoticeType string    `json:"notice-type,omitempty"`
	NoticeKey  string    `json:"notice-key,omitempty"`
	NoticeAt   time.Time `json:"notice-at,omitzero"`
	// CheckName is the check that has failed, or recovered.
	CheckName string `json:"check-name,omitempty"`
	// Boot is, for pebble-ready, the boot id of the Pebble that it tells of.
	Boot string `json:"boot,omitempty"`
	// Again: it runs because an earlier run of the same hook, which has committed,
	// has asked for it.
	Again bool `json:"again,omitempty"`
	// Cause says for people why the hook runs: "config changed".
	Cause string `json:"cause,omitempty"`
}

// IsRelation says whether the hook is a relation hook.
func (i Info) IsRelation() bool { return strings.HasPrefix(string(i.Kind), "relation-") }

// IsSecret says whether the hook is about a secret.
func (i Info) IsSecret() bool { return i.Secret != "" }

// SecretRef is the secret as statuses name it, "secret:ID", with "/2" for one
// of its revisions; empty in hooks of other kinds.
func (i Info) SecretRef() string {
	switch {
	case !i.IsSecret():
		return ""
	case i.SecretRevision > 0:
		return fmt.Sprintf("%s/%d", i.Secret.URI(), i.SecretRevision)
	}
	return i.Secret.URI()
}

// IsStorage says whether the hook is a storage hook.
func (i Info) IsStorage() bool { return strings.HasPrefix(string(i.Kind), "storage-") }

// Departs says whether the hook is of something that goes: the unit, a
// relation, a remote unit, or storage.
func (i Info) Departs() bool {
	switch i.Kind {
	case Stop, Remove, RelationDeparted, RelationBroken, StorageDetaching:
		return true
	}
	return false
}

// Repeats says whether the hook can be run once more after it has committed, at
// its own wish: not where what it tells of is gone by then, nor a task.
func (i Info) Repeats() bool {
	return !i.Departs() && !i.IsTask()
}

// Same says whether both are runs of one hook about the same thing, be what
// they tell of as new as it may.
func (i Info) Same(other Info) bool {
	return i.Kind == other.Kind && i.Endpoint == other.Endpoint && i.RelationID == other.RelationID &&
		i.RemoteApp == other.RemoteApp && i.RemoteUnit == other.RemoteUnit && i.Task == other.Task &&
		i.Secret == other.Secret && i.SecretRevision == other.SecretRevision && i.Storage == other.Storage &&
		i.Workload == other.Workload && i.NoticeID == other.NoticeID
}

// Name is the name of the hook's file and of its event: "install",
// "db-relation-joined". That of a task's run is none of a hook:
// "backup-action", "exec".
func (i Info) Name() string {
	switch {
	case i.IsRelation():
		return i.Endpoint + "-" + string(i.Kind)
	case i.Kind == Action:
		return i.Action + "-" + string(i.Kind)
	}
	switch {
	case i.IsStorage():
		return i.Storage.Name() + "-" + string(i.Kind)
	case i.IsWorkload():
		return i.Workload + "-" + string(i.Kind)
	}
	return string(i.Kind)
}

// RelationRef is the relation as charms name it, "db:3"; empty in runs that are
// about none.
func (i Info) RelationRef() string {
	if !i.HasRelation() {
		return ""
	}
	return fmt.Sprintf("%s:%d", i.Endpoint, i.RelationID)
}

// String is the name with its relation and remote unit, its storage, or its
// notice or check, for people: "db-relation-joined (db:3, mysql/0)".
func (i Info) String() string {
	if i.IsSecret() {
		return i.Name() + " (" + i.SecretRef() + ")"
	}
	if i.IsStorage() {
		return i.Name() + " (" + string(i.Storage) + ")"
	}
	if about := i.About(); about != "" {
		return i.Name() + " (" + about + ")"
	}
	if !i.IsRelation() {
		return i.Name()
	}
	about := []string{i.RelationRef()}
	if i.RemoteUnit != "" {
		about = append(about, string(i.RemoteUnit))
	} else if i.RemoteApp != "" && i.Kind == RelationChanged {
		about = append(about, i.RemoteApp)
	}
	return i.Name() + " (" + strings.Join(about, ", ") + ")"
}

// Validate says which field is missing or out of place for the kind.
func (i Info) Validate() error {
	if i.IsTask() {
		return i.validateTask()
	}
	for _, row := range Kinds() {
		if row.Kind != i.Kind {
			continue
		}
		aboutSecret := row.Shape == AboutSecret || row.Shape == AboutRevision
		aboutWorkload := row.Prefix() == "container"
		switch {
		case aboutWorkload:
			return errors.Trace(i.validateWorkload(row.Shape))
		case i.Workload != "":
			return errors.NotValidf("%s hook with workload %q", i.Kind, i.Workload)
		case aboutSecret != i.IsSecret():
			return errors.NotValidf("%s hook with secret %q", i.Kind, i.Secret)
		case (row.Shape == AboutRevision) != (i.SecretRevision > 0):
			return errors.NotValidf("%s hook with revision %d", i.Kind, i.SecretRevision)
		case aboutSecret:
			return nil
		case row.Shape == AboutUnit && (i.Endpoint != "" || i.RemoteUnit != ""):
			return errors.NotValidf("%s hook with a relation", i.Kind)
		case row.Shape == AboutStorage && i.Endpoint+string(i.RemoteUnit) != "":
			return errors.NotValidf("%s hook with a relation", i.Name())
		case row.Shape == AboutStorage && i.Storage == "":
			return errors.NotValidf("%s hook without storage", i.Kind)
		case row.Shape != AboutStorage && i.Storage != "":
			return errors.NotValidf("%s hook with storage", i.Name())
		case row.Shape != AboutUnit && row.Shape != AboutStorage && i.Endpoint == "":
			return errors.NotValidf("%s hook without an endpoint", i.Kind)
		case row.Shape == AboutRemoteUnit && i.RemoteUnit == "":
			return errors.NotValidf("%s hook without a remote unit", i.Name())
		case row.Shape == AboutRelation && i.RemoteUnit != "":
			return errors.NotValidf("%s hook with a remote unit", i.Name())
		}
		return nil
	}
	return errors.NotValidf("hook kind %q", i.Kind)
}
