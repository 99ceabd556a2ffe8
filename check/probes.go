package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// probe is something to be tried: a scenario that a sound charm passes.
type probe struct {
	promise string
	// setUp is what many probes begin with, first what all parts need, and parts are what is tried. A
	// part that fails is left out of the next try, so that it hides nothing.
	setUp []string
	first []string
	parts [][]string
	// end are the lines after the last part.
	end []string
}

// lines are the steps of the probe.
func (p probe) lines() []string {
	return slices.Concat(p.first, slices.Concat(p.parts...), p.end)
}

// without is the probe but for the part that a line is in, counted from the first step; false:
// nothing would be left to be tried.
func (p probe) without(line int) (probe, bool) {
	if line -= len(p.first); line < 0 {
		return p, false
	}
	for i, part := range p.parts {
		if line < len(part) {
			if len(p.first) > 0 && len(p.end) == 0 {
				p.parts = p.parts[i+1:] // those before it need nobody, and were tried
			} else {
				p.parts = slices.Delete(slices.Clone(p.parts), i, i+1)
			}
			return p, len(p.parts) > 0
		}
		line -= len(part)
	}
	return p, false
}

// maker makes the probes of one promise.
type maker func(w World, chance *rand.Rand) []probe

// makers are those of all promises.
var makers = map[string]maker{
	Settles:            settling,
	EmptyDatabag:       waiting,
	OrderOfRelations:   ordering,
	Twice:              twice,
	Killed:             killing,
	InterruptedInstall: interrupting,
	Upgrade:            upgrading,
	WrongConfig:        configuring,
	RelationAgain:      relatingAgain,
	LastUnit:           lastUnits,
	LeaderLost:         leading,
	Secrets:            secrets,
	RemoteGone:         leaving,
	Container:          containers,
	UpdateStatus:       updating,
	StorageGone:        detaching,
	AMonth:             aMonth,
	Removal:            removing,
	NoSecretsShown:     showing,
	Frugal:             counting,
	OwnPlaces:          writing,
	NoProcesses:        processes,
}

// probes are all that there is to try of these promises, those of each by turns, so that each
// gets its share of the time.
func probes(w World, promises []string, chance *rand.Rand) (all []probe) {
	by := map[string][]probe{}
	for _, name := range promises {
		for _, p := range makers[name](w, chance) {
			if len(p.parts) > 0 {
				p.promise = name
				by[name] = append(by[name], p)
			}
		}
	}
	for i := 0; ; i++ {
		more := false
		for _, name := range promises {
			if i < len(by[name]) {
				all, more = append(all, by[name][i]), true
			}
		}
		if !more {
			return all
		}
	}
}

// The set-ups that probes share.

func (w World) bare() []string { return w.deploy(1) }

// related is one unit in all relations, with nothing published.
func (w World) related() []string {
	lines := w.deploy(1)
	for _, e := range w.Endpoints {
		lines = append(lines, w.secretsOf(e)...)
		lines = append(lines, w.relate(e)...)
	}
	return append(lines, "settle")
}

// full is one unit that has all that it may have.
func (w World) full() []string {
	lines := append(w.deploy(1), w.trusted()...)
	for _, e := range w.Endpoints {
		lines = append(lines, w.whole(e)...)
	}
	if acts := w.acts(w.Unit()); len(acts) > 0 {
		lines = append(lines, acts...)
	}
	return lines
}

// states are the set-ups in which whatever may happen is tried.
func (w World) states() [][]string {
	all := [][]string{w.bare()}
	if len(w.Endpoints) > 0 {
		all = append(all, w.related(), w.full())
	}
	return all
}

func (w World) app(format string) string { return fmt.Sprintf(format, w.Application()) }

// one is a probe of one part.
func one(setUp []string, steps ...string) probe {
	return probe{setUp: setUp, parts: [][]string{steps}}
}

// eitherWay compares what comes of two ways from a set-up.
func eitherWay(setUp, way, other []string, but string) probe {
	same := "same expected"
	if but != "" {
		same = "same --but " + but + " expected"
	}
	steps := slices.Concat([]string{"snapshot begin"}, way, []string{"mark expected", "restore begin"}, other, []string{same})
	return one(setUp, steps...)
}

// settling: few hooks follow from a change, however many units there are.
func settling(w World, _ *rand.Rand) (all []probe) {
	var changed []probe
	for _, n := range []int{2, 4} {
		if !w.peers() {
			break
		}
		deploy := append(w.begun(n), fmt.Sprintf("settle %d", 40*n))
		all = append(all, one(nil, deploy...))
		for _, c := range w.change() {
			changed = append(changed, one(nil, append(slices.Clone(deploy), c[0], fmt.Sprintf("settle %d", 40*n))...))
		}
	}
	all = append(all, changed...)
	var lines []string
	for _, e := range w.Endpoints {
		lines = append(lines, w.secretsOf(e)...)
		lines = append(lines, append(w.relate(e), "settle 60")...)
		if published := e.publish(e.Keys, 0); len(published) > 0 {
			lines = append(lines, append(published, "settle 60")...)
		}
	}
	if len(lines) > 0 {
		all = append(all, one(w.bare(), lines...))
	}
	return all
}

