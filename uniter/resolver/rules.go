package resolver

import (
	"fmt"
	"slices"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/relation"
)

// Rule is one line of the table that orders what an agent does.
type Rule struct {
	Name string
	// When says for people when the rule applies and what follows.
	When string
	// apply returns the operation, and false if the rule doesn't apply.
	apply func(Local, Remote) (Op, bool)
}

// Rules is the order of everything: the first rule that applies wins, and it
// is asked anew after every operation and every change. Source:
// docs/spec/uniter-behaviour.md §4.
func Rules() []Rule {
	return []Rule{
		{"gone", "the unit is Dead or not in the model: the agent ends", gone},
		{"pending", "a run was pending when the agent started: it has committed if the model has its stamp, or else failed as interrupted; if stopping the agent cut off only its commit, it runs again", pending},
		{"task-pending", "a task was running when the agent started: it has ended if the model has its stamp, or else failed as terminated; it doesn't run again", taskPending},
		{"lost", "the model has a run that the agent doesn't know, because its directory was lost or its newest record damaged: the charm is deployed if it is gone, and the agent goes on from what the model remembers", lost},
		{"orphaned", "the application is Dying, or a subordinate has no principal left: the unit marks itself Dying", orphaned},
		{"stray", "the agent remembers a relation, storage or container that the model doesn't have: it forgets it", stray},
		{"tasks", "somebody has asked for an action or commands: the next one runs, if the unit is installed or in error; not within start or an upgrade, not after stop, and not before container hooks that are due", tasks},
		{"failed", "a run has failed: only its resolution, a forced upgrade, other containers, or its retry can follow; a change of configuration, of the deployed charm or of the hook's relation brings the retry forward; if the unit or the relation is removed with --force, the run is skipped", failed},
		{"stillborn", "the unit is Dying and install hasn't run: detaching of the storage that was attached, then Dead without any other hook", stillborn},
		{"start", "config-changed has run for the first time, or in other containers: start, with nothing between", start},
		{"reconfigure", "upgrade-charm has run: config-changed, with nothing between", reconfigure},
		{"reboot", "the machine was rebooted since start ran: start again", rebooted},
		{"replace", "the unit is to get other containers, and their images are on the host: stop (for at most 30 s, and not in error), then new containers with an empty charm directory", replace},
		{"deploy", "no charm is deployed, or the application wants another one: it is deployed; in a unit with containers, only if no charm is deployed", deploy},
		{"first-storage", "install has not run: attached of each storage that is there; the unit waits for the storage that it is deployed with; not in a unit with containers", firstStorage},
		{"install", "install has not run", install},
		{"upgrade-charm", "another charm was deployed, the containers were replaced, or the application was given resources: upgrade-charm", upgradeCharm},
		{"dying", "the unit is Dying: detaching of each storage, departed and broken of each relation, stop, remove, Dead; until remove, one container hook between two of these", dying},
		{"leave", "the unit has entered the scope of a relation that isn't Alive, and no hook has told the charm: the unit leaves the scope", leaveUntold},
		{"enter", "an Alive relation is new: the unit enters its scope, and those of all other new ones at once; but not while a former subordinate of it is going", enter},
		{"relation-created", "an entered relation's created has not run", created},
		{"leadership", "the unit has gained leadership: leader-elected; or lost it: the agent notes that", leadership},
		{"leader-settings", "the unit isn't the leader, and leader settings differ: leader-settings-changed", leaderSettings},
		{"workloads", "a container's Pebble has started, or has sent a notice: its hook, in the order in which the agent saw these; after eight of them in a row, the rules below come first", workloadsFirst},
		{"storage", "storage is there, or is going: attached, detaching", storage},
		{"secrets", "start has run, and, in this order: a revision has expired, a rotation is due, a secret that the unit has read has changed, nobody reads a revision: its hook", secrets},
		{"config", "configuration, trust, addresses or the charm differ: config-changed", config},
		{"relations", "members or settings of a relation differ: its next hook", relations},
		{"workloads-last", "eight container hooks have run in a row, and nothing else is due: the next one", workloads},
		{"workload-retries", "a container hook has failed, and its Pebble answers: it runs again after 5 s", workloadRetries},
		{"requeued", "a hook has asked by unitd-requeue to run again: it runs when its time has come, unless what it is about is gone", requeued},
		{"secrets-again", "five minutes have passed since a secret-expired whose revision is still there, or a secret-rotate that has made no revision: it runs again", secretsAgain},
		{"update-status", "the interval is over: update-status", updateStatus},
	}
}

