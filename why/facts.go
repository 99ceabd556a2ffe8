package why

import (
	"context"
	"encoding/json"
	"path/filepath"
	"runtime"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter/journal"
	"github.com/unitd/unitd/uniter/resolver"
)

// Facts are all that a sentence is made of.
type Facts struct {
	Unit state.UnitDoc
	// Now is the time. Agent is the status that the unit's agent has set last.
	Now   time.Time
	Agent model.Status
	// Hosted: the unit's agent runs on this host. Present: the model knows of one
	// for the unit's machine.
	Hosted, Present bool
	// System is what the systemd of the unit's machine says; zero: it has none.
	System model.System
	// Workload is the status that the charm has set.
	Workload model.Status
	// Arch is the architecture of this host, as constraints name it.
	Arch string
	// Elsewhere: its machine is another host.
	Elsewhere bool
	// Known: what the unit's agent remembers is on this machine; Local is that,
	// Remote what it would see, and Op what it does next.
	Known  bool
	Local  resolver.Local
	Remote resolver.Remote
	Op     resolver.Op
	// RetryAt is when the failed hook of a unit of another machine is run again by
	// itself; zero: it isn't, or that isn't known.
	RetryAt time.Time
	// Containers are the unit's workload containers, as its agent has told.
	Containers []state.ContainerDoc
	// Next is the image that it waits for before it has other ones; nil: none.
	Next *state.NextImage
	// ToRun are the hooks that are due, in their order, as far as can be told.
	ToRun []hooks.Info
	// Programs are the programs that run in the unit's hook, on Linux.
	Programs []string
	// Busy is another unit of the machine and the unit's lock group that runs a
	// hook or a task, with its status.
	Busy     model.UnitName
	BusyWith model.Status
	// Trouble is why the unit's agent can't write to its store, and TroubleSince
	// since when; empty: it can.
	Trouble      string
	TroubleSince time.Time
	// Going is the unit that has to go before a relation with Former, its
	// application, can be entered.
	Going  model.UnitName
	Former string
	// After is the unit that has to be ready before this one has its turn for other
	// containers, see state.UnitView.
	After model.UnitName
	// Images says of those that the unit's agent is fetching how far they are, by their
	// references.
	Images map[string]string
}

// Look gathers the facts about a unit of a model whose agents work in dir (see
// machine.Config.Dir). agent is what the unit's agent says there, nil where it
// doesn't run there. The error is NotFound where there is no such unit.
func Look(ctx context.Context, m *state.Model, dir string, unit model.UnitName, agent *machine.Word, now time.Time) (Facts, error) {
	f := Facts{Now: now, Hosted: agent != nil, Arch: model.ArchitectureOf(runtime.GOARCH)}
	s, err := m.Status(ctx)
	if err != nil {
		return f, errors.Trace(err)
	}
	found, group := false, ""
	for _, app := range s.Applications {
		for _, u := range app.Units {
			found = found || u.Name == unit
			if u.Name == unit {
				f.Unit, f.Containers, f.Next, f.After, group = u.UnitDoc, u.Containers.Containers, u.Containers.Next, u.After, app.LockGroup
				f.Workload = u.Workload
			}
		}
	}
	if !found {
		return f, errors.NotFoundf("unit %q", unit)
	}
	for _, host := range s.Machines {
		f.Present = f.Present || host.Present && host.ID == f.Unit.Machine
		if host.ID == f.Unit.Machine && host.System != nil {
			f.System = *host.System
		}
	}
	if f.Agent, err = m.StatusOf(ctx, state.AgentStatus, string(unit)); err != nil {
		return f, errors.Trace(err)
	}
	f.others(s, group, agent.Of(m))
	if agent != nil {
		f.hear(m, *agent)
	}
	return f, errors.Trace(f.remember(ctx, m, dir))
}

// hear takes from what the unit's agent says what it couldn't write to the store.
func (f *Facts) hear(m *state.Model, w machine.Word) {
	f.Images = w.Images
	untold, ok := w.Of(m)[f.Unit.Name]
	if !ok {
		return
	}
	f.Trouble, f.TroubleSince = w.Trouble, w.Since
	if untold.Agent != nil {
		f.Agent = *untold.Agent
	}
	if untold.Failed != nil {
		f.Unit.Failed = untold.Failed.Run
	}
	if untold.Containers != nil {
		f.Containers, f.Next = untold.Containers.Containers, untold.Containers.Next
	}
}

// others finds units that this one, of that lock group, may wait for. untold is what the
// agent here knows of units that the store doesn't: a hook that hasn't run for long.
func (f *Facts) others(s *state.FullStatus, group string, untold map[model.UnitName]state.Report) {
	for _, app := range s.Applications {
		for _, u := range app.Units {
			if now := untold[u.Name].Agent; now != nil {
				u.Agent = *now
			}
			if u.Name != f.Unit.Name && app.LockGroup == group && u.Machine == f.Unit.Machine && u.Agent.Status == model.StatusExecuting {
				f.Busy, f.BusyWith = u.Name, u.Agent
			}
			if u.Principal == f.Unit.Name && u.Life != model.Alive {
				f.Going, f.Former = u.Name, app.Name
			}
		}
	}
}

// remember reads what the unit's agent remembers, and finds out what it will do.
func (f *Facts) remember(ctx context.Context, m *state.Model, dir string) error {
	l, there, err := journal.Read(filepath.Join(machine.ModelDir(dir, m.UUID()), "agents", f.Unit.Name.Tag()))
	if err != nil || !there || l.ID != f.Unit.ID {
		return f.retry(ctx, m) // one that can't be read is what the agent says of itself
	}
	f.Known, l = true, l.At(f.Now)
	// What was decided before is taken as done where the model says that it is.
	for range 10 {
		if f.Remote, err = machine.Look(ctx, m, f.Unit.Name, l, f.Now); err != nil {
			return errors.Trace(err)
		}
		f.Op = resolver.Next(l, f.Remote)
		if f.Op.Verb != resolver.Finish && f.Op.Verb != resolver.FinishTask {
			break
		}
		l = resolver.After(l, f.Op, resolver.Event{Kind: resolver.Done, At: f.Now})
	}
	f.Local = l
	if _, run, ok := f.runs(); ok {
		f.Programs = runner.Running(machine.RunMark(m.UUID(), f.Unit.Name, f.Unit.ID, run))
	}
	f.ToRun = resolver.Due(l, f.Remote)
	return nil
}

// retry takes from what the agent of another machine has published when the unit's
// failed hook comes again.
func (f *Facts) retry(ctx context.Context, m *state.Model) error {
	if f.Unit.Failed == 0 {
		return nil
	}
	doc, err := m.Failure(ctx, f.Unit.Name)
	if err != nil || doc.Remembered == nil {
		return nil // it was resolved meanwhile
	}
	var l resolver.Local
	if json.Unmarshal(doc.Remembered, &l) != nil || l.Current == nil || l.Current.Run != f.Unit.Failed {
		return nil // the agent is of a version that publishes something else
	}
	r, err := machine.Look(ctx, m, f.Unit.Name, l, f.Now)
	if err == nil && r.Retry {
		f.RetryAt = l.Current.RetryAt
	}
	return errors.Trace(err)
}

// runs is the hook, or the task, that runs now, and its run; false: none does.
func (f *Facts) runs() (hooks.Info, int64, bool) {
	if !f.Known || !f.Hosted {
		return hooks.Info{}, 0, false
	}
	return f.Local.Interrupted()
}
