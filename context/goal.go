package hookcontext

import "github.com/juju/errors"

// GoalState is the model's plan for the unit's application. It is not to be
// changed.
func (c *Context) GoalState() (GoalState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	goals, err := c.goals.get(c.p.View.GoalState)
	return goals, errors.Annotate(err, "cannot read goal state")
}