// Next is what the agent does now. It is Idle when no rule applies.
func Next(l Local, r Remote) Op {
	if r.Sidecar {
		r.Want.Config = r.Settings
	}
	for _, rule := range Rules() {
		if op, ok := rule.apply(l, r); ok {
			return op
		}
	}
	op := Op{Verb: Idle, Reason: "nothing to do"}
	if l.Started && r.StatusInterval > 0 {
		op.Until = statusDue(l, r)
	}
	for _, at := range []time.Time{secretsDue(l, r), requeueDue(l), workloadsDue(l, r)} {
		if !at.IsZero() && (op.Until.IsZero() || at.Before(op.Until)) {
			op.Until = at
		}
	}
	return op
}

func run(l Local, r Remote, h hooks.Info) (Op, bool) {
	return Op{
		Verb: RunHook, Hook: h, Run: max(l.Run, r.Committed, r.Resolved.Run) + 1,
		Seen: toldBy(h, l.Seen, r.Want), Basis: basisOf(h, l, r), Reason: h.Cause,
		Aside: h.IsWorkload() && !r.WorkloadErrors, Limit: limitOf(h, r),
	}, true
}

// toldBy is what the charm will have been told once the hook has committed.
func toldBy(h hooks.Info, seen, want Seen) Seen {
	switch h.Kind {
	case hooks.ConfigChanged:
		seen.Config = want.Config
	case hooks.Install, hooks.UpgradeCharm:
		seen.Resources = want.Resources
	case hooks.LeaderSettingsChanged, hooks.LeaderElected:
		// A new leader reads the settings itself and is not told of them.
		seen.LeaderSettings = want.LeaderSettings
	}
	// A journal that knows of no boot takes the first one that it hears of: its
	// start was none that a reboot has undone.
	if h.Kind == hooks.Start || seen.Boot == "" {
		seen.Boot = want.Boot
	}
	return seen
}

func unitHook(k hooks.Kind, cause string) hooks.Info {
	return hooks.Info{Kind: k, Cause: cause}
}

func gone(_ Local, r Remote) (Op, bool) {
	switch {
	case r.Gone:
		return Op{Verb: Terminate, Reason: "the unit is not in the model"}, true
	case r.Life == model.Dead:
		return Op{Verb: Terminate, Reason: "the unit is Dead"}, true
	}
	return Op{}, false
}

func pending(l Local, r Remote) (Op, bool) {
	if l.Current == nil || l.Current.Step != Pending {
		return Op{}, false
	}
	op := Op{Hook: l.Current.Hook, Run: l.Current.Run}
	switch {
	case r.Committed >= l.Current.Run:
		op.Verb, op.Memory, op.Reason = Finish, r.Memory, "the model has the run's stamp"
	case l.Current.Over:
		op.Verb, op.Reason = Requeue, "the agent was stopped before the hook could be committed"
	default:
		op.Verb, op.Reason = Interrupt, "the agent was killed while the hook ran"
	}
	return op, true
}

func orphaned(_ Local, r Remote) (Op, bool) {
	if r.Life != model.Alive || !r.Orphaned {
		return Op{}, false
	}
	return Op{Verb: MarkDying, Reason: r.OrphanReason}, true
}

// vanished says whether the model doesn't have the relation. Without a charm
// nobody can tell, for only the deployed charm says which endpoints there are.
func vanished(l Local, r Remote, id model.RelationID) bool {
	_, ok := r.relation(id)
	return !ok && l.Charm != ""
}

