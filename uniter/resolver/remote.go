package resolver

import (
	"time"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
)

// Remote is what the model says of the unit now: one consistent snapshot, and
// the time. Package machine makes it of the model's documents.
type Remote struct {
	// Now is the time to decide by.
	Now time.Time
	// Gone: the model has no such unit.
	Gone bool
	Life model.Life
	// Lenient: a hook that fails while the unit is Dying is skipped.
	Lenient bool
	// Orphaned: the application is Dying, or the unit is a subordinate with
	// nothing left to be subordinate to; it has to mark itself Dying.
	Orphaned bool
	// OrphanReason says why, in a line.
	OrphanReason string
	// Charm is the URL of the charm that the application wants; Forced: even
	// if the unit is in error.
	Charm  string
	Forced bool
	// Want is what the charm should have been told.
	Want Seen
	// Settings is a hash of what Want.Config is one of, but for the charm: it
	// differs only if a hook that is run again finds something else.
	Settings string
	// Leader: the unit holds its application's leadership.
	Leader bool
	// Resolved is the operator's answer to a failed run.
	Resolved Resolved
	// Committed is the number of the newest run that the model has committed.
	Committed int64
	// Memory is what was committed with that run; zero where it was nothing.
	Memory Memory
	// Relations are those of the application that the deployed charm has an
	// endpoint for, sorted by endpoint name, then by id.
	Relations []relation.Snapshot
	// OwnSecrets are those that the unit is the one to care for, ReadSecrets the
	// others that it has read; both by id.
	OwnSecrets  []OwnSecret
	ReadSecrets []ReadSecret
	// Storage is what is attached to the unit, or is about to be, by name, then
	// by number.
	Storage []Storage
	// Sidecar: the unit has workload containers. Then another charm, and resources,
	// reach it with other containers only, and Want.Config counts as if the charm
	// weren't in it.
	Sidecar bool
	// Workloads are all containers of such a unit, by name, be they up or not: what
	// was told of others is forgotten.
	Workloads []Workload
	// Pod is which of its sets of containers the unit is to have: a number that
	// grows by one each time that it is the unit's turn to have other ones.
	Pod int
	// Unfetched: an image of that set isn't on the host, which fetches it. It is false
	// once the containers that the unit has are being taken away.
	Unfetched bool
	// WorkloadErrors: a workload hook that fails puts the unit in error, as others
	// do.
	WorkloadErrors bool
	// Subordinates are the units that have this one as their principal.
	Subordinates []model.UnitName
	// Task is the first of the unit's tasks that haven't ended, in the order in
	// which they were asked for.
	Task Task
	// Retry: failed hooks are run again by themselves.
	Retry bool
	// StatusInterval is the time between two update-status; 0: none.
	StatusInterval time.Duration
	// StatusPassed is up to when update-status counts as run without having been;
	// so do secret-rotate and secret-expired that would come again. It is zero, but
	// in test worlds: see machine.Config.
	StatusPassed time.Time
	// SecretsPassed is the same for those two alone, also where there is no update-status.
	SecretsPassed time.Time
}

// Resolved answers one numbered run, so that an answer can be neither lost nor
// used twice: nobody has to clear it. The zero value answers nothing.
type Resolved struct {
	Run  int64
	Mode Mode
}

// Mode is how a failed run is resolved.
type Mode string

// The modes.
const (
	RunAgain Mode = "retry"
	SkipIt   Mode = "skip"
)

// relation finds the snapshot of a relation.
func (r Remote) relation(id model.RelationID) (relation.Snapshot, bool) {
	for _, s := range r.Relations {
		if s.ID == id {
			return s, true
		}
	}
	return relation.Snapshot{ID: id}, false
}
