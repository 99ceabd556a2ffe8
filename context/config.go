package hookcontext

import (
	"maps"

	"github.com/juju/errors"
)

// Config has every option of the charm: its value, its default, or nil.
// Values are string, int64, float64 or bool.
func (c *Context) Config() (map[string]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	config, err := c.config.get(c.p.View.Config)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return nil, errors.Annotate(err, "cannot read configuration")
	}
	return maps.Clone(config), nil
}
