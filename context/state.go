package hookcontext

import (
	"fmt"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// State is the charm's key-value state as the hook has left it; empty, not
// nil, where there is none.
func (c *Context) State() (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readState()
}

func (c *Context) readState() (map[string]string, error) {
	committed, err := c.state.get(c.p.View.State)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return nil, errors.Annotate(err, "cannot read charm state")
	}
	seen := make(map[string]string, len(committed))
	maps.Copy(seen, committed)
	for k, v := range c.stateWrites {
		if v == nil {
			delete(seen, k)
		} else {
			seen[k] = *v
		}
	}
	return seen, nil
}

// SetState writes some keys of the state; unlike in relation settings an empty
// value is a value. The error is NotValid for a key or value that is too long
// or isn't UTF-8, and QuotaLimitExceeded for a state that is too large; then
// nothing is written.
func (c *Context) SetState(values map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(values)) {
		switch {
		case k == "":
			return errors.NewNotValid(nil, "empty key in charm state")
		case len(k) > maxStateKey:
			return errors.NewNotValid(nil, fmt.Sprintf("max allowed key length (%d) exceeded", maxStateKey))
		case len(values[k]) > maxStateValue:
			return errors.NewNotValid(nil, fmt.Sprintf("max allowed value length (%d) exceeded", maxStateValue))
		}
	}
	if err := model.CheckText("charm state", values); err != nil {
		return errors.Trace(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkState(values); err != nil {
		return errors.Trace(err)
	}
	for k, v := range values {
		c.stateWrites[k] = &v
	}
	return nil
}

// checkState refuses values with which the state would be too large.
func (c *Context) checkState(values map[string]string) error {
	if c.stateTally.room(values) {
		return nil
	}
	writes := make(map[string]string, len(c.stateWrites)+len(values))
	for k, v := range c.stateWrites {
		if v != nil {
			writes[k] = *v
		}
	}
	maps.Copy(writes, values)
	if c.stateTally.small(writes) {
		return nil
	}
	after, err := c.readState()
	if err != nil {
		return errors.Trace(err)
	}
	maps.Copy(after, values)
	return errors.Trace(model.CheckStored("state", after))
}

// DeleteState deletes a key of the state; it need not be there.
func (c *Context) DeleteState(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stateWrites[key] = nil
}

func (c *Context) stateChanges() map[string]*string {
	out := map[string]*string{}
	for k, v := range c.stateWrites {
		old, had := c.state.value[k]
		if c.state.known && (v == nil && !had || v != nil && had && *v == old) {
			continue
		}
		if v != nil {
			value := *v
			v = &value
		}
		out[k] = v
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
