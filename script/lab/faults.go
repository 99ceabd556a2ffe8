package lab

import (
	"context"
	"slices"
	"sync"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// Fault is something that is to happen at a point of a hook run.
type Fault struct {
	Do FaultKind `json:"do"`
	// Unit, of the model with that UUID, and Hook ("db-relation-joined") say in which runs;
	// Hook may be empty: in any.
	Model string         `json:"model"`
	Unit  model.UnitName `json:"unit"`
	Hook  string         `json:"hook,omitempty"`
	// At is the point; Tool, with machine.PointTool, the tool, or any, and Call which of its calls in
	// a run it is, from 1; 0: the first one there is.
	At   machine.PointName `json:"at"`
	Tool string            `json:"tool,omitempty"`
	Call int               `json:"call,omitempty"`
	// Program is what RunAs has the run execute, Command what Ask has the script do, and
	// Application whose leader Depose deposes.
	Program     string   `json:"program,omitempty"`
	Command     []string `json:"command,omitempty"`
	Application string   `json:"application,omitempty"`
	// Times is how often it happens before it is over.
	Times int `json:"times"`
	// Due: the script counts on it, and it hasn't happened yet, not even once.
	Due bool `json:"due,omitempty"`
}

// Hangs says whether it is one that makes a unit stand still.
func (f Fault) Hangs() bool { return f.Do == HangHook }

// Waits says whether a run waits for the script when it happens, so that the script
// has to look for it.
func (f Fault) Waits() bool { return f.Do == HangHook || f.Do == Ask }

// FaultKind says what happens.
type FaultKind string

// The kinds of fault.
const (
	FailHook FaultKind = "fail"   // the hook fails, whatever its executable says
	HangHook FaultKind = "hang"   // the run stands still until it is let go
	Kill     FaultKind = "kill"   // the agent's process is ended by SIGKILL
	Depose   FaultKind = "depose" // an application gets another leader
	Ask      FaultKind = "ask"    // the script does something, and the run waits for it
	RunAs    FaultKind = "run-as" // another program runs instead of the charm's; at no point
)

// Faults has the faults that are to happen. It is safe for use by many
// goroutines.
type Faults struct {
	// Depose takes the leadership of an application, of the model with a UUID, from whoever has it.
	Depose func(ctx context.Context, uuid, application string) error

	mu   sync.Mutex
	list []Fault
	// hung has, for each unit that stands still, what lets it go.
	hung map[unitOf]chan struct{}
	// asks are what runs wait for the script to do, each with what lets the run go on.
	asks   []ask
	lastID int
	// calls count those of each hook tool in each unit's newest run.
	calls map[unitOf]calls
	// instead is what each unit's newest run by RunAs runs.
	instead map[unitOf]instead
}

// of is the unit whose run is at the point.
func of(p machine.Point) unitOf { return unitOf{p.Model, p.Unit} }

// of is the unit that the fault is for.
func (f Fault) of() unitOf { return unitOf{f.Model, f.Unit} }

// calls are how often a run has called each hook tool.
type calls struct {
	run int64
	of  map[string]int
}

// called counts a call of a hook tool, and says which one of its run it is.
func (f *Faults) called(p machine.Point) int {
	if p.Name != machine.PointTool {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	unit := of(p)
	if c, ok := f.calls[unit]; !ok || c.run != p.Run {
		if f.calls == nil {
			f.calls = map[unitOf]calls{}
		}
		f.calls[unit] = calls{p.Run, map[string]int{}}
	}
	f.calls[unit].of[p.Tool]++
	return f.calls[unit].of[p.Tool]
}

// Add adds a fault.
func (f *Faults) Add(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault.Times = max(fault.Times, 1)
	f.list = append(f.list, fault)
}

// Release lets a unit of the model with a UUID go that stands still, and drops what else was
// to happen to it.
func (f *Faults) Release(uuid string, name model.UnitName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	unit := unitOf{uuid, name}
	if letGo, ok := f.hung[unit]; ok {
		close(letGo)
		delete(f.hung, unit)
	}
	f.list = slices.DeleteFunc(f.list, func(fault Fault) bool { return fault.of() == unit })
}

// Hung are the units that stand still.
func (f *Faults) Hung() []model.UnitName {
	f.mu.Lock()
	defer f.mu.Unlock()
	var units []model.UnitName
	for unit := range f.hung {
		units = append(units, unit.name)
	}
	return units
}

// Kills says whether a fault is still to happen that ends the agent.
func (f *Faults) Kills() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.list, func(fault Fault) bool { return fault.Do == Kill })
}

// Armed are the faults that are still to happen.
func (f *Faults) Armed() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list)
}

// take takes a fault that is to happen at the point, if there is one; call is which call of its tool it is. Of each kind
// that is in had no other one happens there, so that a hook that is to fail twice
// fails in two runs; a script can do several things in one.
func (f *Faults) take(p machine.Point, call int, had map[FaultKind]bool) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.list {
		fault := &f.list[i]
		if had[fault.Do] || fault.of() != of(p) || fault.At != p.Name || fault.Hook != "" && fault.Hook != p.Hook.Name() ||
			fault.Tool != "" && fault.Tool != p.Tool || fault.Call > 0 && fault.Call != call {
			continue
		}
		taken := *fault
		fault.Due = false
		if fault.Times--; fault.Times == 0 {
			f.list = append(f.list[:i], f.list[i+1:]...)
		}
		// At no moment is it neither armed nor seen to stand still.
		if taken.Hangs() {
			if f.hung == nil {
				f.hung = map[unitOf]chan struct{}{}
			}
			f.hung[of(p)] = make(chan struct{})
		}
		had[taken.Do] = taken.Do != Ask
		return taken, true
	}
	return Fault{}, false
}

// At is the machine.Config.At of an agent under test.
func (f *Faults) At(ctx context.Context, p machine.Point) error {
	had, call := map[FaultKind]bool{}, f.called(p)
	for {
		fault, ok := f.take(p, call, had)
		if !ok {
			return nil
		}
		if err := f.happen(ctx, p, fault); err != nil {
			return err
		}
	}
}

func (f *Faults) happen(ctx context.Context, p machine.Point, fault Fault) error {
	switch fault.Do {
	case FailHook:
		return errors.New("the script makes it fail")
	case HangHook:
		return f.hang(ctx, p)
	case Ask:
		return f.ask(ctx, p, fault)
	case Kill:
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {} // until it has come
	case Depose:
		return errors.Annotatef(f.Depose(ctx, fault.Model, fault.Application), "cannot depose the leader")
	}
	return errors.Errorf("unknown fault %q", fault.Do)
}

func (f *Faults) hang(ctx context.Context, p machine.Point) error {
	p.Stand(true)
	defer p.Stand(false)
	unit := of(p)
	f.mu.Lock()
	ch, ok := f.hung[unit]
	f.mu.Unlock()
	if !ok { // it was let go meanwhile
		return nil
	}
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.hung[unit] == ch {
			delete(f.hung, unit)
		}
		return errors.Trace(ctx.Err())
	}
}
