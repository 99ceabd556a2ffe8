package cli

import (
	"os"
	"slices"
	"sync"
	"time"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// places are the data directories in which there is something of units: this host's, and
// copies of what other hosts' agents have sent.
type places struct {
	dirs []string
	// ends are where the logs of other hosts ended, for who follows them.
	ends map[string]machine.LogMark
}

// end removes the copies.
func (p places) end() {
	for _, dir := range p.dirs[1:] {
		os.RemoveAll(dir)
	}
}

// onThisHost is what there is without asking anybody.
func onThisHost() (places, error) {
	dir, err := agent.DataDir()
	return places{[]string{dir}, map[string]machine.LogMark{}}, err
}

// places gets what others have of these units, or of all where there are none. names are the
// files that are wanted of a unit, or of all units if it is empty. Of a host whose agent isn't
// there, or doesn't answer, it is what the model has, and people are told. If that is nothing,
// and such a unit is named, that is an error. whole: as much as can be sent, else the newest, which is one answer.
func (a base) places(m *state.Model, units []model.UnitName, names func(model.UnitName) []string, whole bool) (places, error) {
	return a.gather(m, units, names, whole, a.Fetch)
}

// asked is places without what the model has.
func (a base) asked(m *state.Model, units []model.UnitName, names func(model.UnitName) []string) (places, error) {
	return a.gather(m, units, names, true, a.FetchAsked)
}

// fetching gets files of another host.
type fetching func(m *state.Model, on agent.Elsewhere, names []string, whole bool) (agent.Fetched, error)

func (a base) gather(m *state.Model, units []model.UnitName, names func(model.UnitName) []string, whole bool, get fetching) (places, error) {
	p, err := onThisHost()
	if err != nil {
		return p, err
	}
	others, err := a.Others(m)
	if err != nil || len(others) == 0 {
		return p, err
	}
	wanted, needed := map[agent.Elsewhere][]string{}, map[agent.Elsewhere]bool{}
	for _, u := range units {
		on, known, err := a.Whose(m, u, others)
		if err != nil {
			return p, err
		}
		for _, o := range on {
			wanted[o], needed[o] = append(wanted[o], names(u)...), needed[o] || known
		}
	}
	if len(units) == 0 {
		for _, o := range others {
			wanted[o] = names("")
		}
	}
	err = p.fetch(a, whole, func(on agent.Elsewhere, names []string) (agent.Fetched, error) { return get(m, on, names, whole) }, wanted, needed)
	return p, err
}

// fetch gets files of other hosts, at the same time.
func (p *places) fetch(a base, whole bool, get func(agent.Elsewhere, []string) (agent.Fetched, error), wanted map[agent.Elsewhere][]string, needed map[agent.Elsewhere]bool) (failed error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for on, names := range wanted {
		all.Go(func() {
			files, err := get(on, slices.Compact(names))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil && needed[on]:
				failed = err
				return
			case err != nil:
				a.Note("WARNING %v", err)
				return
			case files.Instead != nil:
				a.Note("WARNING %v. Until then you see the newest of what it had put into the model by %s.", files.Instead, files.At.Local().Format(time.DateTime))
			case files.Short != nil:
				a.Note("WARNING only the newest of what %s has was sent: %v", on.Name, files.Short)
			case files.Cut && whole:
				a.Note("Only the newest of what %s has is shown: it is too much to be sent.", on.Name)
			}
			p.dirs = append(p.dirs, files.Data)
			p.ends[on.Machine] = files.Log
		})
	}
	all.Wait()
	if failed != nil {
		p.end()
		p.dirs = p.dirs[:1]
	}
	return failed
}

// ofHistory are the files with the history of a unit, or of all.
func ofHistory(unit model.UnitName) []string {
	name := "history/*"
	if unit != "" {
		name = "history/" + unit.Tag()
	}
	return []string{name + ".jsonl", name + ".jsonl.1"}
}

// ofRuns are those with all that is known of a unit's runs.
func ofRuns(unit model.UnitName) []string { return append(ofRecordings(unit), ofLogs(unit)...) }

// ofRecordings are those with the recordings of a unit.
func ofRecordings(unit model.UnitName) []string {
	name := "recordings/" + unit.Tag()
	return append(ofHistory(unit), name+".jsonl", name+".jsonl.1")
}

// ofLogs are those with the log of a host.
func ofLogs(model.UnitName) []string { return []string{"debug.log", "debug.log.1"} }
