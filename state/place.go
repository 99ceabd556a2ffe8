package state

import (
	"context"
	"fmt"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// NewMachine is, as a placement, a machine that is made for the unit.
const NewMachine = "new"

// placing says where units that one transaction makes are to go.
type placing struct {
	to   []string
	free []string // ids of machines, in the order in which they are taken
	// awaited are the ids of free machines that are taken only by name.
	awaited []string
	// constraints are those of the model.
	constraints model.Constraints
	// attach is the storage that the next unit gets.
	attach []model.StorageID
}

// placing reads what is known of where there is room. Machines that nobody has
// joined come last, and on a store of one host not at all: who should join there?
func (d docs) placing(to []string) (*placing, error) {
	free, awaited, err := d.freeMachines()
	if err != nil {
		return nil, errors.Trace(err)
	}
	if !d.m.oneHost {
		free, awaited = append(free, awaited...), nil
	}
	ofModel, err := d.modelConstraints()
	return &placing{to: slices.Clone(to), free: free, awaited: awaited, constraints: ofModel}, errors.Trace(err)
}

// take says whether the machine was free, and is no longer.
func (p *placing) take(id string) bool {
	n := len(p.free) + len(p.awaited)
	is := func(free string) bool { return free == id }
	p.free, p.awaited = slices.DeleteFunc(p.free, is), slices.DeleteFunc(p.awaited, is)
	return len(p.free)+len(p.awaited) < n
}

// PassedOver are the machines that nobody has joined and that so many units don't
// wait for that are placed nowhere: the store is of one host, and other machines
// haven't room for all of them.
func (m *Model) PassedOver(ctx context.Context, units int) (ids []string, err error) {
	if !m.oneHost {
		return nil, nil
	}
	_, err = m.view(ctx, func(d docs) error {
		ready, awaited, err := d.freeMachines()
		if ids = awaited; len(ready) >= units {
			ids = nil
		}
		return errors.Trace(err)
	})
	return ids, errors.Trace(err)
}

// freeMachines are those that have no units and weren't made for one, by number:
// those that have a host, and those that wait for one. The list is read whole, as
// it has only what nobody uses.
func (d docs) freeMachines() (ready, awaited []string, err error) {
	kvs, err := d.List(d.m.prefix() + freeMachines)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	for _, kv := range kvs {
		id := kv.Key[len(d.m.prefix()+freeMachines):]
		if string(kv.Value) == "true" {
			ready = append(ready, id)
		} else {
			awaited = append(awaited, id)
		}
	}
	slices.SortFunc(ready, compareIDs)
	slices.SortFunc(awaited, compareIDs)
	return ready, awaited, nil
}

// checkPlacement says whether n units can be placed so.
func (d docs) checkPlacement(to []string, n int) error {
	if len(to) > n {
		return errors.NewNotValid(nil, fmt.Sprintf("there are more placements (%d) than units (%d)", len(to), n))
	}
	for _, id := range to {
		if id == NewMachine {
			continue
		}
		m, err := d.seenMachine(id)
		if err != nil {
			return errors.Trace(err)
		}
		if m.Life != model.Alive {
			return errors.NewNotValid(nil, fmt.Sprintf("cannot place a unit on machine %s: the machine is %s", id, m.Life))
		}
	}
	return nil
}

// place assigns an Alive principal to an Alive machine (seed 000, "Machines"):
// the one that was named, or a machine without assigned units, of those first
// that have a host; if there is none, to one that is made for the unit
// (seed 000, "add-unit").
func (t *txn) place(u *UnitDoc, app *ApplicationDoc, p *placing) error {
	to := ""
	if len(p.to) > 0 {
		to, p.to = p.to[0], p.to[1:]
	}
	if to == "" && len(p.free) > 0 {
		to = p.free[0]
	}
	m := MachineDoc{ForUnit: true}
	if to == "" || to == NewMachine {
		n, err := t.next("machine")
		if err != nil {
			return errors.Trace(err)
		}
		m.ID, m.Constraints = fmt.Sprint(n), app.together(p.constraints).String()
	} else {
		var err error
		if m, err = t.seenMachine(to); err != nil {
			return errors.Trace(err)
		}
		if m.Life != model.Alive {
			return errors.NewNotValid(nil, fmt.Sprintf("cannot place %s on machine %s: the machine is %s", u.Name, to, m.Life))
		}
	}
	if p.take(m.ID) {
		if err := t.delete(freeKey(m.ID)); err != nil {
			return errors.Trace(err)
		}
	}
	u.Machine, u.Provider, u.Arch = m.ID, m.Provider, app.together(p.constraints).Architecture()
	m.Units = append(m.Units, u.Name)
	return t.put(machineKey(m.ID), m)
}

// putFree lists the machine as one without assigned units, or takes it off the
// list.
func (t *txn) putFree(m MachineDoc) error {
	if m.ForUnit || m.Life != model.Alive || len(m.Units) > 0 {
		return t.delete(freeKey(m.ID))
	}
	return t.put(freeKey(m.ID), m.Instance != "" || m.Provider == LocalProvider)
}

// unassignFromMachine takes the unit off its machine, which goes with it if it
// was made for it.
func (t *txn) unassignFromMachine(u UnitDoc) error {
	var ports portsDoc
	found, err := t.find(portsKey(u.Machine), &ports)
	if err != nil {
		return errors.Trace(err)
	}
	if _, open := ports.Units[u.Name]; found && open {
		delete(ports.Units, u.Name)
		if err := t.put(portsKey(u.Machine), ports); err != nil {
			return errors.Trace(err)
		}
	}
	m, err := t.machine(u.Machine)
	if errors.Is(err, errors.NotFound) || u.Principal != "" {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	m.Units = slices.DeleteFunc(m.Units, func(n model.UnitName) bool { return n == u.Name })
	if len(m.Units) == 0 {
		m.System = nil // it was the unit's own
	}
	if m.ForUnit && len(m.Units) == 0 {
		return t.deleteMachine(m.ID)
	}
	if err := t.put(machineKey(m.ID), m); err != nil || m.ForUnit || len(m.Units) > 0 {
		return errors.Trace(err)
	}
	return t.putFree(m)
}
