package render

import (
	"fmt"
	"maps"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// failures shows below the tables, in a line each, why the hooks have failed that
// units are in error by; what an agent can't do; and which hooks of containers have
// failed and hold nothing up.
func (t *Table) failures(s *state.FullStatus) {
	for _, app := range s.Applications {
		for _, u := range app.Units {
			if u.Workload.Status == model.StatusError && len(u.Workload.Data) > 0 {
				t.failure(string(u.Name), u.Workload.Data)
			}
			if u.Fetching != "" {
				head := []span{{text: string(u.Name), colour: Bold}, {text: ": " + u.Fetching}}
				t.line(head)
			}
			if held := heldUp(u); held != "" {
				head := []span{{text: string(u.Name), colour: Bold}, {text: ": "}, {text: clip(held, 400), colour: Red}}
				t.line(head)
			}
		}
	}
	for _, trouble := range s.Troubles() {
		again := map[state.TroubleKind]string{state.HookAside: "it runs again", state.HookDropped: "it isn't run again"}[trouble.Kind]
		if again == "" {
			continue
		}
		head := []span{
			{text: string(trouble.Unit), colour: Bold}, {text: ": a hook of a container has failed, and " + again + ": "},
			{text: clip(trouble.Text, 400), colour: Red},
		}
		t.line(head)
	}
}

func (t *Table) failure(unit string, data map[string]any) {
	remote := ""
	if name, ok := data["remote-unit"]; ok {
		remote = fmt.Sprintf(" for %v", name)
	}
	head := []span{
		{text: unit, colour: Bold}, {text: fmt.Sprintf(": %v%s, run %v: ", data["hook"], remote, data["run"])},
		{text: clip(fmt.Sprint(data["reason"]), 400), colour: Red},
	}
	t.line(head)
}

// withData is a status with what is known of the failure that it tells of.
func withData(t Tree, s model.Status) Tree {
	if s.Status == model.StatusError && len(s.Data) > 0 {
		t["data"] = maps.Clone(s.Data)
	}
	return t
}
