package check

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/unitd/unitd/model"
)

// relatingAgain: of a relation that is gone nothing is left, and the next one is like it.
func relatingAgain(w World, _ *rand.Rand) (all []probe) {
	gone := func(e Endpoint) []string {
		return []string{w.unrelate(e), "settle", "remove-application " + e.Stub(), "settle"}
	}
	each := probe{setUp: w.bare(), first: []string{"mark before"}}
	var twice, besides []probe
	for i, e := range w.Endpoints {
		once := slices.Concat(w.whole(e), gone(e), []string{"same before"})
		each.parts = append(each.parts, once)
		secrets, rest := w.secretsOf(e), append(w.relate(e), "settle")
		rest = append(rest, append(e.publish(e.Keys, 0), "settle")...)
		again := slices.Concat(secrets, rest, []string{"mark related"}, gone(e), rest, []string{"same related"})
		twice = append(twice, one(w.bare(), again...))
		var others []string
		for j, o := range w.Endpoints {
			if j != i {
				others = append(others, w.whole(o)...)
			}
		}
		if len(others) > 0 {
			setUp := append(w.bare(), others...)
			besides = append(besides, one(setUp, append([]string{"mark before"}, once...)...), one(setUp, again...))
		}
	}
	return slices.Concat([]probe{each}, twice, besides)
}

// lastUnits: the last unit of the other side goes, or the last one of the charm's.
func lastUnits(w World, _ *rand.Rand) (all []probe) {
	own := func(setUp []string) {
		all = append(all, one(setUp, "mark before", w.removeUnit(0), "settle", w.addUnit(), "settle", w.next()))
		if host, ok := w.host(); ok {
			all = append(all, one(setUp, "mark before", fmt.Sprintf("remove-relation %s:%s %s", w.Application(), host.Name, host.Stub()), "settle", w.beside(host), "settle", w.next()))
		}
	}
	own(w.bare())
	for _, e := range w.Endpoints {
		all = append(all, one(w.bare(), append(w.whole(e), fmt.Sprintf("stub-leave %s/0", e.Stub()), "settle", "advance 6m", "settle", "stub-join "+e.Stub(), "settle")...))
	}
	own(w.full())
	return all
}

// next compares what there is with a mark of the unit before.
func (w World) next() string {
	if w.pods() {
		return "same --but files,messages,values before"
	}
	return fmt.Sprintf("same --but files,messages,values before %s/1=%[1]s/0", w.Application())
}

// leading: a leader is deposed, before a hook and in one.
func leading(w World, _ *rand.Rand) (all []probe) {
	two := w.deploy(2)
	deposed := w.app("lose-leadership %s")
	for _, c := range slices.Concat(w.changeAll(), w.change()) {
		other := []string{fmt.Sprintf("hang %s config-changed", w.Unit()), c[0], "! settle", deposed, "release " + w.Unit(), "settle"}
		all = append(all, eitherWay(two, append(slices.Clone(c), deposed, "settle"), other, "files"))
	}
	steps := w.change()
	for _, e := range w.Endpoints {
		steps = append(steps, append(w.whole(e), "settle"))
	}
	for _, s := range steps {
		all = append(all, one(two, append([]string{deposed}, s...)...), one(two, append(slices.Clone(s), deposed, "settle", "advance 6m", "settle")...))
	}
	for _, e := range w.Endpoints {
		gone := []string{w.unrelate(e)}
		setUp := append(slices.Clone(two), w.whole(e)...)
		hook := e.Name + "-relation-broken"
		other := slices.Concat([]string{fmt.Sprintf("hang %s %s", w.Unit(), hook)}, gone, []string{"! settle", deposed, "release " + w.Unit(), "settle"})
		all = append(all, eitherWay(setUp, append(slices.Clone(gone), "settle", deposed, "settle"), other, "files"))
	}
	return all
}

// secrets: one that a stub's key names gets another content, is taken away, and is gone.
func secrets(w World, _ *rand.Rand) (all []probe) {
	for _, e := range w.Endpoints {
		for _, k := range e.Keys {
			if k.Kind != Secret {
				continue
			}
			all = append(all, w.changedSecrets(e, k, w.whole(e))...)
		}
	}
	return append(all, optionSecrets(w)...)
}

