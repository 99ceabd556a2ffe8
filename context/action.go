package hookcontext

import (
	"encoding/json"
	"maps"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Action is the action that a run is of.
type Action struct {
	Name   string
	Params map[string]any
}

// maxResults is how large the results of an action can be as JSON text, in
// bytes.
const maxResults = 200 << 10

// errNoAction is what every tool for actions answers in other runs. Source:
// docs/spec/hook-tools.md §7.4.
const errNoAction = errors.ConstError("not running an action")

// action is what an action has said of itself so far.
type action struct {
	results map[string]any
	failed  bool
	message string
}

// ActionParams are the parameters of the action that runs; an error in a run
// that is of none, as of all methods here.
func (c *Context) ActionParams() (map[string]any, error) {
	if c.p.Action == nil {
		return nil, errNoAction
	}
	return maps.Clone(c.p.Action.Params), nil
}

// SetActionResult sets one of the action's results, by the keys of the maps
// that it is in. Text takes the place of a map, and the other way round.
func (c *Context) SetActionResult(keys []string, value string) error {
	if c.p.Action == nil {
		return errNoAction
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	results := cloned(c.action.results)
	at := results
	for _, k := range keys[:len(keys)-1] {
		next, ok := at[k].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[k] = next
		}
		at = next
	}
	at[keys[len(keys)-1]] = value
	b, err := json.Marshal(results)
	if err == nil && len(b) > maxResults {
		err = errors.NewQuotaLimitExceeded(nil, "action results too large")
	}
	if err != nil {
		return errors.Trace(err)
	}
	c.action.results = results
	return nil
}

// cloned is a copy of nested maps that shares none of them.
func cloned(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if inner, ok := v.(map[string]any); ok {
			v = cloned(inner)
		}
		out[k] = v
	}
	return out
}

// FailAction has the action count as failed, whatever it exits with; what it
// wrote is committed all the same.
func (c *Context) FailAction(message string) error {
	if c.p.Action == nil {
		return errNoAction
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.action.failed, c.action.message = true, message
	return nil
}

// LogAction tells whoever waits for the action something, at once.
func (c *Context) LogAction(message string) error {
	if c.p.Action == nil {
		return errNoAction
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Trace(c.p.View.LogAction(message))
}

// ActionOutcome is what the action has said of itself: its results, and whether
// and why it has failed.
func (c *Context) ActionOutcome() model.TaskOutcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return model.TaskOutcome{Failed: c.action.failed, Message: c.action.message, Results: cloned(c.action.results)}
}
