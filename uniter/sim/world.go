package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
	"github.com/unitd/unitd/uniter/resolver"
)

// World is one unit, its agent and the model around them. Copies share nothing
// that changes: an assignment is enough to try something out. Model is moved by
// Act, the agent by Decide, Do, Kill and Settle. Make one with New.
type World struct {
	// Model is the truth, and the time.
	Model resolver.Remote
	// Local is what the agent has in mind, Disk what its journal has. They
	// differ after a hook: that it committed is stamped in the model only.
	Local, Disk resolver.Local
	// Former is what the journal had before Disk: its other slot.
	Former resolver.Local
	// Dir is the URL of the charm in the charm directory.
	Dir string
	// Monitor has been told of every hook run.
	Monitor Monitor

	seen    resolver.Remote // the agent's last look
	hand    resolver.Op     // what it decided and has not done; zero: nothing
	ending  string          // relations that are Dying, as "3,4,"
	setting int             // the value of the configuration
	charm   charm           // what the charm knows
	tasks   queue
	// containers is what there is to know of the unit's, beside the model.
	containers containers
	asks       bool             // the next hook that can will ask to run again
	wishes     []resolver.Again // of hooks that have asked
	begun      string           // what the newest run was begun on
	lost       bool             // the journal was lost, and nothing made up for it yet
	forced     bool             // the unit was made Dead, or taken away, by force
}

// charm is what the hooks that ran have shown to the charm besides relations.
type charm struct {
	now, next resolver.Seen // next: with the run that is under way, or has failed
	url       string        // of install or the last upgrade-charm
	upgraded  bool          // upgrade-charm came after the last config-changed
	leads     bool
	replaced  bool // start is owed, as the containers were replaced
}

// lost stands for the charm that the hooks know where its directory was lost, or
// was changed and changed back.
const lost = "lost"

// New is the world of a unit that has just been added to an application with
// the charm, and leads it if leader. No time passes but by Act("wait …").
func New(unit model.UnitName, charmURL string, leader bool) World {
	w := World{Local: resolver.New(unit), setting: 1}
	w.Disk, w.Former = w.Local, w.Local
	w.Monitor.Unit = unit
	w.charm.now.LeaderSettings = resolver.NeverTold
	w.Model = resolver.Remote{Now: time.Unix(0, 0).UTC(), Charm: charmURL, Leader: leader, Want: resolver.Seen{Boot: "boot"}}
	w.configure()
	return w
}

// configure makes the hash of what config-changed tells of.
func (w *World) configure() {
	w.Model.Want.Config = fmt.Sprintf("%d with %s", w.setting, w.Model.Charm)
	w.Model.Settings = fmt.Sprint(w.setting)
	if w.Model.Sidecar {
		w.Model.Want.Config = w.Model.Settings
	}
}

// Look reads the model, as the agent does before it decides.
func (w *World) Look() {
	w.seen = w.Model
	if w.Local.Charm == "" {
		w.seen.Relations = nil // which endpoints there are is known by the charm only
	}
}

// Decide looks and takes in hand what the agent does next.
func (w *World) Decide() resolver.Op {
	w.Look()
	w.hand = resolver.Next(w.Local, w.seen)
	return w.hand
}

// Busy says whether the agent has an operation in hand.
func (w *World) Busy() bool { return w.hand.Verb != "" }

// atRest says whether there is nothing to be done of an operation.
func atRest(op resolver.Op) bool {
	return op.Verb == "" || op.Verb == resolver.Idle || op.Verb == resolver.Terminate
}

// Do does what the agent has in hand; the error is a *Broken, or says what
// else was wrong with doing it.
func (w *World) Do(how How) error {
	op := w.hand
	w.hand = resolver.Op{}
	if op.Verb == resolver.RunHook {
		return w.runHook(op, how)
	}
	if op.Verb == resolver.RunTask {
		return w.runTask(op, how)
	}
	if err := w.asked(op); err != nil {
		return err
	}
	w.affect(op)
	if how == KilledAfter {
		w.Kill()
		return nil
	}
	var err error
	switch op.Verb {
	case resolver.Finish, resolver.Requeue:
		// The monitor was told when the run committed, or was stopped.
	case resolver.Skip:
		err = w.Monitor.Hook(op.Hook, Skipped)
		w.show(op.Hook)
		w.wished(op.Hook, nil)
	case resolver.Discard:
		err = w.Monitor.Hook(op.Hook, Dropped)
	case resolver.Replace:
		if op.Run > 0 {
			err = w.Monitor.Hook(op.Hook, Dropped)
		}
	case resolver.Forget:
		for _, id := range op.Relations {
			w.Monitor.Gone(id)
		}
		for _, id := range op.Storage {
			w.Monitor.GoneStorage(id)
		}
	case resolver.Resign:
		w.charm.leads = false
	case resolver.Unqueue:
		w.wished(op.Hook, nil)
	case resolver.Interrupt:
		if w.Local.Current.Aside {
			w.stoodAside(op.Hook, true)
		}
	case resolver.SetAside:
		w.Monitor.failed = nil
		w.Monitor.standAside(op.Hook)
		w.stoodAside(op.Hook, true)
	}
	w.become(op, resolver.Event{Kind: resolver.Done, At: w.Model.Now}, true)
	if op.Verb == resolver.Recall {
		w.recalled()
	}
	return err
}