// changedSecrets are what may happen to a secret after some steps with which the charm has got it.
func (w World) changedSecrets(e Endpoint, k Key, got []string) []probe {
	next := append([]string{"advance 6m", "settle"}, slices.Concat(w.change()...)...)
	then := func(lines ...string) probe { return one(w.bare(), slices.Concat(got, lines)...) }
	return []probe{
		then(w.secret("update-secret", e, k, "second"), "settle", "search "+e.edition(k, "first"), `! stdout ' (file|databag|status) '`),
		then(append([]string{fmt.Sprintf("revoke-secret %s %s", e.secretName(k), w.Application()), "settle"}, next...)...),
		then(append([]string{"remove-secret " + e.secretName(k), "settle"}, next...)...),
	}
}

// leaving: of units that leave, on either side, nothing is used any more.
func leaving(w World, _ *rand.Rand) (all []probe) {
	for _, e := range w.Endpoints {
		lines := append(slices.Concat(w.secretsOf(e), w.relate(e)), "stub-join "+e.Stub(), "settle")
		lines = slices.Concat(lines, e.publish(e.Keys, 0)[:min(1, len(e.Keys))], e.publish(e.Keys, 1)[:min(1, len(e.Keys))], []string{"settle", fmt.Sprintf("stub-leave %s/0", e.Stub()), "settle"})
		p := probe{setUp: append(w.bare(), lines...)}
		for _, k := range e.Keys {
			if k.Kind == Word {
				p.parts = append(p.parts, []string{"search " + e.value(k, 0), `! stdout ' (file|databag|status)'`})
			}
		}
		all = append(all, p)
	}
	second := w.Application() + "/1"
	if w.peers() {
		for i, setUp := range [][]string{w.bare(), w.full()} {
			p := one(setUp, slices.Concat([]string{"mark before", w.addUnit(), "settle"}, w.acts(second), []string{"settle", w.removeUnit(1), "settle", "same --but files before"})...)
			all = slices.Insert(all, min(2*i+1, len(all)), p)
		}
	}
	return all
}

// containers: whatever happens, it may happen while a workload container is away.
func containers(w World, _ *rand.Rand) (all []probe) {
	for _, c := range slices.Sorted(maps.Keys(w.Charm.Containers)) {
		stop := fmt.Sprintf("container-stop %s %s", w.Unit(), c)
		steps := slices.Concat(w.change(), [][]string{{"advance 6m", "settle"}, w.refresh()})
		for _, e := range w.Endpoints {
			steps = append(steps, w.whole(e))
		}
		for _, s := range steps {
			all = append(all, one(w.bare(), slices.Concat([]string{stop}, s, []string{fmt.Sprintf("container-start %s %s", w.Unit(), c), "settle"})...))
		}
		for _, setUp := range [][]string{w.bare(), w.full()} {
			all = append(all, one(setUp, append([]string{stop}, w.remove()...)...))
		}
		all = append(all, one(w.full(), append([]string{stop}, slices.Concat(w.change()...)...)...))
		// It isn't there while the first hooks run. One whose Pebble hangs isn't tried: Ops fails then by itself,
		// as can_connect raises TimeoutError.
		all = append(all, one(nil, append(w.begun(1), stop, "settle", fmt.Sprintf("container-start %s %s", w.Unit(), c), "settle")...))
	}
	return all
}

// updating: update-status comes in every state.
func updating(w World, _ *rand.Rand) (all []probe) {
	status := []string{"advance 6m", "settle"}
	states := w.states()
	all = append(all, one(states[len(states)-1], status...))
	// Each option has a wrong value at first, and then each has others.
	first := probe{setUp: w.bare()}
	var rest []probe
	for _, name := range slices.Sorted(maps.Keys(w.Charm.Options)) {
		p := probe{setUp: w.bare()}
		for _, value := range w.wrong(w.Charm.Options[name]) {
			p.parts = append(p.parts, append([]string{w.set(name, value), "settle"}, status...))
		}
		if n := len(p.parts); n > 0 && len(first.parts) < maxOptions {
			first.parts = append(first.parts, append(slices.Clone(p.parts[min(2, n-1)]), w.reset(name)))
		}
		rest = append(rest, p)
	}
	all = append(all, first)
	for _, setUp := range states[:len(states)-1] {
		all = append(all, one(setUp, status...))
	}
	for _, e := range w.Endpoints {
		all = append(all, one(w.bare(), append(w.whole(e), append([]string{w.unrelate(e), "settle"}, status...)...)...))
	}
	return append(all, rest...)
}

