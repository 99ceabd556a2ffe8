package deploy

import (
	"os"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/workload"
)

// Diagnosis is what a host can give units, as it was tried.
type Diagnosis struct {
	Modes []ModeHere     `json:"modes" yaml:"modes"`
	Host  []isolate.Fact `json:"host" yaml:"host"`
}

// ModeHere is whether units can be isolated in a mode: yes, in part or no, with the reason,
// which has what to do.
type ModeHere struct {
	Mode string `json:"mode" yaml:"mode"`
	Here string `json:"here" yaml:"here"`
	Why  string `json:"why,omitempty" yaml:"why,omitempty"`
}

// The answers of ModeHere.
const (
	yes    = "yes"
	inPart = "in part"
	no     = "no"
)

// Doctor makes a machine in each mode, and removes it.
func (d *Deployer) Doctor() (Diagnosis, error) {
	dir, err := agent.DataDir()
	if err != nil {
		return Diagnosis{}, err
	}
	self, err := agent.StableSelf(dir)
	if err != nil {
		return Diagnosis{}, err
	}
	cells := machine.NewCells(dir, self)
	defer cells.Close()
	try := func(i model.Isolation) ModeHere {
		a, err := cells.Attempt(d.Context(), isolate.Spec{Name: "units", Hostname: "try", ID: "try", Mode: i.Mode, Root: i.Root, OS: i.OS})
		return diagnosed(i.Mode, a, err)
	}
	what := Diagnosis{Modes: []ModeHere{machineHere(bases.Here(dir), try)}}
	for _, mode := range []string{model.IsolateOn, model.IsolateFiles} {
		what.Modes = append(what.Modes, try(model.Isolation{Mode: mode}))
	}
	what.Modes = append(what.Modes, ModeHere{Mode: model.IsolateOff, Here: yes})
	what.Host = append(cells.Facts(), charmsFact(dir), pebbleFact())
	return what, d.Context().Err()
}

// diagnosed is what an attempt says of a mode.
func diagnosed(mode string, a isolate.Attempt, err error) ModeHere {
	m := ModeHere{Mode: mode, Here: yes, Why: a.Lost}
	switch {
	case err != nil:
		m.Here, m.Why = no, err.Error()
	case a.Lost != "":
		m.Here = inPart
	case os.Geteuid() == 0 && !a.OwnUsers:
		m.Here, m.Why = inPart, "root inside is the host's root, with fewer rights: users of its own need Linux 5.19, and a data directory on a file system that supports idmapped mounts"
	}
	return m
}

// machineHere tries machines with systemd on the bases that there are: on one that works,
// if any does.
func machineHere(s bases.Store, try func(model.Isolation) ModeHere) ModeHere {
	m := ModeHere{Mode: model.IsolateMachine, Here: no, Why: "there is no base on this host: unitd base fetch debian@12"}
	all, err := s.List()
	if err != nil {
		m.Why = err.Error()
		return m
	}
	if os.Geteuid() != 0 {
		m.Why = "it needs an agent that runs as root"
		return m
	}
	for _, b := range all {
		if m = try(model.Isolation{Mode: model.IsolateMachine, Root: b.Root, OS: isolate.HostOS}); m.Here == yes {
			m.Why = "on " + b.Name
			return m
		}
	}
	return m
}

// charmsFact is whether units of one charm share its bytes in the data directory.
func charmsFact(dir string) isolate.Fact {
	f := isolate.Fact{Name: "charms", Value: "each unit has a copy of its charm"}
	if machine.SharesCharms(dir) {
		f.Value = "units of one charm share its bytes, until they write to it"
		return f
	}
	f.Do = "a data directory on XFS or btrfs stores the bytes of a charm once: mkfs.xfs DEVICE && mount DEVICE " + dir
	return f
}

// pebbleFact is whether charms with containers can run.
func pebbleFact() isolate.Fact {
	path, err := workload.FindPebble()
	if err != nil {
		return isolate.Fact{Name: "Pebble", Value: err.Error(), Do: "charms with containers need one, unless their images have it: make pebble, and name it by " + workload.PebbleVariable}
	}
	return isolate.Fact{Name: "Pebble", Value: path}
}
