package hookcontext

import (
	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// IsLeader asks, each time, whether the unit leads its application; but once
// the answer was no it stays no for this hook, so that a hook that has taken
// the non-leader's way isn't confused on it. Source: docs/spec/hook-tools.md §4.
func (c *Context) IsLeader() (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isLeader()
}

func (c *Context) isLeader() (bool, error) {
	if c.notLeader {
		return false, nil
	}
	epoch, err := c.p.View.Leads()
	if err != nil {
		return false, errors.Trace(err)
	}
	if c.epoch == 0 {
		c.epoch = epoch
	}
	// A unit that has lost its leadership and has it again is another leader:
	// what the hook has read as the former one may be somebody else's by now.
	c.notLeader = epoch == 0 || epoch != c.epoch
	return !c.notLeader, nil
}

// requireLeader is ErrNotLeader unless the unit leads.
func (c *Context) requireLeader() error {
	leader, err := c.isLeader()
	if err != nil {
		return errors.Annotate(err, "cannot determine leadership status")
	}
	if !leader {
		return ErrNotLeader
	}
	return nil
}

// LeaderSettings are the application's leader settings as the hook has left
// them.
func (c *Context) LeaderSettings() (model.Settings, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	settings, err := c.leaderSettings.get(c.p.View.LeaderSettings)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return nil, errors.Annotate(err, "cannot read leadership settings")
	}
	seen, _ := settings.Apply(c.leaderWrites)
	return seen, nil
}

// SetLeaderSettings lays a change over the leader settings. The error is
// Forbidden, with the contract's text, for any unit but the leader.
func (c *Context) SetLeaderSettings(change model.Settings) error {
	if _, ok := change[""]; ok {
		return errors.NewNotValid(nil, "empty key in leadership settings")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	leader, err := c.isLeader()
	if err != nil {
		return errors.Annotate(err, "cannot write leadership settings: cannot determine leadership status")
	}
	if !leader {
		return errors.NewForbidden(nil, "cannot write leadership settings: cannot write settings: not the leader")
	}
	writes, err := extended(c.leaderWrites, change, &c.leaderTally, func() (model.Settings, error) {
		return c.leaderSettings.get(c.p.View.LeaderSettings)
	})
	if err != nil {
		return errors.Annotate(err, "cannot write leadership settings")
	}
	c.leaderWrites = writes
	return nil
}