// detaching: what was on storage is there when it is gone, and what came later when it is back.
func detaching(w World, _ *rand.Rand) (all []probe) {
	for _, s := range w.optional() {
		add := []string{"add-storage " + w.Unit() + " " + s, "settle"}
		off, on := []string{"detach-storage " + w.storageID(s, 0), "settle"}, []string{fmt.Sprintf("attach-storage %s %s", w.Unit(), w.storageID(s, 0)), "settle"}
		acts, more := w.acts(w.Unit()), w.runs(w.More)
		all = append(all,
			eitherWay(w.bare(), acts, slices.Concat(add, acts, off), "storage,files"),
			eitherWay(w.bare(), slices.Concat(add, acts, more), slices.Concat(add, acts, off, more, on), "files"),
			one(w.full(), slices.Concat(add, off, []string{"advance 6m", "settle"}, on)...))
	}
	return all
}

func (w World) runs(calls []string) (lines []string) {
	for _, c := range calls {
		lines = append(lines, "run "+w.Unit()+" "+c)
	}
	return lines
}

// noRetry has a hook that fails stay as it is. Else it would run again every few minutes of a month,
// thousands of times.
const noRetry, retry = "model-config automatically-retry-hooks=false", "model-config automatically-retry-hooks=true"

// month is how long, on the world's clock, what comes with time is waited for.
var month = []string{"advance --skip-update-status 800h", "settle"}

// aMonth: nothing adds up, and what is due succeeds.
func aMonth(w World, _ *rand.Rand) (all []probe) {
	for _, setUp := range backwards(w.states()) {
		steps := slices.Concat([]string{noRetry, "mark before"}, month, []string{"same --but values,messages,files before"})
		all = append(all, one(setUp, steps...))
	}
	return all
}

func (w World) remove() []string {
	return []string{w.app("remove-application %s"), "settle", "status", w.app(`! stdout '(^|\s)%s/\d'`)}
}

// removing: the application goes, whatever state it is in.
func removing(w World, _ *rand.Rand) (all []probe) {
	var wrong [2][]probe // with the first wrong value of each option, and with the second one
	for _, name := range slices.Sorted(maps.Keys(w.Charm.Options)) {
		for i, value := range w.wrong(w.Charm.Options[name]) {
			if i < len(wrong) {
				wrong[i] = append(wrong[i], one(nil, append(w.deploy(1, "--config", name+"="+value), w.remove()...)...))
			}
		}
	}
	// A text that is missing is the likeliest to be wrong.
	slices.SortStableFunc(wrong[0], func(a, b probe) int { return unset(b) - unset(a) })
	states := w.states()
	all = append(all, one(w.bare(), w.remove()...))
	few := min(2, len(wrong[0]))
	all = append(all, wrong[0][:few]...)
	for _, setUp := range backwards(states[1:]) {
		all = append(all, one(setUp, w.remove()...))
	}
	if w.peers() {
		all = append(all, one(w.deploy(2), w.remove()...))
	}
	return slices.Concat(all, wrong[0][few:], wrong[1])
}

// unset is 1 for a deployment with an option that has no value, and 0 for another one.
func unset(p probe) int {
	if strings.HasSuffix(p.lines()[0], "=") {
		return 1
	}
	return 0
}

// showing: what others have said in confidence is in no log, status or databag.
func showing(w World, _ *rand.Rand) []probe {
	p := probe{setUp: w.full()}
	hidden := `! stdout ' (log|status|databag|leader-settings)( |$)'`
	for _, e := range w.Endpoints {
		for _, k := range e.Keys {
			switch {
			case k.Kind == Secret:
				p.parts = append(p.parts, []string{"search " + e.marker(k, "first"), hidden})
			case k.telling():
				p.parts = append(p.parts, []string{"search " + quoted(e.value(k, 0)), hidden}, []string{"search " + quoted(e.value(k, -1)), hidden})
			}
		}
	}
	for _, name := range w.Trusted {
		e, k := w.inOption(name)
		p.parts = append(p.parts, []string{"search " + e.marker(k, "first"), hidden})
	}
	p.parts = append(p.parts, []string{"search --secrets " + w.Application(), w.hidden()})
	return []probe{p}
}

