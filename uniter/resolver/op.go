package resolver

import (
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
)

// Verb says what an Op does.
type Verb string

// The verbs.
const (
	// Idle: nothing to do until something changes, or Until.
	Idle Verb = "idle"
	// Terminate: the unit is gone or Dead; the agent ends.
	Terminate Verb = "terminate"
	// Deploy puts the charm Charm into the charm directory.
	Deploy Verb = "deploy"
	// RunHook runs Hook as run number Run.
	RunHook Verb = "run-hook"
	// RunTask runs the task of Hook as run number Run.
	RunTask Verb = "run-task"
	// AbortTask ends a task in which an agent was killed: it isn't run again.
	AbortTask Verb = "abort-task"
	// EnterScope makes the unit a member of Relations.
	EnterScope Verb = "enter-scope"
	// LeaveScope ends the unit's membership of Relations, of which it was told
	// nothing.
	LeaveScope Verb = "leave-scope"
	// Detach takes Storage away from the unit, of which its charm was told
	// nothing.
	Detach Verb = "detach"
	// Replace takes the unit's containers and its charm directory away, and makes
	// the containers of Pod; the directory stays empty.
	Replace Verb = "replace"
	// MarkDying and MarkDead move the unit's life on.
	MarkDying Verb = "mark-dying"
	MarkDead  Verb = "mark-dead"

	// The following change only what the agent remembers.

	// Finish takes a pending run as committed: the model has its stamp.
	Finish Verb = "finish"
	// FinishTask takes a task as ended: the model has the stamp of its run.
	FinishTask Verb = "finish-task"
	// Interrupt takes a pending run as failed: the agent was killed in it.
	Interrupt Verb = "interrupt"
	// Requeue takes a pending run as one that never was: the hook had succeeded,
	// but the agent has stopped before the model could take what it wrote.
	Requeue Verb = "requeue"
	// Skip takes a failed run as if it had succeeded, but for what it wrote.
	Skip Verb = "skip"
	// Discard drops a failed run that has lost its cause: its relation or its
	// storage is gone, or the unit that was to be told that it leads leads no more.
	Discard Verb = "discard"
	// SetAside takes a failed workload hook out of the way, as such hooks don't
	// put the unit in error any more.
	SetAside Verb = "set-aside"
	// Forget drops relations, storage and containers that the model doesn't have.
	Forget Verb = "forget"
	// Resign takes note that the unit leads no more.
	Resign Verb = "resign"
	// Unqueue drops the wish of Hook to be run again: what it is about is gone.
	Unqueue Verb = "unqueue"
	// Recall takes over what the model knows of runs that the journal has lost.
	Recall Verb = "recall"
)

// Op is what the agent does next: a value, done by package uniter.
type Op struct {
	Verb  Verb
	Hook  hooks.Info
	Run   int64
	Seen  Seen  // RunHook: what the charm will have been told once it commits
	Basis Basis // RunHook: what the run is begun on
	// Aside is for RunHook: should the hook fail, it stands aside. Limit is how long
	// it may take at most, if that isn't zero: then it is ended and counts as run.
	Aside     bool
	Limit     time.Duration
	Charm     string
	Relations []model.RelationID
	// Storage is, for Detach and Forget, what goes; for Idle what is waited for.
	Storage []model.StorageID
	// Secrets is, for RunHook, what was told of the secrets that there still are;
	// nil: that wasn't looked for.
	Secrets map[model.SecretID]SecretTold
	// Workloads are, for Forget, the containers that are gone.
	Workloads []string
	// Pod is, for Replace, and for the Deploy of a unit of which nothing was done
	// yet, Remote.Pod: containers that such a unit has are of that set, or replaced.
	Pod int
	// Entering are, for EnterScope, the relations as the model has them; for
	// Recall, those that have the unit in their scope.
	Entering []relation.Snapshot
	// Memory is, for Finish and Recall, what the model knows. Leaving is for
	// Recall: the unit is on its way out.
	Memory  Memory
	Leaving bool
	// Reason says why in a line for people.
	Reason string
	// Until is when an Idle agent has to look again without a change; zero: never.
	Until time.Time
}

// EventKind says what became of an Op.
type EventKind string

// The events.
const (
	// Began: a run is about to start; made durable before it does.
	Began EventKind = "began"
	// Done: the Op was carried out; a run has committed.
	Done EventKind = "done"
	// Broke: a run failed, see Failure.
	Broke EventKind = "broke"
	// Requeued: a run was ended by an orderly stop of the agent, or its commit
	// no longer applied; whatever then is due will be run.
	Requeued EventKind = "requeued"
	// CutOff: the hook has succeeded, and the agent stops without knowing
	// whether the model has taken what it wrote.
	CutOff EventKind = "cut-off"
)

// Event tells After what became of an Op.
type Event struct {
	Kind    EventKind
	At      time.Time
	Failure Failure // Broke
	// Requeue is, for Done, the wish of a hook to be run again; nil: none.
	Requeue *model.Requeue
	// Jitter is a random number from -1 to 1 that spreads what is timed.
	Jitter float64
}
