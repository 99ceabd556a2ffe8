package machine

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/uniter/journal"
)

// run is the unit's agent until the unit is gone or Dead, or ctx ends.
func (u *unit) run(ctx context.Context) error {
	if err := u.takeOver(ctx); err != nil {
		return errors.Annotatef(err, "cannot clear away what a former %s has left", u.name)
	}
	if err := u.disk.MkdirAll(u.dir, 0o700); err != nil {
		return errors.Annotatef(err, "cannot make the directory of %s", u.name)
	}
	var err error
	if u.fresh, err = u.model.TakeOn(ctx, u.name, u.initialising()); err != nil {
		return errors.Trace(err)
	}
	defer u.runner.Close()
	for short := 0; ; {
		began := u.clock.Now()
		lost, err := u.live(ctx)
		if !lost {
			return errors.Trace(err)
		}
		if short++; u.clock.Now().Sub(began) >= steady {
			short = 0
		}
		if short == shortCells {
			return errors.Trace(errCellLost) // begun anew after a while
		}
		u.logLine(debuglog.Entry{Level: "WARNING", Module: "unitd", Message: errCellLost.Error() + ": it is made anew"})
	}
}

// live is the unit's agent for as long as the unit's cell runs, where it has one;
// lost says that it has ended.
func (u *unit) live(ctx context.Context) (lost bool, err error) {
	if err := u.isolate(ctx); err != nil {
		return false, errors.Trace(err)
	}
	ctx, done := u.whileCellRuns(ctx)
	defer done()
	u.lost = ctx.Done()
	defer u.refuse()
	if u.ready != nil && u.cell.Load() != nil {
		leave, err := u.enterPod(ctx)
		if err != nil {
			return false, errors.Trace(err)
		}
		defer leave()
	}
	defer u.watchReady(ctx)()
	if u.server, err = u.listen(); err != nil {
		return false, errors.Trace(err)
	}
	defer u.server.Close()
	if err := u.begun(ctx); err != nil {
		return false, errors.Trace(err)
	}
	defer u.recordingKept()
	err = u.work(ctx)
	return errors.Is(context.Cause(ctx), errCellLost), errors.Trace(err)
}

// begun puts in order what the unit's agent has found as it began.
func (u *unit) begun(ctx context.Context) error {
	u.server.Relieve(u.spares.give)
	u.files.Forget()
	u.charm = charmdir.NewDeployer(u.disk, u.dir)
	if err := u.recoverCharm(ctx); err != nil {
		return errors.Trace(err)
	}
	if err := u.seeCharm(); err != nil {
		return errors.Trace(err)
	}
	u.oweReboot(ctx)
	return nil
}

// takeOver makes sure that the unit doesn't find what another one of the same
// name has left, and clears away what a deployment that was cut off has.
func (u *unit) takeOver(ctx context.Context) error {
	// A journal that can't be read is for the agent to refuse.
	if l, there, err := journal.Read(u.dir); err == nil && there && l.ID != u.id {
		u.log.Info("clearing away a former unit of the same name", "unit", u.name)
		u.former.endIn(ctx, u.dir)
		if err := clearAway(u.disk, u.dir); err != nil {
			return errors.Trace(err)
		}
	}
	return u.clearArchives()
}
