package pebble

import (
	"context"
	"net/url"

	"github.com/juju/errors"
)

// Level is what a check says something about.
type Level string

// Levels of checks.
const (
	// LevelUnset is no level: in a question it stands for all checks.
	LevelUnset Level = ""
	// LevelAlive says that the container lives.
	LevelAlive Level = "alive"
	// LevelReady says that it can serve.
	LevelReady Level = "ready"
)

// Check is a health check, as it stands.
// Source: docs/spec/containers.md §4.6 e.
type Check struct {
	Name    string `json:"name"`
	Level   Level  `json:"level"`
	Startup string `json:"startup"`
	// Status is up, down or inactive.
	Status    string `json:"status"`
	Successes int    `json:"successes"`
	// Failures are those in a row.
	Failures  int `json:"failures"`
	Threshold int `json:"threshold"`
	// Change is what performs the check now, or recovers it; Previous what did so
	// before.
	Change   string `json:"change-id"`
	Previous string `json:"prev-change-id"`
}

// Health says whether no check is down, of those of the level and, if some are
// given, of those names. Checks for ready are those for alive as well. Everybody
// may ask. Source: docs/spec/containers.md §4.6 d.
func (c *Client) Health(ctx context.Context, level Level, names ...string) (bool, error) {
	var health struct{ Healthy *bool }
	_, err := c.ask(ctx, question{path: "/v1/health", query: checkQuery(level, names)}, &health)
	switch {
	case err != nil:
		return false, errors.Trace(err)
	case health.Healthy == nil:
		return false, garbage("health doesn't say how it is")
	}
	return *health.Healthy, nil
}

// Checks returns the checks of a level, or all; if names are given, of those
// alone.
func (c *Client) Checks(ctx context.Context, level Level, names ...string) ([]Check, error) {
	var checks []Check
	_, err := c.ask(ctx, question{path: "/v1/checks", query: checkQuery(level, names)}, &checks)
	return checks, errors.Trace(err)
}

func checkQuery(level Level, names []string) url.Values {
	query := url.Values{}
	if level != LevelUnset {
		query.Set("level", string(level))
	}
	return list(query, "names", names)
}

// StartChecks starts checks and returns those that hadn't been running.
func (c *Client) StartChecks(ctx context.Context, names ...string) ([]string, error) {
	return c.switchChecks(ctx, "start", names)
}

// StopChecks stops checks and returns those that had been running. They are
// inactive then, and no hook tells of them.
func (c *Client) StopChecks(ctx context.Context, names ...string) ([]string, error) {
	return c.switchChecks(ctx, "stop", names)
}

func (c *Client) switchChecks(ctx context.Context, action string, names []string) ([]string, error) {
	var r struct{ Changed []string }
	body := map[string]any{"action": action, "checks": names}
	_, err := c.ask(ctx, question{method: "POST", path: "/v1/checks", body: body}, &r)
	return r.Changed, errors.Trace(err)
}

// RefreshCheck performs a check now, whatever its period, and returns how it
// stands then and what is wrong with what it looks at; empty if nothing is. It
// counts as any other time that the check is performed. The answer takes as long
// as the check does.
func (c *Client) RefreshCheck(ctx context.Context, name string) (Check, string, error) {
	var r struct {
		Info  Check
		Error string
	}
	q := question{method: "POST", path: "/v1/checks/refresh", body: map[string]any{"name": name}, takes: maxCheck}
	_, err := c.ask(ctx, q, &r)
	return r.Info, r.Error, errors.Trace(err)
}
