package machine

import (
	"context"
	"log/slog"
	"sync"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
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

// podReboot is why a hook of a container unit has failed that asks for a reboot, and
// why commands there are refused it: the unit has no machine, and the host isn't its
// own. Source: docs/spec/containers.md §6, K-065.
const podReboot = "juju-reboot: the unit has no machine that could be rebooted"

// noReboot is why juju-reboot is refused in a run; empty: it isn't. In a hook of a
// container unit it succeeds, and the hook has failed.
func (u *unit) noReboot(h hooks.Info) string {
	switch {
	case h.Kind == hooks.Action:
		return hookcontext.NoRebootInAction
	case u.pod && h.IsTask():
		return podReboot
	}
	return ""
}

// bootToLeave is what a commit notes with a wish for a reboot, by which another
// agent knows that it is still to be carried out; empty: it isn't to be.
func (u *unit) bootToLeave() string {
	if u.pod || u.rebooter.carryOut == nil {
		return ""
	}
	return u.bootOfReboot()
}

// bootOfReboot names the time since what juju-reboot reboots was last booted: the unit's own
// machine, if systemd is in it, or the host.
func (u *unit) bootOfReboot() string {
	if c := u.cell.Load(); c != nil && c.System() {
		return u.boot()
	}
	return u.host.Boot
}

// rebootsItself has juju-reboot reboot the unit's own machine. Nobody's leave is needed.
func (u *unit) rebootsItself(ctx context.Context, c *cell) {
	if c.System() {
		u.rebooter = &rebooter{log: u.log, carryOut: func() error {
			err := c.Reboot(ctx)
			if err != nil && ctx.Err() == nil {
				u.giveUpCell() // who begins anew says what is wrong with it, and tries again
			}
			return err
		}}
	}
}

// failedByReboot is how a run has ended that has asked for a reboot where none can
// be: it has failed, and so it is where it was ended for that.
func (u *unit) failedByReboot(ctx context.Context, run uniter.Run, hctx *hookcontext.Context, res uniter.Result) uniter.Result {
	if !u.pod || hctx == nil || ctx.Err() != nil || run.Hook.IsTask() || hctx.Changes().Reboot == model.NoReboot {
		return res
	}
	f := resolver.Failure{Message: podReboot, Exit: -1}
	if res.Failure != nil {
		f.Output = res.Failure.Output
	}
	return uniter.Result{Failure: &f}
}

// machineID is the id of the unit's machine for its hooks; empty for a container
// unit, which has none. Source: docs/spec/containers.md §2.2, K-014.
func (u *unit) machineID() string {
	if u.pod {
		return ""
	}
	return u.machine
}

// rebootNow is the hookcontext.Params.RebootNow of a run that end ends; nil
// where the agent has no leave, and for commands, which have their answer first.
func (u *unit) rebootNow(h hooks.Info, end func()) func() {
	if u.pod && !h.IsTask() {
		return end
	}
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
	case u.pod: // of a hook that has ended as the agent was told to stop
		u.log.Warn(podReboot, "unit", u.name)
	case u.rebooter.carryOut == nil:
		u.log.Warn("the charm asks for a reboot of its machine; it is noted, not carried out (see unitd agent --allow-reboot)",
			"unit", u.name, "when", string(c.Changes.Reboot))
	default:
		u.reboot = u.bootToLeave() // which an own machine's next boot finds
		u.rebooter.want()
		u.rebooter.reboot(ctx, u)
		if c := u.cell.Load(); c != nil && c.System() && u.reboot != "" { // or it couldn't be
			<-u.lost // until then the unit has something to do
		}
	}
}

// oweReboot carries out a reboot that the charm has asked for in a hook that
// has committed, where the agent was killed before it could.
func (u *unit) oweReboot(ctx context.Context) {
	switch {
	case u.reboot == "":
	case u.reboot == u.bootOfReboot() && u.rebooter.carryOut != nil:
		u.rebooter.want()
		u.rebooter.reboot(ctx, u)
	default:
		u.rebooted(ctx)
	}
}

// rebooted takes note that the charm's wish is no longer to be met.
func (u *unit) rebooted(ctx context.Context) {
	u.reboot = ""
	if err := u.model.SetRebooted(ctx, u.name); err != nil {
		u.log.Error("cannot take note of a reboot", "unit", u.name, "err", err)
	}
}
