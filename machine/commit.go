package machine

import (
	"context"
	"encoding/json"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
)

// commit is the Commit door: what a hook wrote goes to the model in one transaction.
func (u *unit) commit(ctx context.Context, run uniter.Run, changes model.Changes) error {
	c := state.HookCommit{Unit: u.name, Run: run.Number, Changes: changes, LeaveScope: model.NoRelation}
	if run.Hook.Kind == hooks.RelationBroken {
		c.LeaveScope = run.Hook.RelationID
	}
	if run.Hook.Kind == hooks.ConfigChanged {
		c.Addresses = u.addressSettings()
	}
	if run.Hook.Kind == hooks.SecretRotate {
		c.Rotated, c.RotatedLate = run.Hook.Secret, run.Hook.Again
	}
	var err error
	if c.Memory, err = json.Marshal(resolver.Remember(run.Local, changes.Requeue)); err != nil {
		return errors.Trace(err)
	}
	if run.Hook.Kind == hooks.StorageDetaching {
		c.Detach = run.Hook.Storage
	}
	c.Seen = u.seenAfter(run.Hook)
	c.Boot, c.At, c.By = u.bootToLeave(), u.ranAt(run), u.traced.by(run.Number)
	_ = u.at(ctx, PointCommit, run.Number, run.Hook, "")
	give, err := u.desire.hold(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	// What was to be told of the workload is older, also if it isn't known whether the commit has come about.
	u.desire.overtake(c.Seen.Workload != nil, false)
	began := u.clock.Now()
	err = u.model.CommitHook(ctx, c)
	if err == nil {
		u.traced.committed(began, u.clock.Now())
		u.desire.overtake(false, true)
	}
	give()
	switch {
	case errors.Is(err, state.ErrNotLeader):
		return errors.WithType(err, uniter.ErrOvertaken)
	case errors.Is(err, errNotWritten), errors.Is(err, errors.Timeout): // of what is read before it is written
		return errors.WithType(err, uniter.ErrUnreachable)
	case err == nil:
		_ = u.at(ctx, PointCommitted, run.Number, run.Hook, "")
		u.twice(ctx, run)
		u.committedReboot(ctx, c)
	}
	return errors.Trace(err)
}

// ranAt is where the revision goes at which the newest run is committed; nil: it isn't one
// whose history this agent writes.
func (u *unit) ranAt(run uniter.Run) *int64 {
	if u.running.Run != run.Number {
		return nil
	}
	return &u.running.Rev
}

// addressSettings are the unit's addresses as its settings in a relation have
// them: before any remote unit sees it, and from each config-changed on (seed 004,
// "scope"; docs/spec/uniter-facts.md §4.5). What there is none of is deleted.
func (u *unit) addressSettings() model.Settings {
	s := model.Settings{}
	for _, k := range model.AddressKeys() {
		s[k] = ""
	}
	if len(u.host.Addresses) == 0 {
		return s
	}
	reached := u.host.Addresses[0]
	if c := u.cell.Load(); c != nil && c.sidecar && len(u.host.Network.Ingress) > 0 {
		reached = u.host.Network.Ingress[0]
	}
	s[model.PrivateAddress], s[model.IngressAddress] = reached, reached
	if len(u.host.Network.Egress) > 0 {
		s[model.EgressSubnets] = u.host.Network.Egress[0]
	}
	return s
}