// hidden is the claim that nothing of the charm's own secrets is shown: of what is under keys such as password,
// as a user's name may well be known; and of databags only in those of peers, as others may speak a
// protocol that knows nothing of secrets.
func (w World) hidden() string {
	places := "log|status|leader-settings"
	for _, name := range slices.Sorted(maps.Keys(w.Charm.Endpoints)) {
		if w.Charm.Endpoints[name].Role == model.Peer {
			places += fmt.Sprintf("|databag %s:%s", w.Application(), name)
		}
	}
	return fmt.Sprintf(`! stdout '(?i)(^|[ -])(pass|password|passwd|passphrase|secret|token|credentials?|(private|secret|access|api)-key): [^ ]+ (%s)( |$)'`, places)
}

// confidential says whether a key's name says that its value is nobody else's business.
func confidential(key string) bool {
	return slices.ContainsFunc([]string{"pass", "secret", "token", "credential", "private"}, func(w string) bool { return strings.Contains(strings.ToLower(key), w) })
}

const (
	// manyUnits is how many units the other side has to show what grows with them.
	manyUnits = 8
	// manyEndpoints is how many endpoints have their turns in one scenario.
	manyEndpoints = 3
	// longHook is how long the hooks that follow from a change may take, by the host's clock, with
	// stubs that do nothing.
	longHook = "15s"
	// manyCalls is how many hook tools a hook may call: it takes seconds then, even if each answers at
	// once.
	manyCalls = 200
)

// counting: a hook calls as many tools for many remote units as for one, and waits for nobody.
func counting(w World, _ *rand.Rand) (all []probe) {
	hook, step := "update-status", []string{"advance 6m", "settle"}
	if c := w.change(); len(c) > 0 {
		hook, step = "config-changed", c[0]
	}
	var slow []probe
	for i, e := range w.Endpoints {
		many := append(w.secretsOf(e), w.relate(e)[0], fmt.Sprintf("stub-join %s %d", e.Stub(), manyUnits-1))
		if i%manyEndpoints == 0 {
			all = append(all, probe{setUp: w.bare(), first: []string{"snapshot begin"}})
		}
		p := &all[len(all)-1]
		p.parts = append(p.parts, slices.Concat([]string{"restore begin"}, many, []string{w.relate(e)[1], "settle"}, step, []string{
			fmt.Sprintf("calls %s %s", w.Unit(), hook),
			fmt.Sprintf(`! stdout '^(status-set|relation-set|state-set|state-get|open-port|close-port|opened-ports|secret-[a-z]+|config-get|is-leader|goal-state|application-version-set|leader-[a-z]+) ([%d-9]|\d\d+)$'`, manyUnits),
		}))
		took := "took " + longHook
		slow = append(slow, one(w.bare(), slices.Concat(w.secretsOf(e), w.relate(e), []string{"settle", took}, step, []string{took})...))
	}
	return slices.Concat(all, slow, w.calling()) // the slow ones come first once a hook has been slow
}

// calling counts what each hook of a life calls, with one unit on each other side.
func (w World) calling() (all []probe) {
	for i := range w.Life {
		p := probe{setUp: slices.Concat(w.Life[:i+1]...)}
		var counted []string
		for _, seen := range w.Hooks {
			if seen.Step == i && len(seen.Tools) > 0 && !slices.Contains(counted, seen.Hook) {
				counted = append(counted, seen.Hook)
				p.parts = append(p.parts, []string{fmt.Sprintf("calls --at-most %d %s %s", manyCalls, w.Unit(), seen.Hook)})
			}
		}
		all = append(all, p)
	}
	return all
}

// writing: nothing is left in homes and temporary directories.
func writing(w World, _ *rand.Rand) (all []probe) {
	for _, setUp := range backwards(w.states()) {
		steps := slices.Concat(w.acts(w.Unit()), w.runs(w.More), []string{"files " + w.Unit(), `! stdout '^[+] (/tmp/|/var/tmp/|/home/|/root/(\.[^c]|[^.])|/mnt/|/media/|/boot/|/[^/]+$)'`})
		all = append(all, one(setUp, steps...))
	}
	return all
}

// processes: none is left once a hook has ended.
func processes(w World, _ *rand.Rand) (all []probe) {
	none := []string{"processes " + w.Unit(), "! stdout ."}
	for _, setUp := range backwards(w.states()) {
		all = append(all, one(nil, append(slices.Clone(setUp), none...)...)) // a snapshot has no processes
	}
	return slices.Insert(all, 1, one(w.full(), slices.Concat([]string{noRetry}, month, none)...))
}
