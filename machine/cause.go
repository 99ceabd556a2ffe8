package machine

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter"
)

// causes finds out which options have changed where config-changed tells of
// them. What the charm was told is known by its hash alone where another agent
// has told it; then, until it is up to date, names are not known.
type causes struct {
	now, telling hashed
	told         *state.Told // nil: not known
}

// hashed is what config-changed tells, with the hash that agents remember.
type hashed struct {
	hash string
	state.Told
}

// look notes what the model says, and what the charm was told: the hash seen.
func (c *causes) look(s *state.Snapshot, seen string) {
	c.now = hashed{s.ConfigHash, s.Told}
	for _, h := range []hashed{c.now, c.telling} {
		if h.hash != "" && h.hash == seen {
			c.told = &h.Told
			return
		}
	}
}

// tell notes that the charm is being told what the model says now, and returns
// the names of what is new to it.
func (c *causes) tell() []string {
	c.telling = c.now
	if c.told == nil {
		return nil
	}
	var names []string
	options := maps.Clone(c.told.Options)
	maps.Copy(options, c.now.Options)
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if !reflect.DeepEqual(c.told.Options[name], c.now.Options[name]) {
			names = append(names, name)
		}
	}
	if c.told.Trust != c.now.Trust {
		names = append(names, "trust")
	}
	if !slices.Equal(c.told.Addresses, c.now.Addresses) {
		names = append(names, "addresses")
	}
	return names
}

// whatChanged are the names of the options or keys that a run is about, as far
// as they are known. It reads at most one document, and only in a run that
// tells of settings which the charm was told of before.
func (u *unit) whatChanged(ctx context.Context, run uniter.Run) []string {
	h, told := run.Hook, 0
	switch h.Kind {
	case hooks.ConfigChanged:
		return u.causes.tell()
	case hooks.LeaderSettingsChanged:
		if told = run.Local.Seen.LeaderSettings; told <= 0 {
			return nil
		}
	case hooks.RelationChanged:
		s := run.Local.Relations[h.RelationID]
		if told = s.Application; h.RemoteUnit != "" {
			told, _ = s.Members.Version(h.RemoteUnit)
		}
		if h.Version == told || s.Owed == h.RemoteUnit && s.Owed != "" {
			return nil
		}
	default:
		return nil
	}
	var names []string
	var err error
	if h.Kind == hooks.LeaderSettingsChanged {
		names, err = u.model.MovedLeaderSettings(ctx, u.name.Application(), told)
	} else {
		names, err = u.model.MovedSettings(ctx, h.RelationID, h.RemoteUnit, h.RemoteApp, told)
	}
	if err != nil {
		u.log.Warn("cannot tell what a hook's cause is about", "unit", u.name, "hook", h.Name(), "err", err)
	}
	return names
}
