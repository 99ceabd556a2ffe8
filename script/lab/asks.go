package lab

import (
	"context"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// Asked is a command that a hook run waits for the script to carry out. Meanwhile
// the unit doesn't count as one that stands still, so nothing else of the world goes
// on, and the order of hooks doesn't depend on how fast the script is.
type Asked struct {
	ID      int            `json:"id"`
	Unit    model.UnitName `json:"unit"`
	Hook    string         `json:"hook"`
	Command []string       `json:"command"`
}

// ask is one that a run waits for.
type ask struct {
	Asked
	done chan struct{} // closed once it is carried out
}

// Asks are the commands that runs wait for, in the order in which they came.
func (f *Faults) Asks() []Asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Asked
	for _, a := range f.asks {
		all = append(all, a.Asked)
	}
	return all
}

// Done lets the run go on that waits for the command with the id.
func (f *Faults) Done(id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.asks {
		if a.ID == id {
			close(a.done)
		}
	}
	f.asks = slices.DeleteFunc(f.asks, func(a ask) bool { return a.ID == id })
}

func (f *Faults) ask(ctx context.Context, p machine.Point, fault Fault) error {
	f.mu.Lock()
	f.lastID++
	a := ask{Asked{f.lastID, p.Unit, p.Hook.Name(), fault.Command}, make(chan struct{})}
	f.asks = append(f.asks, a)
	f.mu.Unlock()
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		f.mu.Lock()
		defer f.mu.Unlock()
		f.asks = slices.DeleteFunc(f.asks, func(other ask) bool { return other.ID == a.ID })
		return errors.Trace(ctx.Err())
	}
}

// instead is the program that a run runs, by its number.
type instead struct {
	run     int64
	program string
}

// Instead is the machine.Config.Instead of an agent under test.
func (f *Faults) Instead(uuid string, name model.UnitName, run int64, h hooks.Info) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	unit := unitOf{uuid, name}
	if now, ok := f.instead[unit]; ok && now.run == run {
		return now.program
	}
	for i, fault := range f.list {
		if fault.Do != RunAs || fault.of() != unit || fault.Hook != h.Name() {
			continue
		}
		f.list = slices.Delete(f.list, i, i+1)
		if f.instead == nil {
			f.instead = map[unitOf]instead{}
		}
		f.instead[unit] = instead{run, fault.Program}
		return fault.Program
	}
	return ""
}