func (w *World) runHook(op resolver.Op, how How) error {
	if err := w.asked(op); err != nil {
		return err
	}
	w.begun = w.basis(op.Hook)
	w.become(op, resolver.Event{Kind: resolver.Began, At: w.Model.Now}, true)
	if err := w.look(op.Hook); err != nil {
		return err
	}
	outcome := map[How]Outcome{Well: Succeeded, KilledAfter: Succeeded, Badly: Failed, KilledWithin: Failed, StoppedAgent: Stopped, StoppedAtCommit: Stopped, Overdue: Succeeded}[how]
	if op.Aside && outcome == Failed {
		outcome = Aside
	}
	if err := w.Monitor.Hook(op.Hook, outcome); err != nil {
		return err
	}
	if outcome == Succeeded || outcome == Aside {
		w.stoodAside(op.Hook, outcome == Aside)
	}
	event := resolver.Event{At: w.Model.Now}
	switch how {
	case Overdue:
		event.Kind = resolver.Broke
		event.Failure = resolver.Failure{Message: "timed out after 30s", Exit: -1, TimedOut: true, At: w.Model.Now}
		w.show(op.Hook)
		w.wished(op.Hook, nil)
	case Well, KilledAfter:
		event.Kind, event.Requeue = resolver.Done, w.wish(op.Hook)
		w.commit(op, event.Requeue)
	case Badly:
		event.Kind = resolver.Broke
		event.Failure = resolver.Failure{Message: "exit status 1", Exit: 1, At: w.Model.Now}
	case StoppedAgent:
		event.Kind = resolver.Requeued
	case StoppedAtCommit:
		event.Kind = resolver.CutOff
	}
	switch how {
	case KilledWithin, KilledAfter:
		w.Kill()
		return nil
	}
	w.become(op, event, how != Well)
	if how == StoppedAgent || how == StoppedAtCommit {
		w.Kill()
	}
	return nil
}

// look is the charm's own look at the world as its hook runs, and what is wrong
// if the hook had no cause.
func (w *World) look(h hooks.Info) error {
	w.charm.next = w.charm.now
	switch h.Kind {
	case hooks.ConfigChanged:
		w.charm.next.Config = w.seen.Want.Config
	case hooks.LeaderElected, hooks.LeaderSettingsChanged:
		w.charm.next.LeaderSettings = w.seen.Want.LeaderSettings
	case hooks.Install, hooks.UpgradeCharm:
		w.charm.next.Resources = w.seen.Want.Resources
	case hooks.Start:
		w.charm.next.Boot = w.seen.Want.Boot
	}
	about := facts()
	if h.Again {
		about = againFacts()
	}
	for _, f := range about {
		if why := f.broken(w, h); why != "" {
			return &Broken{f.Guarantee, h, why}
		}
	}
	return nil
}

// show takes what the charm saw in a run as known to it.
func (w *World) show(h hooks.Info) {
	w.charm.now = w.charm.next
	if h.Again {
		return
	}
	switch h.Kind {
	case hooks.LeaderElected:
		w.charm.leads = true
	case hooks.Install:
		w.charm.url = w.Dir
	case hooks.UpgradeCharm:
		w.charm.url, w.charm.upgraded = w.Dir, true
	case hooks.ConfigChanged:
		w.charm.upgraded = false
	case hooks.Start:
		w.charm.replaced = false
	}
}

