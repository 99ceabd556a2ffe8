package why

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

// State says in a word what holds a unit.
type State string

// The states.
const (
	Settled  State = "settled"  // nothing: it has nothing to do
	Running  State = "running"  // its hook runs
	Failed   State = "failed"   // its hook has failed, and waits
	Resolved State = "resolved" // its failed hook was answered
	Turn     State = "turn"     // another unit of its machine runs a hook, or of its application isn't ready
	Due      State = "due"      // it is about to do something
	Going    State = "going"    // it is Dying, and not done
	Relation State = "relation" // it can't enter a relation yet
	Storage  State = "storage"  // it can't be installed before its storage is there
	Trouble  State = "trouble"  // its agent can't do something, and tries again
	Aside    State = "aside"    // nothing, but a hook of a container has failed, and runs again
	Down     State = "down"     // a container isn't up
	Check    State = "check"    // nothing, but a check of a container is down
	Reboot   State = "reboot"   // its machine is to be rebooted
	NoAgent  State = "no-agent" // nobody runs its hooks
	Machine  State = "machine"  // there is no machine as it needs it
	Service  State = "service"  // nothing, but services of its machine have failed
)

// Answer is what holds a unit.
type Answer struct {
	State State `json:"state"`
	// Sentence says all of it, beginning with the unit's name.
	Sentence string `json:"sentence"`
	Hook     string `json:"hook,omitempty"` // which it is about
	Run      int64  `json:"run,omitempty"`  // of the hook that runs or has failed
	// Since is since when it is so, Until when it changes by itself; zero: not
	// known, or never.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Free is what frees the unit.
	Free string `json:"free,omitempty"`
	// Services are those of its machine that have failed, of which its status says nothing.
	Services []string `json:"services,omitempty"`
}

// reason is one line of the table: what is said of a unit if it applies.
type reason func(Facts) (Answer, bool)

// Say makes the sentence. The first reason that applies is the one.
func Say(f Facts) Answer {
	for _, r := range []reason{
		dead, unwritable, running, unsuited, noAgent, reboot, trouble, answered, failed, turn, going, notYet, storage, upcoming, down, next, asideElsewhere, aside, check, held, elsewhere,
	} {
		if a, ok := r(f); ok {
			return f.finish(a)
		}
	}
	return f.finish(settled(f))
}

// finish puts the unit, and what frees it, into the sentence.
func (f Facts) finish(a Answer) Answer {
	a.Sentence = string(f.Unit.Name) + " " + a.Sentence
	if !a.Since.IsZero() {
		a.Sentence += " since " + f.at(a.Since)
	}
	if a.Services = f.unexplained(); len(a.Services) > 0 {
		a.Sentence += fmt.Sprintf(`; on its machine %s ("unitd logs %s --system %s")`, model.NameFailed(a.Services), f.Unit.Name, a.Services[0])
		if a.State == Settled {
			a.State = Service
		}
	}
	if a.Free != "" {
		a.Sentence += "; " + a.Free
	}
	return a
}