func stray(l Local, r Remote) (Op, bool) {
	var ids []model.RelationID
	for _, s := range l.InOrder() {
		if vanished(l, r, s.ID) {
			ids = append(ids, s.ID)
		}
	}
	// A failed hook of such a relation is the next rule's to drop first.
	storage, containers := strayStorage(l, r), strayWorkloads(l, r)
	if len(ids)+len(storage)+len(containers) == 0 || l.Current != nil {
		return Op{}, false
	}
	return Op{Verb: Forget, Relations: ids, Storage: storage, Workloads: containers, Reason: "the model doesn't have it"}, true
}

func stillborn(l Local, r Remote) (Op, bool) {
	if r.Life != model.Dying || l.Installed {
		return Op{}, false
	}
	if op, ok := detach(l, r, "unit removed"); ok {
		return op, true
	}
	if l.Charm == "" && len(l.Storage) > 0 && r.Charm != "" {
		return Op{Verb: Deploy, Charm: r.Charm, Reason: "the charm directory is lost, and storage is to be detached"}, true
	}
	return Op{Verb: MarkDead, Reason: "the unit is Dying and was never installed"}, true
}

func deploy(l Local, r Remote) (Op, bool) {
	switch {
	case l.Charm == r.Charm || r.Charm == "", r.Life != model.Alive && l.Charm != "":
		return Op{}, false
	case l.Charm == "":
		return Op{Verb: Deploy, Charm: r.Charm, Pod: r.Pod, Reason: "no charm is deployed"}, true
	case r.Sidecar:
		return Op{}, false // it comes with other containers
	}
	return Op{Verb: Deploy, Charm: r.Charm, Reason: "the application wants another charm"}, true
}

func install(l Local, r Remote) (Op, bool) {
	if l.Installed {
		return Op{}, false
	}
	return run(l, r, unitHook(hooks.Install, "unit deployed"))
}

func upgradeCharm(l Local, r Remote) (Op, bool) {
	switch {
	case l.Upgraded && l.Forgotten:
		return run(l, r, unitHook(hooks.UpgradeCharm, CauseForgotten))
	case l.Upgraded && l.Replaced:
		return run(l, r, unitHook(hooks.UpgradeCharm, CauseReplaced+", with charm "+l.Charm))
	case l.Upgraded:
		return run(l, r, unitHook(hooks.UpgradeCharm, "charm upgraded to "+l.Charm))
	case r.Life == model.Alive && !r.Sidecar && l.Seen.Resources != r.Want.Resources:
		return run(l, r, unitHook(hooks.UpgradeCharm, "resources changed"))
	}
	return Op{}, false
}

func start(l Local, r Remote) (Op, bool) {
	_, owed := reconfigure(l, r)
	switch {
	case l.Charm == "":
		return Op{}, false
	case l.Replaced && !l.Upgraded && !owed:
		return run(l, r, unitHook(hooks.Start, CauseReplaced))
	case l.Replaced || !l.Configured || l.Started:
		return Op{}, false
	}
	return run(l, r, unitHook(hooks.Start, "first config-changed has run"))
}

// CauseUpgraded is why config-changed runs after upgrade-charm.
const CauseUpgraded = "charm upgraded"

// reconfigure comes before all that may be due as well, also for a unit that
// is Dying: charms take upgrade-charm and config-changed as one.
func reconfigure(l Local, r Remote) (Op, bool) {
	if !l.Configured || l.Seen.Config != "" || r.Want.Config == "" || l.Charm == "" || l.Upgraded {
		return Op{}, false
	}
	return run(l, r, unitHook(hooks.ConfigChanged, CauseUpgraded))
}