// commit is the model transaction of a run: its stamp, and with broken the
// leaving of the scope.
func (w *World) commit(op resolver.Op, again *model.Requeue) {
	w.show(op.Hook)
	w.Model.Committed, w.Model.Memory = op.Run, resolver.Remember(w.Local, again)
	w.wished(op.Hook, again)
	if op.Hook.Kind == hooks.RelationBroken {
		w.leaveScope(op.Hook.RelationID)
	}
	if op.Hook.Kind == hooks.StorageDetaching {
		w.detached(op.Hook.Storage)
	}
}

// affect is what an operation does to the world outside the agent's memory.
func (w *World) affect(op resolver.Op) {
	switch op.Verb {
	case resolver.Deploy:
		// In error a forced upgrade is not told of (seed 004, unit hooks).
		switch {
		case w.charm.url == "":
		case w.waits() && w.charm.url == w.Dir:
			w.charm.url = op.Charm
		case w.Dir == "", w.charm.url == op.Charm:
			w.charm.url = lost
		}
		w.Dir = op.Charm
		if w.Local.Run == 0 && op.Pod > 0 {
			w.containers.pod = op.Pod // it begins with those
		}
	case resolver.EnterScope:
		for _, id := range op.Relations {
			w.edit(id, func(s *relation.Snapshot) {
				s.InScope = s.InScope || s.Live && !s.NotYet && w.Model.Life == model.Alive
			})
		}
	case resolver.LeaveScope:
		for _, id := range op.Relations {
			w.leaveScope(id)
		}
	case resolver.Replace:
		w.replaced(op.Pod)
	case resolver.AbortTask:
		w.abortTask(op)
	case resolver.Detach:
		for _, id := range op.Storage {
			w.detached(id)
		}
	case resolver.MarkDying:
		w.die()
	case resolver.MarkDead:
		w.Model.Life = model.Dead
	}
}

// recalled is what the agent's recalling means to the charm.
func (w *World) recalled() {
	switch {
	case w.lost:
		w.lost, w.containers.retry = false, nil
		w.charm.replaced = w.Local.Replaced // that start was skipped is lost
		w.Monitor.Lost(w.Local)
	case w.Local.Upgraded && w.charm.url == w.Dir:
		// The record of install was lost: the agent can't tell that from the loss
		// of all, and the charm is told so.
		w.charm.url = lost
	}
}

// become takes note of what became of op; in the journal too if store.
func (w *World) become(op resolver.Op, e resolver.Event, store bool) {
	w.Local = resolver.After(w.Local, op, e)
	if store {
		w.Former, w.Disk = w.Disk, w.Local
	}
}

// Kill ends the agent and starts it again: it knows what its journal has, and
// which charm lies in the charm directory.
func (w *World) Kill() {
	w.hand = resolver.Op{}
	w.Local = resolver.Resume(w.Disk, w.Dir, w.Model.Now)
	w.Disk = w.Local
}

// Settle lets the agent work until it has nothing to do, and returns the hooks
// that ran. how says how each run ends. The error is that of Do, or says that
// the agent doesn't come to rest.
func (w *World) Settle(how func(hooks.Info) How) ([]hooks.Info, error) {
	var ran []hooks.Info
	for range 500 {
		op := w.Decide()
		if atRest(op) {
			w.hand = resolver.Op{}
			return ran, nil
		}
		h := Well
		if op.Verb == resolver.RunHook {
			ran = append(ran, op.Hook)
			h = how(op.Hook)
		}
		if err := w.Do(h); err != nil {
			return ran, err
		}
	}
	return ran, &Broken{Guarantee: factRest, Why: "it is still at work after 500 operations"}
}

// edit replaces the snapshot of a relation by a changed copy, so that other
// worlds, and what the agent saw, stay as they are. It says whether there is
// such a relation.
func (w *World) edit(id model.RelationID, change func(*relation.Snapshot)) bool {
	i := slices.IndexFunc(w.Model.Relations, func(s relation.Snapshot) bool { return s.ID == id })
	if i < 0 {
		return false
	}
	w.Model.Relations = slices.Clone(w.Model.Relations)
	s := &w.Model.Relations[i]
	change(s)
	// The last to leave a Dying relation removes it (seed 000).
	if w.isEnding(id) && !s.InScope && len(s.Members) == 0 {
		w.Model.Relations = slices.Delete(w.Model.Relations, i, i+1)
	}
	return true
}

func (w *World) leaveScope(id model.RelationID) {
	w.edit(id, func(s *relation.Snapshot) { s.InScope = false })
}

func (w *World) isEnding(id model.RelationID) bool {
	return slices.Contains(strings.Split(w.ending, ","), fmt.Sprint(int(id)))
}