// waiting: databags are empty, and fill one key after the other.
func waiting(w World, chance *rand.Rand) (all []probe) {
	for _, e := range w.Endpoints {
		silent := append(slices.Concat(w.secretsOf(e), w.relate(e)), "settle")
		all = append(all, one(w.bare(), silent...))
		for _, keys := range [][]Key{e.Keys, backwards(e.Keys), shuffled(e.Keys, chance)} {
			lines := slices.Clone(silent)
			for _, some := range chunks(keys, 12) {
				lines = append(lines, append(e.publish(some, 0), "settle")...)
			}
			if len(keys) > 0 {
				all = append(all, one(w.bare(), lines...))
			}
		}
	}
	return all
}

func backwards[T any](all []T) []T {
	out := slices.Clone(all)
	slices.Reverse(out)
	return out
}

func shuffled[T any](all []T, chance *rand.Rand) []T {
	out := slices.Clone(all)
	chance.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// chunks are n parts at most, none of them empty.
func chunks[T any](all []T, n int) [][]T {
	if len(all) == 0 {
		return nil
	}
	return slices.Collect(slices.Chunk(all, (len(all)+n-1)/n))
}

// ordering: the order in which relations are made, and others publish, makes no difference.
func ordering(w World, chance *rand.Rand) (all []probe) {
	if len(w.Endpoints) < 2 {
		return nil
	}
	way := func(endpoints []Endpoint, dataLast bool) (lines []string) {
		for _, e := range endpoints {
			lines = append(lines, append(slices.Concat(w.secretsOf(e), w.relate(e)), "settle")...)
			if !dataLast {
				lines = append(lines, append(e.publish(e.Keys, 0), "settle")...)
			}
		}
		if dataLast {
			for _, e := range endpoints {
				lines = append(lines, append(e.publish(e.Keys, 0), "settle")...)
			}
		}
		return lines
	}
	first := way(w.Endpoints, false)
	for _, other := range [][]string{
		way(backwards(w.Endpoints), false), way(w.Endpoints, true), way(backwards(w.Endpoints), true),
		way(shuffled(w.Endpoints, chance), false), way(shuffled(w.Endpoints, chance), true),
	} {
		all = append(all, eitherWay(w.bare(), first, other, "values,messages,files"))
	}
	return all
}

// twice: what a hook writes when it runs again is what is there.
func twice(w World, _ *rand.Rand) (all []probe) {
	add := func(setUp []string, steps ...string) {
		all = append(all, one(setUp, append([]string{"twice on"}, steps...)...))
	}
	all = append(all, one(nil, append(w.begun(1), "twice on", "settle")...))
	lives := w.livesToUpgrade()
	add(append(w.formerDeploy(), lives[len(lives)-1]...), w.refresh()...)
	for _, c := range w.change() {
		add(w.full(), c...)
	}
	for _, e := range w.Endpoints {
		lines := append(slices.Concat(w.secretsOf(e), w.relate(e)), "settle")
		add(w.bare(), append(lines, append(e.publish(e.Keys, 0), "settle")...)...)
	}
	if w.peers() {
		add(w.bare(), w.addUnit(), "settle 80")
	}
	for _, s := range w.optional() {
		add(w.full(), "add-storage "+w.Unit()+" "+s, "settle")
	}
	for _, c := range w.change() {
		add(w.bare(), c...)
	}
	add(w.full(), "advance 6m", "settle")
	return all
}

func (w World) refresh() []string {
	return []string{strings.Join(append([]string{w.app("refresh %s --path $SCRIPT_DIR/..")}, w.fresh()...), " "), "settle"}
}

// livesToUpgrade are what a unit of the former version lives before it is upgraded; the last one is a whole one.
// They have what that version has.
func (w World) livesToUpgrade() [][]string {
	var acts, whole []string
	for _, call := range w.Actions {
		name, _, _ := strings.Cut(call, " ")
		if _, ok := w.Was.Actions[name]; ok || w.Former == "" {
			acts = append(acts, "run "+w.Unit()+" "+call)
		}
	}
	lives := [][]string{acts}
	for _, s := range w.optional() {
		if _, ok := w.Was.Storage[s]; ok || w.Former == "" {
			lives = append(lives, append([]string{"add-storage " + w.Unit() + " " + s, "settle"}, acts...))
		}
	}
	for _, e := range w.Endpoints {
		if _, ok := w.Was.Endpoints[e.Name]; ok || w.Former == "" {
			whole = append(whole, w.whole(e)...)
		}
	}
	return append(lives, append(whole, acts...))
}

// upgrading: an upgraded unit is like one that was deployed with the new version.
func upgrading(w World, _ *rand.Rand) (all []probe) {
	for _, life := range w.livesToUpgrade() {
		way := append(w.deploy(1), life...)
		other := slices.Concat(w.formerDeploy(), life, w.refresh())
		but := "files"
		if w.Former != "" {
			but = "files,version"
		}
		all = append(all, eitherWay(nil, way, other, but))
	}
	return all
}
