package uniter

import (
	"context"
	"log/slog"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// ErrOvertaken is returned by the Commit door when what the hook wrote no
// longer applies, as when a leader that wrote application data leads no more.
// Nothing was written; the hook isn't failed, and what then is due runs.
const ErrOvertaken = errors.ConstError("the model has moved on while the hook ran")

// ErrUnreachable is returned by the Commit doors when the model can't be written
// to, whatever is to be written: the disk is full, or the store is out of reach.
// It is tried again for as long as that lasts; the hook has done nothing wrong.
const ErrUnreachable = errors.ConstError("the model can't be written to")

// ErrNotNow is returned by the Lock door when the agent lacks what a hook needs:
// nothing has begun, and it is tried again.
const ErrNotNow = errors.ConstError("no hook can begin now")

// Config has the doors of an agent. All must be set but where it says so.
type Config struct {
	Unit model.UnitName
	// ID tells the unit from others of the same name.
	ID string
	// Dir has the unit's journal; it exists.
	Dir string
	// Disk is what the journal is written to.
	Disk  durable.Disk
	Clock clock.Clock
	Log   *slog.Logger
	// Jitter returns a random number from -1 to 1.
	Jitter func() float64
	// Mask is a text without what nobody is to read in it, for what the agent
	// remembers of a run: the values of secrets.
	Mask func(string) string

	// Observe reads the model and the time. l is what the agent remembers, for
	// the charm that it has deployed says which relations there are.
	Observe func(ctx context.Context, l resolver.Local) (resolver.Remote, error)
	// Changed gets a value when Observe may say something new. It has room for
	// one value and is never closed.
	Changed <-chan struct{}
	// Deployed is the URL of the charm in the charm directory; empty: none.
	Deployed func() (string, error)
	// Deploy puts the charm into the charm directory, or leaves it as it was.
	Deploy func(ctx context.Context, url string) error
	// Replace takes away the unit's cell, its workload containers and its charm
	// directory, and makes the containers of that number, resolver.Remote.Pod. What
	// was begun of it when the agent was killed is begun anew.
	Replace func(ctx context.Context, pod int) error
	// RunHook runs a hook to its end, or to run.Limit.
	RunHook func(ctx context.Context, run Run) Result
	// Commit writes what the hook changed, and the run's stamp, to the model in
	// one transaction. It may be called again for a run that is stamped.
	Commit func(ctx context.Context, run Run, changes model.Changes) error
	// Handed is for the run that a former agent has handed over; nil: there is none.
	Handed *Handed
	// Tasks are the doors for actions and commands.
	Tasks TaskDoors
	// EndLeftover ends the processes that an interrupted run left behind.
	EndLeftover func(ctx context.Context, run Run)
	EnterScope  func(ctx context.Context, id model.RelationID) error
	LeaveScope  func(ctx context.Context, id model.RelationID) error
	// DetachStorage takes storage away that the charm was told nothing of.
	DetachStorage func(ctx context.Context, id model.StorageID) error
	MarkDying     func(ctx context.Context) error
	MarkDead      func(ctx context.Context) error
	// Hope is closed when what couldn't be done may succeed now; it is asked for
	// before each wait.
	Hope func() <-chan struct{}
	// Lock waits for the unit's turn on its machine; unlock gives it back. waited
	// says that time went by, so that the agent looks again at what is due.
	Lock func(ctx context.Context) (unlock func(), waited bool, err error)
	// Report tells people what the agent is doing. It must not block for long.
	Report func(ctx context.Context, r Report)
}

// Run is one numbered run of a hook, with what the agent remembers as it runs.
type Run struct {
	Hook   hooks.Info
	Number int64
	Local  resolver.Local
	// Limit is how long it may take, if that isn't zero, and not longer than the
	// unit's hooks may: see resolver.Op. Its failure then says that it timed out.
	Limit time.Duration
}

// Result is how a hook run ended.
type Result struct {
	// Changes are to be committed if the run succeeded; else they are dropped.
	Changes model.Changes
	// Failure is set if it didn't.
	Failure *resolver.Failure
	// Trouble is why the run couldn't begin, which isn't the charm's fault: it is
	// tried again. Failure says the same.
	Trouble error
	// Stopped: it was ended because the agent stops; it will be run again, and
	// Failure says nothing.
	Stopped bool
}

// ReportKind says what a Report tells.
type ReportKind string

// The kinds of report.
const (
	Deploying  ReportKind = "deploying" // a charm is being put in place
	Running    ReportKind = "running"   // a hook is about to run
	Committed  ReportKind = "committed" // a hook has committed, or was skipped
	HookError  ReportKind = "error"     // a hook has failed
	StoodAside ReportKind = "aside"     // a workload hook has failed, and holds nothing up
	Replacing  ReportKind = "replacing" // the unit's containers are being replaced
	TaskEnded  ReportKind = "task"      // a task has ended, well or not
	Dropped    ReportKind = "dropped"   // a failed hook is given up, as its cause is gone
	Requeued   ReportKind = "requeued"  // a hook was ended with its agent, or overtaken
	Settled    ReportKind = "idle"      // nothing is left to do
	Waiting    ReportKind = "waiting"   // a failed hook waits to be resolved
	Trouble    ReportKind = "trouble"   // something but a hook went wrong; it is tried again
)

// Report tells what the agent does, for statuses, logs and history.
type Report struct {
	Kind ReportKind
	Hook hooks.Info
	Run  int64
	// Local is what the agent remembers at that moment.
	Local  resolver.Local
	Reason string
	Err    error
	// Until is when a Settled or Waiting agent, or one in Trouble, looks again by
	// itself; zero: never.
	Until time.Time
	// Again: Settled or Waiting was said before, and nothing was done since. It
	// is said all the same: the agent has looked at the model meanwhile.
	Again bool
}
