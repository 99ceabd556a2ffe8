package machine

import (
	"context"
	"log/slog"
	"sync"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// rebooter carries out what charms ask of juju-reboot, where the agent has
// leave to. Once a reboot is wanted no other hook begins: the machine, and the
// agent with it, is about to go down.
type rebooter struct {
	carryOut func() error // nil: no leave
	log      *slog.Logger

	mu     sync.Mutex
	wanted bool
	once   sync.Once
}

// want says that the machine is to reboot before another hook begins.
func (r *rebooter) want() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted = true
}

// due says whether a reboot is wanted.
func (r *rebooter) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wanted
}

// reboot reboots the machine, once, at the wish of a unit whose wish is safe
// on disk.
func (r *rebooter) reboot(ctx context.Context, u *unit) {
	r.once.Do(func() {
		u.desire.say(context.WithoutCancel(ctx), u.agentStatus(model.StatusRebooting, "", nil))
		r.log.Warn("rebooting the machine, as the charm asks", "unit", u.name)
		if err := r.carryOut(); err != nil {
			r.log.Error("cannot reboot the machine: it goes on when the agent is started again", "err", err)
			u.rebooted(context.WithoutCancel(ctx))
		}
	})
}

// rebootNow is the hookcontext.Params.RebootNow of a run that end ends; nil
// where the agent has no leave, and for commands, which have their answer first.
func (u *unit) rebootNow(h hooks.Info, end func()) func() {
	if u.rebooter.carryOut == nil || h.IsTask() {
		return nil
	}
	return func() {
		u.rebooter.want()
		end()
	}
}

// committedReboot acts on a wish that a hook has committed.
func (u *unit) committedReboot(ctx context.Context, c state.HookCommit) {
	switch {
	case c.Changes.Reboot == model.NoReboot:
	case u.rebooter.carryOut == nil:
		u.log.Warn("the charm asks for a reboot of its machine; it is noted, not carried out (see unitd agent --allow-reboot)",
			"unit", u.name, "when", string(c.Changes.Reboot))
	default:
		u.rebooter.want()
		u.rebooter.reboot(ctx, u)
	}
}

// oweReboot carries out a reboot that the charm has asked for in a hook that
// has committed, where the agent was killed before it could.
func (u *unit) oweReboot(ctx context.Context) {
	switch {
	case u.reboot == "":
	case u.reboot == u.host.Boot && u.rebooter.carryOut != nil:
		u.rebooter.want()
		u.rebooter.reboot(ctx, u)
	default:
		u.rebooted(ctx)
	}
}

// rebooted takes note that the charm's wish is no longer to be met.
func (u *unit) rebooted(ctx context.Context) {
	if err := u.model.SetRebooted(ctx, u.name); err != nil {
		u.log.Error("cannot take note of a reboot", "unit", u.name, "err", err)
	}
}