// unexplained are the failed services of the unit's machine that the charm's status, or the
// failure of its hook, doesn't name.
func (f Facts) unexplained() []string {
	said := strings.FieldsFunc(f.Workload.Message+" "+f.Agent.Message, func(r rune) bool {
		return !strings.ContainsRune(".@:_-\\", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return slices.DeleteFunc(slices.Clone(f.System.Failed), func(service string) bool {
		return slices.ContainsFunc(said, func(word string) bool {
			word = strings.TrimRight(word, ".:")
			return word == service || word == strings.TrimSuffix(service, ".service")
		})
	})
}

// at is a time for people, with the date where that isn't today's.
func (f Facts) at(t time.Time) string {
	t = t.In(f.Now.Location())
	if t.Format(time.DateOnly) == f.Now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}

// in is a time to come for people: in how long, and when.
func (f Facts) in(t time.Time) string {
	left := t.Sub(f.Now)
	if left <= 0 {
		return "now"
	}
	return fmt.Sprintf("in %s, at %s", max(left.Round(time.Second), time.Second), f.at(t))
}

func dead(f Facts) (Answer, bool) {
	return Answer{State: Going, Sentence: "is Dead", Free: "the agent clears it away"}, f.Unit.Life == model.Dead
}

// unwritable is a unit of whose agent the store takes nothing: all else that holds
// the unit comes after that.
func unwritable(f Facts) (Answer, bool) {
	a := Answer{State: Trouble, Since: f.TroubleSince, Free: "the agent tries again, and at once when there is room again"}
	a.Sentence = "is held up: the store can't be written to (" + f.Trouble + ")"
	if f.Agent.Status == model.StatusError {
		a.Sentence = fmt.Sprintf("has a failed hook (%s), and is held up: the store can't be written to (%s)", f.Agent.Message, f.Trouble)
	}
	return a, f.Trouble != ""
}

func running(f Facts) (Answer, bool) {
	hook, run, ok := f.runs()
	if !ok {
		return Answer{}, false
	}
	a := Answer{State: Running, Hook: hook.Name(), Run: run}
	a.Sentence = fmt.Sprintf("runs %s (run %d: %s)", hook, run, hook.Cause)
	if len(f.Programs) > 0 {
		a.Free = "it is in " + f.Programs[len(f.Programs)-1]
	}
	if f.Agent.Status == model.StatusExecuting {
		a.Since = f.Agent.Since
	}
	return a, true
}

// unsuited is a unit for another architecture than this host's. Source:
// docs/spec/juju-clients.md §6.3.
func unsuited(f Facts) (Answer, bool) {
	u := f.Unit
	a := Answer{State: Machine, Free: fmt.Sprintf(`"unitd set-constraints %s arch=%s" has units that are added later run here`, u.Name.Application(), f.Arch)}
	a.Sentence = fmt.Sprintf("waits for a machine with arch=%s, which this host isn't", u.Arch)
	return a, u.Arch != "" && u.Arch != f.Arch && !u.Deployed && !f.Elsewhere
}

func noAgent(f Facts) (Answer, bool) {
	hook, run, interrupted := f.Local.Interrupted()
	a := Answer{State: NoAgent, Free: `"unitd agent" starts one, "unitd wait" one in the background`}
	switch {
	case f.Hosted && f.Unit.Deployed, f.Agent.Status == model.StatusFailed && (f.Hosted || f.Present):
		return a, false // it has one, be it that it couldn't take the unit on
	case f.Hosted, f.Elsewhere && f.Present && !f.Unit.Deployed:
		a.Sentence, a.Free = "is new", "the agent is about to take it on"
	case !f.Unit.Deployed && f.Elsewhere:
		a.Sentence = "is new, and the agent of machine " + f.Unit.Machine + " is not there"
		a.Free = "it takes the unit on once it has joined, or is started there"
	case !f.Unit.Deployed:
		a.Sentence = "is new, and no agent runs that could take it on"
	case !f.Known && f.Present:
		return a, false // another machine's agent has it
	case !f.Known:
		a.Sentence, a.Since = "has no agent: that of machine "+f.Unit.Machine+" is not there", time.Time{}
		a.Free = fmt.Sprintf("it has to be started on machine %s", f.Unit.Machine)
	case interrupted:
		a.Hook, a.Run = hook.Name(), run
		a.Sentence = fmt.Sprintf("has no agent: it has ended in the middle of %s", hook)
	case f.Local.Current != nil && f.Local.Current.Failure != nil:
		a.Hook, a.Run = f.Local.Current.Hook.Name(), f.Local.Current.Run
		a.Sentence = fmt.Sprintf("has no agent, and a failed hook: %s (%s)", f.Local.Current.Hook, f.Local.Current.Failure.Message)
	case len(f.ToRun) > 0:
		a.Hook = f.ToRun[0].Name()
		a.Sentence = "has no agent, and hooks are due: " + list(f.ToRun)
	default:
		a.Sentence = "has no agent, and nothing to do"
	}
	return a, true
}

func reboot(f Facts) (Answer, bool) {
	a := Answer{State: Reboot, Sentence: "waits for the reboot of its machine that its charm has asked for"}
	return a, f.Unit.Reboot != "" || f.Agent.Status == model.StatusRebooting
}

func trouble(f Facts) (Answer, bool) {
	a := Answer{State: Trouble, Sentence: "is held up (" + f.Agent.Message + ")", Since: f.Agent.Since, Free: "the agent tries again at least every 30 seconds"}
	return a, f.Agent.Status == model.StatusFailed
}

func answered(f Facts) (Answer, bool) {
	r := f.Unit.Resolved
	if f.Unit.Failed == 0 || r.Run != f.Unit.Failed {
		return Answer{}, false
	}
	a := Answer{State: Resolved, Run: r.Run, Sentence: "has a failed hook that was resolved", Free: "it is about to run again"}
	if r.Mode == string(resolver.SkipIt) {
		a.Free = "the unit is about to go on without it"
	}
	if f.Busy != "" {
		a.Free = "first " + f.busy()
	}
	return a, true
}

func failed(f Facts) (Answer, bool) {
	resolve := fmt.Sprintf(`"unitd resolved %s" runs it again, with --no-retry the unit goes on without it`, f.Unit.Name)
	a := Answer{State: Failed, Free: resolve}
	c := f.Local.Current
	switch {
	case f.Known && c != nil && c.Failure != nil && f.Op.Verb == resolver.Idle:
		a.Hook, a.Run, a.Since, a.Until = c.Hook.Name(), c.Run, c.Failure.At, f.Op.Until
		a.Sentence = fmt.Sprintf("waits with its failed hook %s (%s)", c.Hook, c.Failure.Message)
		if !a.Until.IsZero() {
			a.Free = fmt.Sprintf("it is run again by itself %s; %s", f.in(a.Until), resolve)
		}
		return a, true
	case !f.Known && f.Agent.Status == model.StatusError:
		hook, _ := f.Agent.Data["hook"].(string)
		why, _ := f.Agent.Data["reason"].(string)
		a.Hook, a.Run, a.Since, a.Until = hook, f.Unit.Failed, f.Agent.Since, f.RetryAt
		a.Sentence = fmt.Sprintf("waits with its failed hook %s (%s)", hook, why)
		if !a.Until.IsZero() {
			a.Free = fmt.Sprintf("it is run again by itself %s; %s", f.in(a.Until), resolve)
		}
		return a, true
	}
	return a, false
}

// busy says what the other unit of the machine does.
func (f Facts) busy() string {
	return fmt.Sprintf("%s has the turn on machine %s, %s since %s", f.Busy, f.Unit.Machine, f.BusyWith.Message, f.at(f.BusyWith.Since))
}

func turn(f Facts) (Answer, bool) {
	a := Answer{State: Turn, Hook: f.Op.Hook.Name(), Free: f.busy()}
	a.Sentence = fmt.Sprintf("waits for its turn to run %s (%s)", f.Op.Hook, f.Op.Hook.Cause)
	return a, (f.Op.Verb == resolver.RunHook || f.Op.Verb == resolver.RunTask) && f.Busy != ""
}

func going(f Facts) (Answer, bool) {
	if f.Unit.Life == model.Alive || !f.Known {
		return Answer{}, false
	}
	a := Answer{State: Going, Sentence: "is going"}
	switch {
	case len(f.ToRun) > 0:
		a.Hook, a.Free = f.ToRun[0].Name(), "still to run: "+list(f.ToRun)
	case len(f.Remote.Subordinates) > 0:
		a.Free = fmt.Sprintf("it waits for its subordinate %s to go", f.Remote.Subordinates[0])
	}
	return a, true
}

func notYet(f Facts) (Answer, bool) {
	for _, r := range f.Remote.Relations {
		if r.NotYet && f.Op.Verb == resolver.Idle {
			a := Answer{State: Relation, Sentence: fmt.Sprintf("cannot enter its relation with %s yet", r.RemoteApp)}
			a.Free = "its former subordinate has to go first"
			if f.Former == r.RemoteApp {
				a.Free = fmt.Sprintf("its former subordinate %s has to go first", f.Going)
			}
			return a, true
		}
	}
	return Answer{}, false
}

// storage is what a unit waits for that was deployed with some.
func storage(f Facts) (Answer, bool) {
	waits := f.Known && f.Op.Verb == resolver.Idle && len(f.Op.Storage) > 0
	return Answer{State: Storage, Sentence: "is " + f.Op.Reason}, waits
}

func upcoming(f Facts) (Answer, bool) {
	if !f.Known || f.Op.Verb == resolver.Idle {
		return Answer{}, false
	}
	a := Answer{State: Due, Sentence: fmt.Sprintf("is about to %s (%s)", strings.ReplaceAll(string(f.Op.Verb), "-", " "), f.Op.Reason)}
	if f.Op.Verb == resolver.RunHook {
		a.Hook, a.Sentence = f.Op.Hook.Name(), fmt.Sprintf("is about to run %s (%s)", f.Op.Hook, f.Op.Hook.Cause)
	}
	if rest := len(f.ToRun) - 1; rest > 0 {
		a.Free = "then: " + list(f.ToRun[1:])
	}
	return a, true
}

// elsewhere is a unit of another machine, of which the model says little.
func elsewhere(f Facts) (Answer, bool) {
	if f.Known {
		return Answer{}, false
	}
	switch a := (Answer{Since: f.Agent.Since}); f.Agent.Status {
	case model.StatusExecuting:
		a.State, a.Sentence = Running, fmt.Sprintf("is %s on machine %s", f.Agent.Message, f.Unit.Machine)
		return a, true
	case model.StatusIdle:
		a.State, a.Sentence = Settled, fmt.Sprintf("has had nothing to do on machine %s", f.Unit.Machine)
		return a, true
	default:
		a.State, a.Sentence = Due, strings.TrimSpace(fmt.Sprintf("is %s %s", f.Agent.Status, f.Agent.Message))
		return a, true
	}
}

// aside is a unit that nothing holds up, in which hooks of containers have failed:
// it says so of the one that failed last, or of how many there are.
func aside(f Facts) (Answer, bool) {
	failed := f.Local.StoodAside()
	if len(failed) == 0 {
		return Answer{}, false
	}
	last := failed[0]
	for _, other := range failed {
		if other.Failure.At.After(last.Failure.At) {
			last = other
		}
	}
	a := Answer{State: Aside, Hook: last.Hook.Name(), Run: last.Run, Since: last.Failure.At, Until: last.RetryAt}
	a.Sentence = fmt.Sprintf("goes on without its failed hook %s (%s)", last.Hook, last.Failure.Message)
	if more := len(failed) - 1; more > 0 {
		a.Sentence += fmt.Sprintf(" and %d more of its containers", more)
	}
	a.Free = fmt.Sprintf("it is run again by itself %s, if Pebble answers in its container", f.in(last.RetryAt))
	return a, true
}

func settled(f Facts) Answer {
	a := Answer{State: Settled, Sentence: "has had nothing to do", Until: f.Op.Until}
	if f.Agent.Status == model.StatusIdle {
		a.Since = f.Agent.Since
	}
	if !a.Until.IsZero() {
		then := f.Remote
		then.Now = a.Until
		if op := resolver.Next(f.Local, then); op.Verb == resolver.RunHook {
			a.Hook = op.Hook.Name()
			a.Free = fmt.Sprintf("%s is next, at %s", op.Hook, f.at(a.Until))
		}
	}
	return a
}

// mostListed is how many hooks a sentence names.
const mostListed = 6

// list are hooks by name.
func list(all []hooks.Info) string {
	var names []string
	for _, h := range all[:min(len(all), mostListed)] {
		name := h.Name()
		if h.RemoteUnit != "" {
			name += " " + string(h.RemoteUnit)
		}
		names = append(names, name)
	}
	if more := len(all) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
