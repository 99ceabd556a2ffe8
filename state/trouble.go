package state

import (
	"fmt"

	"github.com/unitd/unitd/model"
)

// Trouble is what has failed of a unit that has nothing left to do by itself.
type Trouble struct {
	Unit model.UnitName
	Kind TroubleKind
	// Text says what it is, without the unit's name.
	Text string
}

// TroubleKind says what has failed.
type TroubleKind string

// The kinds of trouble.
const (
	InError       TroubleKind = "error"     // the unit, which waits for a person
	AgentFailed   TroubleKind = "agent"     // the unit's agent can't do its work, and tries again
	HookAside     TroubleKind = "aside"     // a hook of a container, which is run again
	HookDropped   TroubleKind = "dropped"   // a hook of a container in a unit that goes, which isn't run again
	ContainerDown TroubleKind = "container" // a container isn't up, and is tried again
	Barred        TroubleKind = "barred"    // the unit's containers can't run beside it
	ImageMissing  TroubleKind = "image"     // the image of a unit's next containers can't be had, and is tried again
	HeldUp        TroubleKind = "held"      // the unit is to have other containers after one that isn't ready
)

// Troubles are those of all units, in their order.
func (s *FullStatus) Troubles() []Trouble {
	var all []Trouble
	for _, app := range s.Applications {
		for _, u := range app.Units {
			all = append(all, u.troubles()...)
		}
	}
	return all
}

func (v UnitView) troubles() []Trouble {
	var all []Trouble
	if v.Workload.Status == model.StatusError && v.charms == nil {
		text := v.Workload.Message
		if reason, ok := v.Workload.Data["reason"].(string); ok {
			text += " (" + reason + ")"
		}
		all = append(all, Trouble{v.Name, InError, text})
	}
	if v.Agent.Status == model.StatusFailed {
		all = append(all, Trouble{v.Name, AgentFailed, v.Agent.Message})
	}
	if text := v.Containers.barred(); text != "" {
		all = append(all, Trouble{v.Name, Barred, text})
	}
	for _, c := range v.Containers.Containers {
		if c.Down() {
			all = append(all, Trouble{v.Name, ContainerDown, c.said()})
		}
		for _, f := range c.Failed {
			kind := HookAside
			if v.Life == model.Dying { // docs/guarantees.md, "Workload containers"
				kind = HookDropped
			}
			all = append(all, Trouble{v.Name, kind, f.Hook + " (" + f.Reason + ")"})
		}
	}
	if n := v.Containers.Next; n != nil && n.Fault != "" {
		all = append(all, Trouble{v.Name, ImageMissing, n.said()})
	}
	if v.After != "" {
		all = append(all, Trouble{v.Name, HeldUp, fmt.Sprintf("until %s is ready", v.After)})
	}
	return all
}
