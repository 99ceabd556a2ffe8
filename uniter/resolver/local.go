package resolver

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
)

// Local is all that a unit's agent remembers. It is one value, which the journal
// has, and what it refers to is shared between those that After makes of each
// other: nobody changes it. The zero value, with Unit, is an agent
// that has done nothing yet; LeaderSettings of such a one is NeverTold.
type Local struct {
	Unit model.UnitName `json:"unit"`
	// ID tells the unit from others that had its name before, or will have it.
	ID string `json:"id,omitempty"`
	// Run numbers the hook runs; it is the number of the newest that began.
	Run int64 `json:"run"`
	// Charm is the URL of the charm in the charm directory; empty: none.
	Charm string `json:"charm,omitempty"`
	// Current is the hook run that began and hasn't committed; nil: none.
	Current *Current `json:"current,omitempty"`
	// Task is the task that runs; nil: none.
	Task *TaskRun `json:"task,omitempty"`
	// Ended is how the newest run ended that has. Nothing is decided by it: it
	// is there so that the history, which is written after the journal, never
	// lacks a run.
	Ended Ended `json:"ended,omitzero"`

	Installed  bool `json:"installed,omitempty"`  // install has committed
	Configured bool `json:"configured,omitempty"` // a config-changed has committed
	Started    bool `json:"started,omitempty"`    // start has committed
	Upgraded   bool `json:"upgraded,omitempty"`   // upgrade-charm is due
	Forgotten  bool `json:"forgotten,omitempty"`  // it is due because the agent's disk was lost
	Stopped    bool `json:"stopped,omitempty"`    // stop has committed
	Removed    bool `json:"removed,omitempty"`    // remove has committed

	// Leader: the unit was told that it leads, by leader-elected.
	Leader bool `json:"leader,omitempty"`
	// Seen is what the hooks that committed have told the charm.
	Seen Seen `json:"seen"`
	// Relations has the relations whose scope the unit has entered.
	Relations map[model.RelationID]relation.State `json:"relations,omitempty"`
	// Secrets has what the unit was told of secrets.
	Secrets map[model.SecretID]SecretTold `json:"secrets,omitempty"`
	// Storage has the instances of which the charm was told that they are
	// attached, and not that they are going.
	Storage map[model.StorageID]bool `json:"storage,omitempty"`
	// Workloads has what the charm was told of the unit's containers.
	Workloads map[string]WorkloadTold `json:"workloads,omitempty"`
	// Yields: the hook that the charm was told by last was a workload's. In a unit
	// that goes another one waits then until it has come a step further.
	Yields bool `json:"yields,omitempty"`
	// InARow counts the workload hooks since the last other one, up to
	// MostInARow.
	InARow int `json:"in-a-row,omitempty"`
	// Pod is which of its sets of containers the unit has, as Remote.Pod.
	Pod int `json:"pod,omitempty"`
	// Replaced: the containers are others than those in which start ran; it runs
	// again after the next config-changed.
	Replaced bool `json:"replaced,omitempty"`
	// Again are the hooks that have asked to be run again, in the order of their
	// times; of each hook there is one.
	Again []Again `json:"again,omitempty"`
	// StatusAt is when update-status last ran, or start did; StatusJitter
	// spreads the next one.
	StatusAt     time.Time `json:"status-at,omitzero"`
	StatusJitter float64   `json:"status-jitter,omitempty"`
}

// Interrupted is the hook or task that was running when the agent ended, if l
// is what its journal had then: unless the model has the run's stamp, it was
// killed in it.
func (l Local) Interrupted() (h hooks.Info, run int64, ok bool) {
	switch {
	case l.Task != nil:
		return l.Task.Hook, l.Task.Run, true
	case l.Current != nil && l.Current.Step == Pending && !l.Current.Over:
		return l.Current.Hook, l.Current.Run, true
	}
	return hooks.Info{}, 0, false
}

// NeverTold is the LeaderSettings of a unit that no hook has told of any.
const NeverTold = -1

// Seen has the versions of what a charm is told by hooks of the versioned
// kind: a hook is due while the world's differ.
type Seen struct {
	Config         string `json:"config,omitempty"` // hash; see state.Snapshot
	LeaderSettings int    `json:"leader-settings"`
	// Resources counts the times that the application was given resources.
	Resources int `json:"resources,omitempty"`
	// Boot names the time since the machine was last booted, in which start ran;
	// empty where the system has no name for it.
	Boot string `json:"boot,omitempty"`
}

// Step says how far a hook run has come.
type Step string

// The steps of a run that hasn't committed.
const (
	// Pending: the run began. Found when an agent starts, it is committed if
	// the model has its stamp. If not it was interrupted, unless it is Over.
	Pending Step = "pending"
	// Failed: the run ended badly, and waits for an answer.
	Failed Step = "failed"
)

