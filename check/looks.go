package check

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// looks is what a player has seen of the hooks that have run.
type looks struct {
	hooks map[string]bool
	met   map[Meeting]bool
	// ways are in how many ways hooks have run: what endpoints were in, how a hook has ended, and
	// which hook tools it has called.
	ways map[string]bool
	// lines are those of the charm's code that have run: one that hasn't before is a new way, too.
	lines codeLines
	// costs are those of the hooks that nothing has kept from going on.
	costs costs
}

func newLooks() looks {
	return looks{hooks: map[string]bool{}, met: map[Meeting]bool{}, ways: map[string]bool{}, lines: newCodeLines(), costs: costs{}}
}

// runsOf are the runs of a unit so far.
func (p *player) runsOf(unit model.UnitName) (all []history.Entry, err error) {
	dirs, err := filepath.Glob(filepath.Join(p.data, "models", "*", "history"))
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, dir := range dirs { // there is one model
		runs, err := history.Read(dir, unit)
		if err != nil {
			return nil, errors.Trace(err)
		}
		all = append(all, runs...)
	}
	return all, nil
}

// runs are those of the first unit.
func (p *player) runs() ([]history.Entry, error) {
	return p.runsOf(model.UnitName(p.subject.Unit()))
}

// units are the charm's units that have run anything.
func (p *player) units() (names []model.UnitName) {
	prefix := "unit-" + p.subject.Application() + "-"
	paths, _ := filepath.Glob(filepath.Join(p.data, "models", "*", "history", prefix+"*.jsonl"))
	for _, path := range paths {
		number := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), prefix), ".jsonl")
		if name, err := model.ParseUnitName(p.subject.Application() + "/" + number); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// look notes which hooks have run since it has last looked, and where endpoints are meanwhile. What
// can't be read is met another time.
func (p *player) look() {
	p.notes.take(&p.looks.lines)
	vector := p.here.standing.vector()
	for _, unit := range p.units() {
		runs, err := p.runsOf(unit)
		if err != nil {
			continue
		}
		known := min(p.here.ran[string(unit)], len(runs))
		p.here.ran[string(unit)] = len(runs)
		for _, run := range runs[known:] {
			if !p.slowed {
				p.looks.costs.note(run)
			}
			p.looks.note(run, vector, len(p.here.ran), func(e string) State { return p.here.standing.state(e) }, p.stubs)
		}
	}
}

// note notes a run.
func (l *looks) note(run history.Entry, vector string, units int, state func(string) State, stubs map[string]string) {
	if run.Hook.Kind == hooks.Exec {
		return
	}
	l.hooks[run.Name] = true
	for _, endpoint := range stubs {
		l.met[Meeting{run.Name, endpoint, state(endpoint)}] = true
	}
	var tools []string
	for _, call := range run.Calls {
		if !slices.Contains(tools, call.Tool) {
			tools = append(tools, call.Tool)
		}
	}
	slices.Sort(tools)
	l.ways[fmt.Sprintf("%s %s %s of %d: %s", run.Name, run.Outcome, vector, units, strings.Join(tools, " "))] = true
}

// take adds what another has seen, and says whether a hook has run in a way that wasn't known, or a
// line of the charm.
func (l *looks) take(from *looks) (fresh bool) {
	for hook := range from.hooks {
		l.hooks[hook] = true
	}
	for m := range from.met {
		l.met[m] = true
	}
	for way := range from.ways {
		fresh = fresh || !l.ways[way]
		l.ways[way] = true
	}
	fresh = l.lines.take(from.lines) || fresh
	l.costs.take(from.costs)
	*from = newLooks()
	return fresh
}
