package cli

import (
	"os"
	"slices"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// places are the data directories in which there is something of units: this host's, and
// copies of what other hosts' agents have sent.
type places struct {
	dirs []string
	// from names where each of them is from; empty: it is this host's.
	from []string
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
	return places{dirs: []string{dir}, from: []string{""}}, err
}

// places gets what others have of these units, or of all where there are none. names are the
// files that are wanted of a unit, or of all units if it is empty. An agent that isn't there,
// or doesn't answer, is an error if a unit is named, else people are told.
func (a base) places(m *state.Model, units []model.UnitName, names func(model.UnitName) []string) (places, error) {
	p, err := onThisHost()
	if err != nil {
		return p, err
	}
	others, err := a.Others(m)
	if err != nil || len(others) == 0 {
		return p, err
	}
	wanted := map[agent.Elsewhere][]string{}
	for _, u := range units {
		on, err := a.Whose(m, u, others)
		if err != nil {
			return p, err
		}
		for _, o := range on {
			wanted[o] = append(wanted[o], names(u)...)
		}
	}
	for _, on := range others {
		if len(units) == 0 {
			wanted[on] = names("")
		}
		if len(wanted[on]) == 0 {
			continue
		}
		copied, cut, err := a.Fetch(m, on, machine.FilesQuestion{Names: slices.Compact(wanted[on])})
		switch {
		case err != nil && len(units) > 0:
			p.end()
			return places{}, err
		case err != nil:
			a.Note("WARNING %v", err)
			continue
		case cut:
			a.Note("Only the newest of what %s has is shown: it is too much to be sent.", on.Name)
		}
		p.dirs, p.from = append(p.dirs, copied), append(p.from, on.Name)
	}
	return p, nil
}

// ofHistory are the files with the history of a unit, or of all.
func ofHistory(unit model.UnitName) []string {
	if unit == "" {
		return []string{"history/*.jsonl*"}
	}
	return []string{"history/" + unit.Tag() + ".jsonl*"}
}

// ofRuns are those with all that is known of a unit's runs.
func ofRuns(unit model.UnitName) []string {
	return append(ofHistory(unit), "debug.log*", "recordings/"+unit.Tag()+".jsonl*")
}

// ofRecordings are those with the recordings of a unit.
func ofRecordings(unit model.UnitName) []string {
	return append(ofHistory(unit), "recordings/"+unit.Tag()+".jsonl*")
}