// Current is a hook run in progress.
type Current struct {
	Hook hooks.Info `json:"hook"`
	Run  int64      `json:"run"`
	Step Step       `json:"step"`
	// Over: the hook had succeeded, and the agent had to stop while the model
	// couldn't be reached to commit what it wrote. So nobody has killed it.
	Over bool `json:"over,omitempty"`
	// Seen is what the charm will have been told once the hook commits.
	Seen Seen `json:"seen"`
	// Basis is what the run was begun on.
	Basis Basis `json:"basis,omitzero"`
	// Aside: should it fail, it stands aside.
	Aside bool `json:"aside,omitempty"`
	// Failure is set once the step is Failed.
	Failure *Failure `json:"failure,omitempty"`
	// Attempts counts the failures of this hook in a row.
	Attempts int `json:"attempts,omitempty"`
	// RetryAt is when it is run again by itself.
	RetryAt time.Time `json:"retry-at,omitzero"`
}

// Ending says how a run ended.
type Ending string

// The endings. A run that has failed or was interrupted ends once more when it
// is skipped or dropped; one that runs again is another run.
const (
	EndedCommitted   Ending = "committed"
	EndedFailed      Ending = "failed"
	EndedInterrupted Ending = "interrupted" // the agent was killed in it
	EndedStopped     Ending = "stopped"     // ended with its agent, or overtaken; it is decided on anew
	EndedSkipped     Ending = "skipped"     // resolved without running it again
	EndedDropped     Ending = "dropped"     // given up after a failure, as its cause is gone
	EndedCutShort    Ending = "cut-short"   // it has reached its limit, and counts as run, but for what it wrote
)

// Ended is the end of a run. The zero value is that of no run.
type Ended struct {
	Hook hooks.Info `json:"hook"`
	Run  int64      `json:"run"`
	How  Ending     `json:"how"`
	// Newest is the number of the newest run that had begun by then, where that
	// is another one: a failed hook is resolved after tasks that ran meanwhile.
	Newest  int64  `json:"newest,omitempty"`
	Message string `json:"message,omitempty"`
	Exit    int    `json:"exit,omitempty"`
}

// Failure says how a hook run failed.
type Failure struct {
	// Message is one line for people: "exit status 1".
	Message string `json:"message"`
	// Exit is the exit code; -1 where the hook didn't exit by itself.
	Exit int `json:"exit"`
	// Signal names the signal that ended the hook, if one did.
	Signal string `json:"signal,omitempty"`
	// Interrupted: the agent was killed while the hook ran.
	Interrupted bool `json:"interrupted,omitempty"`
	// TimedOut: the hook took longer than it may.
	TimedOut bool      `json:"timed-out,omitempty"`
	At       time.Time `json:"at"`
	// Output has the last lines that the hook printed, for people: both streams,
	// in their order, valid UTF-8. Whoever makes it bounds it.
	Output []string `json:"output,omitempty"`
	// Dropped says what the run wrote that has come to nothing, a line for each
	// write; bounded as Output is. An interrupted run's isn't known.
	Dropped []string `json:"dropped,omitempty"`
}

// New is the Local of an agent that has done nothing yet.
func New(unit model.UnitName) Local {
	return Local{Unit: unit, Seen: Seen{LeaderSettings: NeverTold}}
}

// clone is a copy that After may change: of l itself, of its current run, and of
// which relations there are. What is known of a relation is a value.
func (l Local) clone() Local {
	if l.Current != nil {
		c := *l.Current
		if c.Failure != nil {
			f := *c.Failure
			f.Output, f.Dropped = slices.Clone(f.Output), slices.Clone(f.Dropped)
			c.Failure = &f
		}
		l.Current = &c
	}
	if l.Task != nil {
		t := *l.Task
		l.Task = &t
	}
	l.Relations = maps.Clone(l.Relations)
	if l.Relations == nil {
		l.Relations = map[model.RelationID]relation.State{}
	}
	l.Secrets = maps.Clone(l.Secrets)
	if l.Secrets == nil {
		l.Secrets = map[model.SecretID]SecretTold{}
	}
	l.Storage, l.Workloads = maps.Clone(l.Storage), maps.Clone(l.Workloads)
	return l
}

// storageInOrder is the storage by name, then by number.
func (l Local) storageInOrder() []model.StorageID {
	return slices.SortedFunc(maps.Keys(l.Storage), model.CompareStorage)
}

// InOrder are the relations by endpoint name, then by id: the total order in
// which relation hooks of different relations run. Source: docs/guarantees.md.
func (l Local) InOrder() []relation.State {
	states := slices.Collect(maps.Values(l.Relations))
	slices.SortFunc(states, func(a, b relation.State) int {
		return cmp.Or(strings.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.ID, b.ID))
	})
	return states
}

// InLeavingOrder is InOrder with the peer relations last: what a unit has
// with its like goes when all else is gone.
func (l Local) InLeavingOrder() []relation.State {
	states := l.InOrder()
	slices.SortStableFunc(states, func(a, b relation.State) int {
		switch {
		case a.Peer == b.Peer:
			return 0
		case a.Peer:
			return 1
		}
		return -1
	})
	return states
}
