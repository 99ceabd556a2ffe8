package machine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter"
)

// TwiceModule is the log's module of what Config.Twice finds.
const TwiceModule = "unitd.twice"

// twice runs a hook that has just committed a second time, and logs what that
// would change in the model: a hook that is run again after a crash should
// change nothing. What the second run writes is dropped, but for statuses,
// which tell at once. Hooks that leave something behind them can't be run
// again: broken, detaching and remove.
func (u *unit) twice(ctx context.Context, run uniter.Run) {
	if u.runTwice == nil || !u.runTwice() || run.Hook.Kind == hooks.RelationBroken || run.Hook.Kind == hooks.StorageDetaching || run.Hook.Kind == hooks.Remove {
		return
	}
	if missing, err := u.charm.Missing(); missing || err != nil {
		u.differs(run, "it cannot: the first one has removed the charm")
		return
	}
	limited, verdict := u.limit(ctx, run.Limit, time.Time{})
	hctx, res := u.execute(limited, run, &history.Entry{})
	res = verdict(res)
	switch {
	case res.Stopped:
		return
	case res.Failure != nil:
		u.differs(run, "it fails: "+res.Failure.Message)
		return
	}
	found, err := u.differences(ctx, hctx.Changes())
	if err != nil {
		u.log.Error("cannot compare a second run", "unit", u.name, "hook", run.Hook.Name(), "err", err)
	}
	for _, text := range found {
		u.differs(run, text)
	}
}

func (u *unit) differs(run uniter.Run, text string) {
	u.logLine(debuglog.Entry{Level: "WARNING", Module: TwiceModule, Message: fmt.Sprintf("%s, run a second time: %s", run.Hook, text)})
}

// differences is what changes would change in the model as it is.
func (u *unit) differences(ctx context.Context, c model.Changes) ([]string, error) {
	var found []string
	for _, id := range slices.Sorted(maps.Keys(c.Relations)) {
		own, err := u.model.Settings(ctx, id, u.name)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return found, errors.Trace(err)
		}
		app, err := u.model.ApplicationSettings(ctx, id, u.name.Application())
		if err != nil && !errors.Is(err, errors.NotFound) {
			return found, errors.Trace(err)
		}
		found = append(found, different(fmt.Sprintf("relation %d, unit databag", id), own, c.Relations[id].Unit)...)
		found = append(found, different(fmt.Sprintf("relation %d, application databag", id), app, c.Relations[id].Application)...)
	}
	if len(c.LeaderSettings) > 0 {
		now, err := u.model.LeaderSettings(ctx, u.name.Application())
		if err != nil {
			return found, errors.Trace(err)
		}
		found = append(found, different("leader settings", now, c.LeaderSettings)...)
	}
	if len(c.State) > 0 {
		now, err := u.model.CharmState(ctx, u.name)
		if err != nil {
			return found, errors.Trace(err)
		}
		wanted := model.Settings{}
		for k, v := range c.State {
			wanted[k] = ""
			if v != nil {
				wanted[k] = *v
			}
		}
		found = append(found, different("charm state", now, wanted)...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Storage)) {
		found = append(found, fmt.Sprintf("storage: %d more of %s", c.Storage[name], name))
	}
	ports, err := u.model.Ports(ctx, u.machine)
	if err != nil {
		return found, errors.Trace(err)
	}
	before, after := ports[u.name], ports[u.name].Apply(c.Ports)
	if !slices.Equal(before.All(), after.All()) {
		found = append(found, fmt.Sprintf("ports: %v, not %v", after.All(), before.All()))
	}
	return found, nil
}

// different says which keys of what is now would have another value.
func different(where string, now, wanted model.Settings) []string {
	var found []string
	for _, k := range wanted.Keys() {
		if now[k] != wanted[k] {
			found = append(found, fmt.Sprintf("%s: %s is %q, not %q", where, k, wanted[k], now[k]))
		}
	}
	return found
}
