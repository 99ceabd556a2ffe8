package resolver

import (
	"maps"
	"slices"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
)

// Memory is what the model keeps beside a run's stamp, written in the same
// transaction: what an agent must know whose own disk was lost, or has lost its
// newest record. It is small, however many relations the unit has: what they
// have told is on the agent's disk alone.
type Memory struct {
	// Run is the run that it was committed with, Hook its hook or task, and Seen
	// what the charm has been told with it.
	Run  int64      `json:"run"`
	Hook hooks.Info `json:"hook"`
	Seen Seen       `json:"seen"`

	Installed  bool `json:"installed,omitempty"`
	Configured bool `json:"configured,omitempty"`
	Started    bool `json:"started,omitempty"`
	Stopped    bool `json:"stopped,omitempty"`
	Removed    bool `json:"removed,omitempty"`
	Leader     bool `json:"leader,omitempty"`
	// Created are the relations whose created has run and whose broken has not,
	// sorted.
	Created []model.RelationID `json:"created,omitempty"`
	// Things says that Storage and Secrets are known, which earlier unitds didn't write.
	Things bool `json:"things,omitempty"`
	// Storage are the instances of Local.Storage, in order.
	Storage []model.StorageID `json:"storage,omitempty"`
	// Secrets is Local.Secrets, or the first rememberedSecrets of it.
	Secrets map[model.SecretID]SecretTold `json:"secrets,omitempty"`
	// Again is Local.Again.
	Again []Again `json:"again,omitempty"`
	// Workloads is Local.Workloads without what the failed hooks have printed, and
	// Pod and Replaced are Local's too.
	Workloads map[string]WorkloadTold `json:"workloads,omitempty"`
	Pod       int                     `json:"pod,omitempty"`
	Replaced  bool                    `json:"replaced,omitempty"`
}

// rememberedSecrets bounds of how many secrets the model keeps what was told of
// them: each commit of the unit writes it.
const rememberedSecrets = 100

// Remember is the memory that goes with the commit of l's task or pending run;
// the zero one where there is neither. A task tells the charm of nothing. again
// is the hook's wish to be run again; nil: none.
func Remember(l Local, again *model.Requeue) Memory {
	m := Memory{}
	switch {
	case l.Task != nil:
		m.Run, m.Hook = l.Task.Run, l.Task.Hook
	case l.Current != nil:
		m.Run, m.Hook = l.Current.Run, l.Current.Hook
		l = told(l.clone(), *l.Current, Event{Requeue: again})
	default:
		return m
	}
	m = Memory{
		Run: m.Run, Hook: m.Hook, Seen: l.Seen,
		Installed: l.Installed, Configured: l.Configured, Started: l.Started, Stopped: l.Stopped, Removed: l.Removed,
		Leader: l.Leader, Again: l.Again, Workloads: rememberedWorkloads(l.Workloads), Pod: l.Pod, Replaced: l.Replaced,
	}
	for id, s := range l.Relations {
		if s.Created {
			m.Created = append(m.Created, id)
		}
	}
	slices.Sort(m.Created)
	m.Things, m.Storage = true, l.storageInOrder()
	for n, id := range slices.Sorted(maps.Keys(l.Secrets)) {
		if n == 0 {
			m.Secrets = map[model.SecretID]SecretTold{}
		}
		if n < rememberedSecrets {
			m.Secrets[id] = l.Secrets[id]
		}
	}
	return m
}

// lost finds out that the model has a run which the agent knows nothing of: the
// agent's disk was lost, or its newest record was. Without this rule such an
// agent would run install again.
func lost(l Local, r Remote) (Op, bool) {
	if r.Committed <= l.Run {
		return Op{}, false
	}
	// Only with a charm can be told which relations there are.
	if l.Charm == "" && r.Charm != "" {
		return Op{Verb: Deploy, Charm: r.Charm, Reason: "the unit's directory is lost"}, true
	}
	op := Op{Verb: Recall, Run: r.Committed, Memory: r.Memory, Reason: "the model has a run that the journal doesn't have"}
	for _, snap := range r.Relations {
		if snap.InScope {
			op.Entering = append(op.Entering, snap)
		}
	}
	op.Leaving = r.Life != model.Alive
	return op, true
}

// recalled is what the agent knows with what the model does. If it has missed
// one run only, it knows what that one has told, and all is as it was; a hook
// that has failed before a task still waits. Else the
// charm may have missed anything, and is told so by upgrade-charm and
// config-changed; what it is told of its relations begins after their created.
func recalled(l Local, op Op, e Event) Local {
	nothing := l.Run == 0
	m, known := op.Memory, l.Run > 0 && op.Run == l.Run+1 && op.Memory.Run == op.Run
	l.Run = op.Run
	if known && m.Hook.IsTask() {
		l.Task = &TaskRun{m.Hook, m.Run}
		return taskEnded(l, EndedCommitted, "")
	}
	l.Current = nil
	if known {
		l = committed(l, Current{Hook: m.Hook, Run: m.Run, Seen: m.Seen}, e)
		l.Again, l.Workloads = m.Again, maps.Clone(m.Workloads)
		return l
	}
	l.Installed = true // nothing is committed before it
	l.Configured, l.Started = l.Configured || m.Configured, l.Started || m.Started
	l.Stopped, l.Removed = l.Stopped || m.Stopped, l.Removed || m.Removed
	l.Leader = m.Leader
	if m.Run > 0 {
		l.Seen, l.Again = m.Seen, m.Again
		l.Workloads, l.Pod, l.Replaced = maps.Clone(m.Workloads), m.Pod, m.Replaced
		l = l.recalledThings(m, e.At, nothing)
	}
	if !l.Stopped && !l.Removed {
		l.Upgraded, l.Forgotten, l.Seen.Config = true, true, ""
	}
	l.StatusAt, l.StatusJitter = e.At, e.Jitter
	for _, snap := range op.Entering {
		if _, known := l.Relations[snap.ID]; known {
			continue
		}
		s := relation.New(snap)
		s.Created = s.Created || slices.Contains(m.Created, snap.ID)
		if s.Created && (op.Leaving || !snap.Live) {
			s = s.With(snap.Members)
		}
		l.Relations[snap.ID] = s
	}
	return l
}

// recalledThings has what the charm was told of storage and secrets be as the
// model has it. The hook that committed last has no time there: it is now. Where nothing was left of
// the unit, its storage may be another one, and is told of anew.
func (l Local) recalledThings(m Memory, now time.Time, nothing bool) Local {
	if !m.Things {
		return l
	}
	l.Storage, l.Secrets = map[model.StorageID]bool{}, map[model.SecretID]SecretTold{}
	for _, id := range m.Storage {
		l.Storage[id] = !nothing
	}
	for id, told := range m.Secrets {
		if told.Rotated.IsZero() && m.Hook.Kind == hooks.SecretRotate && m.Hook.Secret == id {
			told.Rotated = now
		}
		told.Expired = maps.Clone(told.Expired)
		for revision, at := range told.Expired {
			if at.IsZero() {
				told.Expired[revision] = now
			}
		}
		l.Secrets[id] = told
	}
	return l
}
