package cli

import (
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// troubleTexts say of each kind of trouble what a settled model has then, and what
// a person can do.
var troubleTexts = []struct {
	kind       state.TroubleKind
	what, hint string
}{
	{state.InError, "units in error", `see "unitd debug-log", then "unitd resolved"`},
	{state.AgentFailed, "units whose agents cannot work", `they try again; see "unitd why"`},
	{state.ContainerDown, "containers that are not up", `they are tried again; see "unitd why" and "unitd debug-log"`},
	{state.Barred, "units whose containers don't run", state.ContainersWay},
	{state.ImageMissing, "units that keep their containers, as an image can't be had", `it is tried again; see "unitd why"`},
	{state.HookAside, "hooks of containers that have failed", `they are run again; see "unitd debug-log"`},
	{state.HookDropped, "hooks of containers that have failed in units that go", `they are not run again; see "unitd debug-log"`},
	{state.HeldUp, "units that keep their former containers", `see "unitd why"`},
}

// settledWith is the error of a model that has settled with something that has
// failed; nil: nothing has. With hints it says what a person can do.
func settledWith(s *state.FullStatus, hints bool) error {
	var parts []string
	all := s.Troubles()
	for _, text := range troubleTexts {
		var list []string
		for _, t := range all {
			if t.Kind == text.kind {
				list = append(list, string(t.Unit)+": "+t.Text)
			}
		}
		if len(list) == 0 {
			continue
		}
		part := text.what + ": " + strings.Join(list, ", ")
		if hints {
			part += "; " + text.hint
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil
	}
	return errors.New("settled with " + strings.Join(parts, ". And with "))
}
