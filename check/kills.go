package check

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/unitd/unitd/pattern"
)

// again has the agent come back after it was killed, and retry what it was in.
var again = []string{"restart-agent", "advance 10m", "settle"}

// killing: each hook is killed after each hook tool that it calls, and at its end.
func killing(w World, chance *rand.Rand) (all []probe) {
	var sure, more, later []probe
	add := func(seen []Seen, setUp, step []string) {
		s, m, l := w.kills(seen, setUp, step)
		sure, more, later = append(sure, s.cut()...), append(more, m.cut()...), append(later, l.cut()...)
	}
	for i := 1; i < len(w.Life); i++ { // the first hooks are those of an install that is interrupted
		var seen []Seen
		for _, s := range w.Hooks {
			if s.Step == i {
				seen = append(seen, s)
			}
		}
		add(seen, slices.Concat(w.Life[:i]...), w.Life[i])
	}
	if upgrade := slices.IndexFunc(w.Hooks, func(s Seen) bool { return s.Hook == "upgrade-charm" }); upgrade >= 0 {
		lives := w.livesToUpgrade()
		for _, life := range lives[:len(lives)-1] {
			add(w.Hooks[upgrade:upgrade+1], append(w.formerDeploy(), life...), w.refresh())
		}
	}
	for _, some := range [][]probe{sure, more, later} {
		chance.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		slices.SortStableFunc(some, func(a, b probe) int { return onMachine(a) - onMachine(b) })
	}
	return slices.Concat(sure, more, later)
}

// onMachine says how much the hooks that are killed have to do with files, which stay as a killed hook has
// left them: an upgrade moves what was there, and so does a hook of storage. What others have written
// into the model is dropped.
func onMachine(p probe) int {
	text, setUp := strings.Join(p.lines(), "\n"), strings.Join(p.setUp, "\n")
	switch upgrade := strings.Contains(text, " upgrade-charm\n") && strings.Contains(setUp, formerVersion); {
	case upgrade && strings.Contains(setUp, "add-storage "):
		return 0
	case strings.Contains(text, "-storage-attached\n"):
		return 1
	case upgrade:
		return 2
	case strings.Contains(text, "-storage-") || strings.Contains(text, " config-changed\n"):
		return 3
	}
	return 4
}

// kills are the probes that kill the hooks which a step brings, one after the other: sure at their ends and
// after status-set, which mostly comes amid what they do; more after the first call of each other hook tool, and later
// after its other calls, those that write first.
func (w World) kills(seen []Seen, setUp, step []string) (sure, more, later probe) {
	way := append(slices.Clone(step), "advance 10m", "settle")
	sure = probe{setUp: setUp, first: slices.Concat([]string{"snapshot begin"}, way, []string{"mark expected"})}
	more, later = sure, sure
	var act []string
	for _, line := range step {
		if call, ok := strings.CutPrefix(line, "run "); ok {
			line = "run --background " + call // the agent ends meanwhile
		}
		if line != "settle" {
			act = append(act, line)
		}
	}
	for _, s := range seen {
		for _, at := range append([]string{"at ended"}, prefixed("after ", s.Tools)...) {
			kill := fmt.Sprintf("kill-agent %s %s %s", at, w.Unit(), s.Hook)
			if slices.ContainsFunc(slices.Concat(sure.parts, more.parts, later.parts), func(part []string) bool { return part[1] == kill }) {
				continue
			}
			part := slices.Concat([]string{"restore begin", kill}, act, again, []string{"same expected"})
			switch {
			case at == "at ended" || at == "after status-set":
				sure.parts = append(sure.parts, part)
			case laterCall.MatchString(kill):
				later.parts = append(later.parts, part)
			default:
				more.parts = append(more.parts, part)
			}
		}
	}
	for _, p := range []probe{more, later} {
		slices.SortStableFunc(p.parts, func(a, b []string) int { return cmp.Compare(reading(a[1]), reading(b[1])) })
	}
	return sure, more, later
}

// laterCall is in a kill after a call of a hook tool that isn't its first one in the hook.
var laterCall = pattern.New(`(?m)^kill-agent after \d`)

// manyParts bounds the parts of a scenario, each of which kills an agent: only between scenarios it is
// looked whether there is time left.
const manyParts = 6

// cut are the probes with so many parts at most, and the same first lines.
func (p probe) cut() (all []probe) {
	for parts := range slices.Chunk(p.parts, manyParts) {
		one := p
		one.parts = parts
		all = append(all, one)
	}
	return all
}

// reading is 1 for a kill after a tool that only reads, and 0 for another one.
func reading(kill string) int {
	if strings.Contains(kill, "-get ") || strings.Contains(kill, "-list ") || strings.Contains(kill, "-ids ") || strings.Contains(kill, "is-leader ") {
		return 1
	}
	return 0
}

func prefixed(prefix string, words []string) (out []string) {
	for _, w := range words {
		out = append(out, prefix+w)
	}
	return out
}

// interrupting: so are the hooks that a new unit runs.
func interrupting(w World, _ *rand.Rand) (all []probe) {
	var had []string
	for _, seen := range w.Hooks {
		if seen.Step > 0 {
			continue
		}
		for _, at := range append(prefixed("after ", seen.Tools), "at ended") {
			kill := fmt.Sprintf("kill-agent %s %s %s", at, w.Unit(), seen.Hook)
			if slices.Contains(had, kill) { // it has run several times
				continue
			}
			had = append(had, kill)
			other := slices.Concat(w.begun(1), []string{kill}, again)
			all = append(all, eitherWay(nil, append(w.deploy(1), "advance 10m", "settle"), other, ""))
		}
	}
	all = append(all, w.secondInstall()...)
	// install first, and its end before all; calls that aren't the first of their tool last
	slices.SortStableFunc(all, func(a, b probe) int { return rank(a) - rank(b) })
	return all
}

// secondInstall kills the first hooks of a unit beside another one, at their ends: it doesn't lead.
func (w World) secondInstall() (all []probe) {
	if _, ok := w.host(); ok || !w.peers() {
		return nil
	}
	second := w.Application() + "/1"
	var had []string
	for _, seen := range w.Hooks {
		if seen.Step > 0 || seen.Hook == "leader-elected" || len(seen.Tools) == 0 || slices.Contains(had, seen.Hook) {
			continue
		}
		had = append(had, seen.Hook)
		way := []string{w.addUnit(), "settle", "advance 10m", "settle"}
		other := slices.Concat([]string{w.addUnit(), fmt.Sprintf("kill-agent at ended %s %s", second, seen.Hook)}, again)
		all = append(all, eitherWay(w.bare(), way, other, ""))
	}
	return all
}

func rank(p probe) int {
	text := strings.Join(p.lines(), "\n")
	switch {
	case laterCall.MatchString(text):
		return 4
	case strings.Contains(text, " at ended ") && strings.Contains(text, " install\n"):
		return 0
	case strings.Contains(text, " install\n"):
		return 1
	case strings.Contains(text, " at ended "):
		return 2
	}
	return 3
}
