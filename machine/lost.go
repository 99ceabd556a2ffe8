package machine

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/model"
)

// errCharmLost ends an agent whose charm directory, or its metadata, was removed
// under it.
// Source: docs/spec/uniter-facts.md §1.6.
const errCharmLost = errors.ConstError("charm missing from disk")

// work is the unit's agent. Where a hook, or somebody, has removed the charm it
// is begun anew: an agent that begins looks at what lies in its charm directory,
// and deploys a charm that was lost before it runs another hook.
func (u *unit) work(ctx context.Context) error {
	for {
		running, end := context.WithCancelCause(ctx)
		u.lose = func() { end(errCharmLost) }
		err := u.config().Run(running)
		lost := errors.Is(context.Cause(running), errCharmLost)
		end(nil)
		if !lost {
			return errors.Trace(err)
		}
		u.desire.say(ctx, u.agentStatus(model.StatusError, errCharmLost.Error(), nil))
		u.logLine(debuglog.Entry{Level: "WARNING", Module: "unitd", Message: errCharmLost.Error() + ": it is deployed again"})
	}
}

// lostCharm says whether the charm that the agent believes to be there isn't,
// and ends the agent then. Without it no hook may run: all of them would count
// as hooks that the charm doesn't have. One that can't be read isn't lost.
func (u *unit) lostCharm() error {
	if u.believed == "" {
		return nil
	}
	missing, err := u.charm.Missing()
	if missing {
		u.lose()
		return errors.Trace(errCharmLost)
	}
	return errors.Trace(err)
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
