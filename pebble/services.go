package pebble

import (
	"context"
	"net/url"
	"time"

	"github.com/juju/errors"
)

// maxCheck is how long a check is given to be performed: its own time-out is
// shorter than its period, and mostly 3 s.
const maxCheck = time.Minute

// Service is a service, as it stands.
type Service struct {
	Name string `json:"name"`
	// Startup is enabled or disabled.
	Startup string `json:"startup"`
	// Current is active, inactive, backoff or error.
	Current string `json:"current"`
	// Since is when it became so; zero if it never ran.
	Since time.Time `json:"current-since"`
}

func (s Service) equal(o Service) bool {
	return s.Name == o.Name && s.Startup == o.Startup && s.Current == o.Current && s.Since.Equal(o.Since)
}

// Services returns the services of the plan by name; all, or those given. Names
// that there aren't are left out.
func (c *Client) Services(ctx context.Context, names ...string) ([]Service, error) {
	var services []Service
	_, err := c.ask(ctx, question{path: "/v1/services", query: list(url.Values{}, "names", names)}, &services)
	return services, errors.Trace(err)
}

// Start starts services and what they require, and waits until they run. The
// error is a ChangeError if one doesn't start.
func (c *Client) Start(ctx context.Context, names ...string) error {
	return c.services(ctx, "start", names)
}

// Stop stops services, and waits until they have ended.
func (c *Client) Stop(ctx context.Context, names ...string) error {
	return c.services(ctx, "stop", names)
}

// Restart stops and starts services, and waits for it.
func (c *Client) Restart(ctx context.Context, names ...string) error {
	return c.services(ctx, "restart", names)
}

// Replan restarts the services whose configuration has changed since they were
// started, and starts those that are to run from the beginning; it waits for it.
func (c *Client) Replan(ctx context.Context) error { return c.services(ctx, "replan", nil) }

func (c *Client) services(ctx context.Context, action string, names []string) error {
	body := map[string]any{"action": action, "services": names}
	return errors.Trace(c.act(ctx, question{method: "POST", path: "/v1/services", body: body}))
}

// Signal sends a signal, as "SIGHUP", to services that run.
func (c *Client) Signal(ctx context.Context, signal string, names ...string) error {
	body := map[string]any{"signal": signal, "services": names}
	_, err := c.ask(ctx, question{method: "POST", path: "/v1/signals", body: body}, nil)
	return errors.Trace(err)
}

// Plan returns the plan, which all layers together are, as YAML.
func (c *Client) Plan(ctx context.Context) (string, error) {
	var plan string
	_, err := c.ask(ctx, question{path: "/v1/plan", query: url.Values{"format": {"yaml"}}}, &plan)
	return plan, errors.Trace(err)
}

// Layer is a layer of configuration to be added.
type Layer struct {
	Label string
	// YAML is the layer's text.
	YAML string
	// Combine has it go into the layer of the same label, if there is one; else
	// such a layer is an error.
	Combine bool
}

// AddLayer adds a layer to the plan; it is gone when Pebble ends. Services keep
// running as they are until a replan, checks follow at once.
func (c *Client) AddLayer(ctx context.Context, l Layer) error {
	body := map[string]any{"action": "add", "format": "yaml", "label": l.Label, "layer": l.YAML, "combine": l.Combine}
	_, err := c.ask(ctx, question{method: "POST", path: "/v1/layers", body: body}, nil)
	return errors.Trace(err)
}
