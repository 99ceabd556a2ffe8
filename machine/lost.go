package machine

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
)

// errCharmLost ends an agent whose charm directory was removed under it.
const errCharmLost = errors.ConstError("the charm directory is gone")

// work is the unit's agent. Where a hook, or somebody, has removed the charm it
// is begun anew: an agent that begins looks at what lies in its charm directory,
// and deploys a charm that was lost before it runs another hook.
func (u *unit) work(ctx context.Context) error {
	for {
		ctx, end := context.WithCancelCause(ctx)
		u.lose = func() { end(errCharmLost) }
		err := u.config().Run(ctx)
		lost := errors.Is(context.Cause(ctx), errCharmLost)
		end(nil)
		if !lost {
			return errors.Trace(err)
		}
		u.logLine(debuglog.Entry{Level: "WARNING", Module: "unitd", Message: errCharmLost.Error() + ": the charm is deployed again"})
	}
}

// lostCharm says whether the charm that the agent believes to be there isn't,
// and ends the agent then. Without it no hook may run: all of them would count
// as hooks that the charm doesn't have.
func (u *unit) lostCharm() bool {
	if u.believed == "" || !u.charm.Missing() {
		return false
	}
	u.lose()
	return true
}

// recoverCharm puts in order what a deployment has left in which an agent was
// killed, and tells the model which charm came of it.
func (u *unit) recoverCharm(ctx context.Context) error {
	if err := u.charm.Recover(); err != nil {
		return errors.Trace(err)
	}
	deployed, err := u.charm.Deployed()
	if err != nil || deployed == "" {
		return errors.Trace(err)
	}
	return errors.Trace(u.model.SetUnitCharm(ctx, u.name, deployed))
}
