package machine

import (
	"context"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/systemd"
)

// The unit's machine isn't asked again sooner than this after the bus has left the agent.
const deafFor = time.Second

// listenToSystem tells the model what the systemd of the unit's machine says, each time that
// it says something else, until ctx ends.
func (u *unit) listenToSystem(ctx context.Context, c *cell) {
	for ctx.Err() == nil {
		err := u.listenOnce(ctx, c)
		if ctx.Err() != nil {
			return
		}
		u.log.Debug("nothing is heard of the systemd of the unit's machine", "unit", u.name, "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(deafFor): // real time: it's the machine's, not the model's
		}
	}
}

// listenOnce is it on one connection.
func (u *unit) listenOnce(ctx context.Context, c *cell) error {
	conn, err := c.Connect(systemd.Socket)
	if err != nil {
		return errors.Trace(err)
	}
	err = systemd.Watch(ctx, conn, func(s model.System) { u.tellSystem(ctx, s) })
	u.tellSystem(ctx, model.System{}) // until it says something again
	return err
}

// tellSystem tells the model what systemd says; the next start of the machine does if ctx has
// ended.
func (u *unit) tellSystem(ctx context.Context, s model.System) {
	u.system.Store(&s)
	if err := u.tellMachine(ctx); err != nil && ctx.Err() == nil {
		u.log.Error("cannot tell what systemd says of the unit's machine", "unit", u.name, "err", err)
	}
}
