package machine

import (
	"context"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
)

// errCellLost ends an agent whose unit's cell has ended under it, as when its init
// was killed: for the unit that is a reboot, and an agent that begins makes the
// cell anew.
// Source: docs/isolation.md, docs/spec/containers.md §3.5.
const errCellLost = errors.ConstError("the unit's machine has ended")

// So many cells in a row of which none has run for so long have the agent wait before
// it makes another one, as after any failure.
const (
	steady     = time.Second
	shortCells = 3
)

// whileCellRuns is a context that ends, for errCellLost, when the unit's cell does.
// done ends the watch, and waits for it.
func (u *unit) whileCellRuns(ctx context.Context) (_ context.Context, done func()) {
	c := u.cell.Load()
	if c == nil {
		return ctx, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	u.giveUpCell = func() { end(errCellLost) }
	var watch sync.WaitGroup
	if c.System() && u.principal == "" {
		watch.Go(func() { u.listenToSystem(ctx, c) })
	}
	u.inCell.Store(true)
	watch.Go(func() {
		if _, err := c.Wait(ctx); err == nil {
			end(errCellLost)
		}
	})
	return ctx, func() {
		if errors.Is(context.Cause(ctx), errCellLost) {
			u.poke() // in the next one it has to look before it has nothing to do
		}
		u.inCell.Store(false)
		end(nil)
		watch.Wait()
	}
}

// cellEnded says whether the unit has a cell that doesn't run any more.
func (u *unit) cellEnded() bool {
	c := u.cell.Load()
	return c != nil && !c.Running()
}

// cellEnds says whether the unit's cell has ended, and the agent hasn't done yet what follows.
func (u *unit) cellEnds() bool { return u.inCell.Load() && u.cellEnded() }

// endedWithCell says whether a hook was ended with the unit's cell: it has ended badly,
// and the cell has ended. What stands for the hook may know of that a moment before the
// cell's first process is gone.
func (u *unit) endedWithCell(ctx context.Context, o runner.Outcome) bool {
	if o.Err != nil || !o.Stopped && o.Signal == 0 && o.Exit == 0 {
		return false
	}
	if c := u.cell.Load(); c != nil && o.Exit == isolate.NoCell {
		ctx, cancel := context.WithTimeout(ctx, steady)
		defer cancel()
		_, _ = c.Wait(ctx)
	}
	return u.cellEnded()
}
