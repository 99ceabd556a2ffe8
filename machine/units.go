package machine

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/state"
)

// reconcile starts the agents of units that have none, ends those of units that
// are gone, takes Dead units away, and clears away what is left of units that
// the model doesn't have, or has elsewhere (seed 000, "Agents").
func (a *modelAgent) reconcile(ctx context.Context) error {
	units, err := a.model.Units(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	var starting []*running
	there, ids := map[string]bool{}, map[model.UnitName]string{}
	clear(a.elsewhere)
	for _, doc := range units {
		if !a.Machine.hosts(doc) {
			a.elsewhere[doc.Name] = true
			continue
		}
		there[doc.Name.Tag()] = true
		if doc.Life != model.Dead {
			ids[doc.Name] = doc.ID
		}
		if _, ok := a.units[doc.Name]; ok {
			continue
		}
		switch {
		case doc.Life == model.Dead || doc.Life == model.Dying && !doc.Deployed:
			if err := a.takeAway(ctx, doc); err != nil {
				a.log.Error("cannot remove a unit", "unit", doc.Name, "err", err)
			}
		case !doc.Deployed && !a.present.now().suits(doc.Arch):
			if err := a.sayUnsuited(ctx, doc); err != nil {
				return errors.Trace(err)
			}
		default:
			starting = append(starting, a.add(doc))
		}
	}
	for name, u := range a.units {
		if id, ok := ids[name]; !ok || id != u.id {
			u.dismiss()
		}
	}
	a.clearFormer(ctx, there)
	if len(starting) == 0 {
		return errors.Trace(a.finish(ctx))
	}
	// Leadership and presence come before the agents: one that finds itself
	// without the leadership that it had would resign.
	if err := a.claimFor(ctx, starting); err != nil {
		for _, u := range starting {
			a.drop(u.name)
		}
		return errors.Trace(err)
	}
	for _, u := range starting {
		a.start(ctx, u)
	}
	return nil
}

// finish takes a model away that is Dying and empty.
func (a *modelAgent) finish(ctx context.Context) error {
	info, err := a.model.Info(ctx)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil || info.Life == model.Alive {
		return errors.Trace(err)
	}
	_, err = a.model.RemoveIfEmpty(ctx)
	return errors.Trace(err)
}

// former ends what is left running of units that are gone.
func (a *modelAgent) former() former {
	return former{dir: a.Dir, uuid: a.model.UUID(), cgroups: a.cgroups, log: a.log}
}

// lostModel says whether the store doesn't have the model itself any more: units
// that it doesn't have either were not removed one by one then. If the model was,
// all goes with it, see agent.removed.
func (a *modelAgent) lostModel(ctx context.Context) bool {
	_, err := a.model.Info(ctx)
	return errors.Is(err, errors.NotFound)
}

// clearFormer removes the directories of units that the model doesn't have.
func (a *modelAgent) clearFormer(ctx context.Context, there map[string]bool) {
	if a.lostModel(ctx) {
		return
	}
	dir := filepath.Join(a.dir, "agents")
	entries, err := os.ReadDir(dir)
	if err != nil {
		a.log.Error("cannot look for former units", "err", err)
	}
	for name := range a.units {
		there[name.Tag()] = true
	}
	a.clearCells(there)
	for _, e := range entries {
		if !there[e.Name()] && !a.stuck[e.Name()] {
			a.log.Info("clearing away what is left of a unit that is not in the model", "directory", e.Name())
			a.former().endIn(ctx, filepath.Join(dir, e.Name()))
			if err := clearAway(a.Disk, filepath.Join(dir, e.Name())); err != nil {
				a.stuck[e.Name()] = true
				a.log.Error("cannot remove what is left of a unit", "err", err)
			}
			a.charms.Ask()
		}
	}
}

// takeAway removes a unit that has no agent.
func (a *modelAgent) takeAway(ctx context.Context, doc state.UnitDoc) error {
	a.clearUnit(ctx, doc.Name)
	if doc.Life != model.Dead {
		if err := a.model.Of(doc).SetDead(ctx, doc.Name); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(a.model.RemoveUnit(ctx, doc.Name))
}

// clearUnit takes away what is on this machine of a unit that is gone, or is
// going. What can't be removed is no reason to keep the unit: it is out of the
// way, and people are told.
func (a *modelAgent) clearUnit(ctx context.Context, name model.UnitName) {
	if a.lostModel(ctx) {
		return
	}
	dir := filepath.Join(a.dir, "agents", name.Tag())
	a.former().endIn(ctx, dir)
	a.removeCell(name.Tag())
	defer a.charms.Ask()
	if err := clearAway(a.Disk, dir); err != nil {
		a.log.Error("cannot remove what is left of a unit", "unit", name, "err", err)
	}
}

// add makes a unit one of those hosted here; start starts its agent.
func (a *modelAgent) add(doc state.UnitDoc) *running {
	m := a.model.Of(doc)
	u := &running{gone: make(chan struct{}), unit: &unit{
		name: doc.Name, id: doc.ID, principal: doc.Principal, machine: doc.Machine, pod: doc.Pod, reboot: doc.Reboot,
		model: m, patient: m.Through(patient{a.health}), lookout: m.Lookout(doc.Name), clock: a.Clock, log: a.log, debugLog: a.debugLog, present: a.present, host: a.present.now(), lease: a.lease, health: a.health, spares: a.spares,
		disk: a.Disk, charms: a.charms, dir: filepath.Join(a.dir, "agents", doc.Name.Tag()),
		former:  a.former(),
		runner:  &runner.Runner{Disk: a.Disk, Cgroups: a.cgroups, Reaper: a.Reaper},
		history: HistoryDir(a.Dir, a.model.UUID()), recent: a.recent, version: a.Version,
		keeper: recording.NewKeeper(a.Disk, RecordingsDir(a.Dir, a.model.UUID()), doc.Name),
		turns:  &a.turns, slots: a.slots, handing: a.handing, changed: make(chan struct{}, 1), observer: a.Observer, tracer: a.Tracer, atPoint: a.At, instead: a.Instead, runAround: a.Around, secretID: a.SecretID, passed: a.StatusPassed, secretsPassed: a.SecretsPassed, gated: a.Gate != nil, runTwice: a.Twice, containers: a.Containers, rebooter: a.rebooter,
		idle: a.tellIdle, seen: &unseen, running: &notRun,
		cells: a.Cells, wiring: a.wiring, cluster: a.cluster, client: a.Client, dataDir: a.Dir, shared: a.Shared, environment: a.Environment, outside: a.outside,
	}}
	u.takeHanded()
	u.toolsDir = a.own.Dir(ownToolsDir(u.dir))
	u.desire = a.telling.of(doc.Name, doc.ID, m, a.tellIdle, u.poke)
	if doc.Pod && doc.Principal == "" {
		u.ready = newReadiness(u.unit, a.tellIdle)
	}
	u.idleAt.Store(-1)
	u.until.Store(math.MaxInt64)
	a.units[doc.Name] = u
	if u.principal != "" {
		a.nested++
	}
	return u
}

// drop takes a unit out of those that are hosted here.
func (a *modelAgent) drop(name model.UnitName) {
	if u, ok := a.units[name]; ok && u.principal != "" {
		a.nested--
	}
	delete(a.units, name)
}

func (a *modelAgent) start(ctx context.Context, u *running) {
	ctx, u.stop = context.WithCancel(ctx)
	a.wait.Add(1)
	go func() {
		defer a.wait.Done()
		u.err = u.run(ctx)
		a.ended <- u.name
	}()
}

// dismiss ends the agent of a unit that is gone, with the hook that it runs.
func (u *running) dismiss() {
	if !u.isGone() {
		close(u.gone)
		u.stop()
	}
}

func (u *running) isGone() bool {
	select {
	case <-u.gone:
		return true
	default:
		return false
	}
}

// endedAtOnce bounds the units that are seen to before anything else is.
const endedAtOnce = 64

// unitsEnded sees to a unit whose agent has ended, and to the others that have meanwhile. All
// units are looked at only once then, where thousands are removed.
func (a *modelAgent) unitsEnded(ctx context.Context, name model.UnitName) error {
	over, err := a.unitEnded(ctx, name)
	for n := 1; n < endedAtOnce && err == nil; n++ {
		next, ok := a.endedToo()
		if !ok {
			break
		}
		var one bool
		one, err = a.unitEnded(ctx, next)
		over = over || one
	}
	if err != nil || !over {
		return errors.Trace(err)
	}
	return errors.Trace(a.reconcile(ctx))
}

// endedToo is another unit whose agent has ended; false: there is none now.
func (a *modelAgent) endedToo() (name model.UnitName, ok bool) {
	select {
	case name = <-a.ended:
		return name, true
	default:
		return "", false
	}
}

// unitEnded takes away a unit whose agent has ended because the unit is Dead
// or gone; an agent that has failed is started again after a while. over: it has no agent any more.
func (a *modelAgent) unitEnded(ctx context.Context, name model.UnitName) (over bool, err error) {
	u := a.units[name]
	u.stop()
	if u.err != nil && ctx.Err() == nil && !u.isGone() && !errors.Is(u.err, errors.NotFound) {
		a.log.Error("the unit's agent has stopped", "unit", name, "err", u.err)
		// Files are told by their names there: who wants the paths has the log.
		message := strings.NewReplacer(u.dir+"/", "", filepath.Dir(u.dir)+"/", "").Replace(u.err.Error())
		u.desire.say(ctx, u.agentStatus(model.StatusFailed, message, nil))
		u.stand(true) // others needn't wait for it
		hope := a.health.hoped()
		a.wait.Add(1)
		go func() {
			defer a.wait.Done()
			select {
			case <-ctx.Done():
				return
			case <-u.gone:
			case <-hope:
			case <-a.Clock.After(trouble):
			}
			// Ended once more: with no error it is looked at anew.
			u.err = nil
			a.ended <- name
		}()
		return false, nil
	}
	a.drop(name)
	if ctx.Err() != nil {
		return false, nil
	}
	if u.isGone() || errors.Is(u.err, errors.NotFound) {
		a.telling.forget(u.id)
	}
	doc, err := u.model.Unit(ctx, name)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return false, errors.Trace(err)
	}
	if err != nil || doc.Life == model.Dead {
		u.leaveCell()
		a.clearUnit(ctx, name)
	}
	return true, nil
}