// dying takes the unit out: relations one after the other, peers last, each
// to its end before the next begins.
func dying(l Local, r Remote) (Op, bool) {
	if r.Life != model.Dying {
		return Op{}, false
	}
	if op, ok := workloads(l, r); ok {
		return op, true
	}
	if op, ok := detach(l, r, "unit removed"); ok {
		return op, true
	}
	self := relation.Local{Unit: l.Unit, Leaving: true}
	if states := l.InLeavingOrder(); len(states) > 0 {
		snap, _ := r.relation(states[0].ID)
		if h, ok := relation.Next(self, states[0], snap); ok {
			return run(l, r, h)
		}
		return leave("the unit is Dying", states[0].ID), true
	}
	// Scopes that the model has the unit in and that the agent doesn't
	// remember, as after the loss of its disk.
	for _, snap := range r.Relations {
		if snap.InScope {
			return leave("the unit is Dying", snap.ID), true
		}
	}
	switch {
	case l.Started && !l.Stopped:
		return run(l, r, unitHook(hooks.Stop, "unit removed"))
	case !l.Removed:
		return run(l, r, unitHook(hooks.Remove, "unit removed"))
	case len(r.Subordinates) > 0:
		return Op{Verb: Idle, Reason: fmt.Sprintf("waiting for %s to be removed", r.Subordinates[0])}, true
	}
	return Op{Verb: MarkDead, Reason: "all that had to run before has run"}, true
}

func leave(reason string, ids ...model.RelationID) Op {
	return Op{Verb: LeaveScope, Relations: ids, Reason: reason}
}

func leaveUntold(l Local, r Remote) (Op, bool) {
	for _, snap := range r.Relations {
		s, known := l.Relations[snap.ID]
		if !snap.Live && (snap.InScope && !known || known && (!s.Created || snap.Implicit)) {
			return leave("the relation isn't Alive and the charm was told nothing of it", snap.ID), true
		}
	}
	return Op{}, false
}

func enter(l Local, r Remote) (Op, bool) {
	op := Op{Verb: EnterScope, Reason: "new relations"}
	for _, snap := range r.Relations {
		if _, known := l.Relations[snap.ID]; snap.Live && !snap.NotYet && (!known || !snap.InScope) {
			op.Relations = append(op.Relations, snap.ID)
			op.Entering = append(op.Entering, snap)
		}
	}
	return op, len(op.Relations) > 0
}

func created(l Local, r Remote) (Op, bool) {
	for _, s := range l.InOrder() {
		if s.Created {
			continue
		}
		snap, _ := r.relation(s.ID)
		if h, ok := relation.Next(relation.Local{Unit: l.Unit}, s, snap); ok {
			return run(l, r, h)
		}
	}
	return Op{}, false
}

func leadership(l Local, r Remote) (Op, bool) {
	switch {
	case r.Leader && !l.Leader:
		return run(l, r, unitHook(hooks.LeaderElected, "the unit became leader"))
	case !r.Leader && l.Leader:
		return Op{Verb: Resign, Reason: "the unit is no longer leader"}, true
	}
	return Op{}, false
}

func leaderSettings(l Local, r Remote) (Op, bool) {
	if r.Leader || l.Seen.LeaderSettings == r.Want.LeaderSettings {
		return Op{}, false
	}
	return run(l, r, unitHook(hooks.LeaderSettingsChanged, "leader settings changed"))
}

func config(l Local, r Remote) (Op, bool) {
	if l.Seen.Config == r.Want.Config {
		return Op{}, false
	}
	cause := "configuration changed"
	if !l.Configured {
		cause = "unit installed"
	}
	return run(l, r, unitHook(hooks.ConfigChanged, cause))
}

func relations(l Local, r Remote) (Op, bool) {
	states := l.InOrder()
	// What is going goes first, in the order of leaving; then what lives.
	leaving := slices.DeleteFunc(l.InLeavingOrder(), func(s relation.State) bool {
		snap, _ := r.relation(s.ID)
		return snap.Live
	})
	for _, s := range append(leaving, states...) {
		snap, _ := r.relation(s.ID)
		if h, ok := relation.Next(relation.Local{Unit: l.Unit}, s, snap); ok {
			return run(l, r, h)
		}
	}
	return Op{}, false
}

func updateStatus(l Local, r Remote) (Op, bool) {
	if !l.Started || r.StatusInterval <= 0 || r.Now.Before(statusDue(l, r)) {
		return Op{}, false
	}
	return run(l, r, unitHook(hooks.UpdateStatus, "the interval is over"))
}
