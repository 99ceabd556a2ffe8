package machine

import (
	"context"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/uniter"
)

// begin is the Lock door. From here to the end of the hook the agent doesn't
// look at the model, so others see to it that it is ended if its unit goes; what
// they noticed before makes it look once more.
func (u *unit) begin(ctx context.Context) (unlock func(), waited bool, err error) {
	u.busy.Store(true)
	give, waited, err := u.lock(ctx)
	if err != nil {
		u.busy.Store(false)
		return nil, false, errors.Trace(err)
	}
	paused, err := u.handing.enter(ctx, u, u)
	if err != nil {
		u.busy.Store(false)
		give()
		return nil, false, errors.Trace(err)
	}
	unlock = func() {
		u.handing.leave(u)
		u.busy.Store(false)
		give()
	}
	if err := u.may(); err != nil {
		unlock()
		return nil, false, errors.Trace(err)
	}
	return unlock, waited || paused || u.pokes.Load() != u.looking, nil
}

// may is why no hook can begin now.
func (u *unit) may() error {
	for _, lacks := range []func() error{u.lostCharm, u.health.room.lacking, u.spares.fill} {
		if err := lacks(); err != nil {
			return errors.WithType(withoutPath(err), uniter.ErrNotNow)
		}
	}
	return nil
}

// lock waits at the gate, if there is one, and then until no other unit of the
// same machine and lock group runs a hook. waited says whether either took time: what was due
// before may not be due any more.
func (u *unit) lock(ctx context.Context) (unlock func(), waited bool, err error) {
	defer u.queues()()
	if err := u.handing.all(ctx); err != nil {
		return nil, false, errors.Trace(err)
	}
	if u.gated {
		waited = true
		u.recordingKept() // whoever has the world stand still then finds them
		if err := u.gate.enter(ctx, u.idle); err != nil {
			return nil, false, errors.Trace(err)
		}
	}
	give, queued, err := u.turns.take(ctx, place{u.machine, u.lockGroup}, u, func(one *turn) {
		u.queued.Store(one)
		u.idle()
	})
	u.queued.Store(nil)
	if err != nil {
		return nil, false, errors.Trace(err)
	}
	back, late, err := u.slots.take(ctx, u.model.UUID())
	if err != nil {
		give()
		return nil, false, errors.Trace(err)
	}
	u.slotBack = back
	end := func() {
		back()
		give()
	}
	if u.rebooter.due() {
		// The run that asked for it is queued again, on disk.
		u.rebooter.reboot(ctx, u)
		<-ctx.Done()
		end()
		return nil, false, errors.Trace(ctx.Err())
	}
	return end, waited || queued || late, nil
}

// queues tells whom it concerns that the unit waits for its turn, and over that it doesn't any
// more.
func (u *unit) queues() (over func()) {
	if u.observer == nil {
		return func() {}
	}
	began := time.Now()
	tell := func(w Wait) {
		u.observer(Event{Kind: HookWait, Model: u.model.Name(), Unit: u.name, Wait: w})
	}
	tell(Wait{})
	return func() { tell(Wait{Over: true, Took: time.Since(began)}) }
}
