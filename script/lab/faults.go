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
	// Unit and Hook ("db-relation-joined") say in which runs; Hook may be
	// empty: in any.
	Unit model.UnitName `json:"unit"`
	Hook string         `json:"hook,omitempty"`
	// At is the point; Tool, with machine.PointTool, the tool, or any, and Call which of its calls in
	// a run it is, from 1; 0: the first one there is.
	At   machine.PointName `json:"at"`
	Tool string            `json:"tool,omitempty"`
	Call int               `json:"call,omitempty"`
	// Program is what RunAs has the run execute, and Command what Ask has the script do.
	Program string   `json:"program,omitempty"`
	Command []string `json:"command,omitempty"`
	// Times is how often it happens before it is over.
	Times int `json:"times"`
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
	Depose   FaultKind = "depose" // the unit's application gets another leader
	Ask      FaultKind = "ask"    // the script does something, and the run waits for it
	RunAs    FaultKind = "run-as" // another program runs instead of the charm's; at no point
)

// Faults has the faults that are to happen. It is safe for use by many
// goroutines.
type Faults struct {
	// Depose takes the leadership of an application from whoever has it.
	Depose func(ctx context.Context, application string) error

	mu   sync.Mutex
	list []Fault
	// hung has, for each unit that stands still, what lets it go.
	hung map[model.UnitName]chan struct{}
	// asks are what runs wait for the script to do, each with what lets the run go on.
	asks   []ask
	lastID int
	// calls count those of each hook tool in each unit's newest run.
	calls map[model.UnitName]calls
	// instead is what each unit's newest run by RunAs runs.
	instead map[model.UnitName]instead
}

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
	if c, ok := f.calls[p.Unit]; !ok || c.run != p.Run {
		if f.calls == nil {
			f.calls = map[model.UnitName]calls{}
		}
		f.calls[p.Unit] = calls{p.Run, map[string]int{}}
	}
	f.calls[p.Unit].of[p.Tool]++
	return f.calls[p.Unit].of[p.Tool]
}

// Add adds a fault.
func (f *Faults) Add(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault.Times = max(fault.Times, 1)
	f.list = append(f.list, fault)
}

// Release lets a unit go that stands still, and drops what else was to happen
// to it.
func (f *Faults) Release(unit model.UnitName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if letGo, ok := f.hung[unit]; ok {
		close(letGo)
		delete(f.hung, unit)
	}
	left := f.list[:0]
	for _, fault := range f.list {
		if fault.Unit != unit {
			left = append(left, fault)
		}
	}
	f.list = left
}

// Hung are the units that stand still.
func (f *Faults) Hung() []model.UnitName {
	f.mu.Lock()
	defer f.mu.Unlock()
	var units []model.UnitName
	for unit := range f.hung {
		units = append(units, unit)
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
		if had[fault.Do] || fault.Unit != p.Unit || fault.At != p.Name || fault.Hook != "" && fault.Hook != p.Hook.Name() ||
			fault.Tool != "" && fault.Tool != p.Tool || fault.Call > 0 && fault.Call != call {
			continue
		}
		taken := *fault
		if fault.Times--; fault.Times == 0 {
			f.list = append(f.list[:i], f.list[i+1:]...)
		}
		// At no moment is it neither armed nor seen to stand still.
		if taken.Hangs() {
			if f.hung == nil {
				f.hung = map[model.UnitName]chan struct{}{}
			}
			f.hung[p.Unit] = make(chan struct{})
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
		return errors.Annotatef(f.Depose(ctx, p.Unit.Application()), "cannot depose the leader")
	}
	return errors.Errorf("unknown fault %q", fault.Do)
}

func (f *Faults) hang(ctx context.Context, p machine.Point) error {
	p.Stand(true)
	defer p.Stand(false)
	unit := p.Unit
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
