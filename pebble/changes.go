package pebble

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/juju/errors"
)

// Kinds and statuses of the changes by which checks are told of.
// Source: docs/spec/containers.md §4.8.
const (
	kindPerform = "perform-check"
	kindRecover = "recover-check"
	statusError = "Error"
	statusDone  = "Done"
)

// Change is one thing that Pebble does or has done.
// Source: docs/spec/containers.md §4.6 c.
type Change struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Summary string `json:"summary"`
	// Status is a word such as Doing, Done or Error.
	Status string `json:"status"`
	// Ready says that the change is over, whatever its status.
	Ready bool   `json:"ready"`
	Err   string `json:"err"`
	Tasks []Task `json:"tasks"`

	Spawned time.Time `json:"spawn-time"`
	// Ended is zero until the change is ready.
	Ended time.Time `json:"ready-time"`
}

// Task is one step of a change.
type Task struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`
	Summary string   `json:"summary"`
	Status  string   `json:"status"`
	Log     []string `json:"log"`
	// Data are as the kind of task has it.
	Data map[string]json.RawMessage `json:"data"`
}

// Change returns the change with that id. The error matches errors.NotFound if
// Pebble has none, as it forgets those that have ended.
func (c *Client) Change(ctx context.Context, id string) (Change, error) {
	var change Change
	_, err := c.ask(ctx, question{path: "/v1/changes/" + url.PathEscape(id)}, &change)
	return change, errors.Trace(err)
}

// WaitChange waits until a change is ready, for as long as ctx and Pebble last,
// and returns it. That it has failed is told by its Err, and is no error here.
func (c *Client) WaitChange(ctx context.Context, id string) (Change, error) {
	q := question{
		path:  "/v1/changes/" + url.PathEscape(id) + "/wait",
		query: url.Values{"timeout": {slice.String()}},
		takes: slice,
	}
	for {
		var change Change
		_, err := c.ask(ctx, q, &change)
		var refused *APIError
		if errors.As(err, &refused) && refused.Status == http.StatusGatewayTimeout {
			continue // it isn't ready yet
		}
		return change, errors.Trace(err)
	}
}

// act makes a call that begins a change, and waits until it has succeeded.
func (c *Client) act(ctx context.Context, q question) error {
	id, err := c.ask(ctx, q, nil)
	if err != nil {
		return errors.Trace(err)
	}
	if id == "" {
		return garbage("no change was begun")
	}
	change, err := c.WaitChange(ctx, id)
	if err != nil {
		return errors.Trace(err)
	}
	if change.Err != "" {
		return &ChangeError{Change: change}
	}
	return nil
}

// ChangeError is that what Pebble was asked to do has failed.
type ChangeError struct{ Change Change }

// Error is Pebble's text; it may have several lines.
func (e *ChangeError) Error() string { return e.Change.Err }
