package cli

import (
	"maps"
	"os"
	"slices"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// sources shows what the units of a model have said with the paths of their
// charms' authors, where these are on this host.
func (f *focus) sources(m *state.Model) *machine.Sources {
	dir, err := agent.DataDir()
	if err != nil {
		return nil
	}
	return f.sourcesIn(m, dir)
}

// sourcesIn is sources for agents that work in dir.
func (f *focus) sourcesIn(m *state.Model, dir string) *machine.Sources {
	cwd, err := os.Getwd()
	if err != nil {
		return nil
	}
	return machine.NewSources(f.Context(), m, dir, cwd)
}

// withAuthors has the failures of runs name the files of charms' authors.
func withAuthors(runs []history.Entry, s *machine.Sources) {
	for i, e := range runs {
		runs[i].Message = s.Text(e.Unit.Tag(), e.Message)
	}
}

// statusWithAuthors is withAuthors for what a status tells of failures.
func statusWithAuthors(full *state.FullStatus, s *machine.Sources) {
	for _, app := range full.Applications {
		for i := range app.Units {
			u := &app.Units[i]
			u.Agent.Message = s.Text(u.Name.Tag(), u.Agent.Message)
			if u.Workload.Status == model.StatusError && len(u.Workload.Data) > 0 {
				u.Workload.Data = dataWithAuthors(u.Name.Tag(), u.Workload.Data, s)
			}
		}
	}
}

func dataWithAuthors(tag string, data map[string]any, s *machine.Sources) map[string]any {
	data = maps.Clone(data)
	if reason, ok := data["reason"].(string); ok {
		data["reason"] = s.Text(tag, reason)
	}
	if lines, ok := data["output"].([]any); ok {
		lines = slices.Clone(lines)
		for i, line := range lines {
			if text, ok := line.(string); ok {
				lines[i] = s.Text(tag, text)
			}
		}
		data["output"] = lines
	}
	return data
}
