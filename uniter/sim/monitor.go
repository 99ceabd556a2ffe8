package sim

import (
	"fmt"
	"maps"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// Outcome says what became of a hook run.
type Outcome string

// The outcomes.
const (
	// Succeeded: the run has committed.
	Succeeded Outcome = "succeeded"
	// Failed: the run ended badly, or was cut off with its agent; the unit is
	// in error.
	Failed Outcome = "failed"
	// Skipped: the operator wants the failed run taken as if it had succeeded.
	Skipped Outcome = "skipped"
	// Stopped: the run was ended by an orderly stop of the agent.
	Stopped Outcome = "stopped"
	// Aside: the run of a workload hook has failed, and holds nothing up.
	Aside Outcome = "stood aside"
	// Dropped: the failed run was given up because its cause is gone.
	Dropped Outcome = "dropped"
)

// Monitor watches the hooks of one unit for what breaks a guarantee. It knows
// only what a charm could know. The zero value is for a unit that has run no
// hook; a Monitor must not be used by two goroutines at once.
type Monitor struct {
	// Unit is whose hooks they are; empty: peers aren't told from others.
	Unit model.UnitName

	installed, configured, started, stopped, removed bool
	// last is the kind of the hook that the charm was last told by.
	last hooks.Kind
	// failed is the run that waits for an answer; nil: none.
	failed *hooks.Info
	// leaving: a departed hook has said that it is this unit that leaves.
	leaving bool
	// task is the number of the task that ran last.
	task int
	told map[model.RelationID]told
	// unsure are the relations of which the agent has forgotten what it has told,
	// until they are told anew or broken: see Forgot.
	unsure map[model.RelationID]bool
	// attached has the storage of which attached has run, and detaching not.
	attached map[model.StorageID]bool
	// anew has those of them of which attached may run once more: the agent has lost all of the unit.
	anew map[model.StorageID]bool
	// ready is the start of Pebble that each container's pebble-ready has told of,
	// heard the newest notice of each, and aside what has failed and holds nothing up.
	ready map[string]string
	heard map[string]time.Time
	aside map[string]hooks.Info
	// halted: stop has run as the containers are replaced, and start not yet;
	// halting: that stop has failed.
	halted, halting bool
	// row is how many hooks of containers the charm was told by one after the other,
	// up to resolver.MostInARow.
	row int
}

// told is what a charm was told of one relation.
type told struct {
	members     map[model.UnitName]int // with the version last told
	application int
	owed        model.UnitName // its joined ran and its changed did not
	remote      string         // the other application
}

// Broken is the error of a Monitor: a guarantee that doesn't hold.
type Broken struct {
	Guarantee Guarantee
	Hook      hooks.Info // the hook that broke it; zero at the end
	Why       string
}

// Error is one line with the guarantee's sentence.
func (b *Broken) Error() string {
	if b.Hook.Kind == "" {
		return fmt.Sprintf("%s; but %s", b.Guarantee.Sentence, b.Why)
	}
	return fmt.Sprintf("%s; but %s ran %s", b.Guarantee.Sentence, b.Hook, b.Why)
}

// Hook tells the monitor of a run that has ended, and returns a *Broken if it
// should not have run when it did. Skipped and Dropped tell of the run that
// failed last.
func (m *Monitor) Hook(h hooks.Info, o Outcome) error {
	if o == Skipped || o == Dropped {
		if _, aside := m.aside[asideKey(h)]; !aside && (m.failed == nil || !same(*m.failed, h)) {
			return &Broken{Guarantee{"only a failed run is skipped or dropped", "docs/spec/uniter-behaviour.md §4", nil}, h, "and had not failed"}
		}
	} else if !m.unsure[h.RelationID] || !h.IsRelation() {
		all := Guarantees()
		if h.Again {
			all = againGuarantees()
		}
		for _, g := range all {
			if why := g.broken(m, h); why != "" {
				return &Broken{g, h, why}
			}
		}
	}
	switch o {
	case Failed:
		m.halting = m.halts(h)
		m.failed = &h
	case Aside:
		m.failed = nil
		m.standAside(h)
	case Stopped:
		m.failed = nil
	case Dropped:
		m.failed = nil
		if h.Kind == hooks.Start {
			m.last = "" // its containers are replaced, and it comes after another config-changed
		}
	case Succeeded, Skipped:
		m.failed = nil
		m.tell(h)
	}
	return nil
}

// Gone tells the monitor that a relation was taken out of the model by force:
// nothing more of it is owed.
func (m *Monitor) Gone(id model.RelationID) {
	m.told = maps.Clone(m.told)
	delete(m.told, id)
}

// Lost tells the monitor that the agent's disk was lost, and what it has made up
// from the model: a failure is forgotten, and who isn't a member any more joins
// again.
func (m *Monitor) Lost(l resolver.Local) {
	m.failed = nil
	m.told = maps.Clone(m.told)
	for id, r := range m.told {
		r.members, r.application, r.owed = map[model.UnitName]int{}, l.Relations[id].Application, ""
		for _, m := range l.Relations[id].Members {
			r.members[m.Unit] = m.Version
		}
		m.told[id] = r
	}
}

// Forgot is Lost for who doesn't know what the agent has made up: relations that
// the charm was told of may be told anew, or broken, in any way.
func (m *Monitor) Forgot() {
	m.failed, m.anew, m.unsure = nil, maps.Clone(m.attached), map[model.RelationID]bool{}
	for id := range m.told {
		m.unsure[id] = true
	}
}

// End tells the monitor that the agent has ended because its unit went in good
// order (not by force), and returns a *Broken if something was still owed.
func (m *Monitor) End() error {
	why := ""
	switch {
	case m.failed != nil:
		why = fmt.Sprintf("%s had failed", m.failed)
	case len(m.told) > 0:
		why = fmt.Sprintf("%d relations were not broken", len(m.told))
	case len(m.attached) > 0:
		why = fmt.Sprintf("%d instances of storage were not detached", len(m.attached))
	case m.started && !m.stopped && !m.halted:
		why = "stop did not run"
	case m.installed && !m.removed:
		why = "remove did not run"
	}
	if why == "" {
		return nil
	}
	return &Broken{Guarantee: Guarantee{"a unit goes when its relations are broken and stop and remove have run", "seed 004, unit hooks", nil}, Why: why}
}

// tell moves on what the charm knows. Maps are replaced, never written to, so
// that copies of a Monitor can share them.
func (m *Monitor) tell(h hooks.Info) {
	m.count(h)
	if h.IsWorkload() {
		m.begin(h)
	}
	if h.Again {
		return // there was nothing new to tell
	}
	m.last = h.Kind
	switch h.Kind {
	case hooks.Install:
		m.installed = true
	case hooks.ConfigChanged:
		m.configured = true
	case hooks.Start:
		m.started, m.halted = true, false
	case hooks.Stop:
		m.halted, m.stopped = m.halts(h), !m.halts(h)
		m.halting = false
	case hooks.Remove:
		m.removed = true
	}
	if h.IsRelation() {
		m.tellRelation(h)
	}
	if h.IsStorage() {
		m.tellStorage(h)
	}
	if h.IsWorkload() {
		m.tellWorkload(h)
	}
}

func (m *Monitor) tellRelation(h hooks.Info) {
	all := maps.Clone(m.told)
	if all == nil {
		all = map[model.RelationID]told{}
	}
	m.told = all
	if h.Kind == hooks.RelationBroken {
		delete(all, h.RelationID)
		m.unsure = maps.Clone(m.unsure)
		delete(m.unsure, h.RelationID)
		return
	}
	r := all[h.RelationID]
	if r.remote == "" {
		r.remote = h.RemoteApp
	}
	r.members = maps.Clone(r.members)
	if r.members == nil {
		r.members = map[model.UnitName]int{}
	}
	switch h.Kind {
	case hooks.RelationJoined:
		r.members[h.RemoteUnit], r.owed = h.Version, h.RemoteUnit
	case hooks.RelationChanged:
		if h.RemoteUnit == "" {
			r.application = h.Version
			break
		}
		r.members[h.RemoteUnit], r.owed = h.Version, ""
	case hooks.RelationDeparted:
		delete(r.members, h.RemoteUnit)
		m.leaving = m.leaving || h.Departing != h.RemoteUnit
	}
	all[h.RelationID] = r
}

// same says whether two runs are of the same hook.
func same(a, b hooks.Info) bool {
	return a.Kind == b.Kind && a.RelationID == b.RelationID && a.RemoteUnit == b.RemoteUnit && a.Storage == b.Storage &&
		a.Workload == b.Workload && a.NoticeID == b.NoticeID
}
