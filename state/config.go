package state

import (
	"context"
	"fmt"
	"maps"

	"github.com/juju/errors"
)

// ApplicationConfig is an application's configuration.
type ApplicationConfig struct {
	Application string
	Charm       CharmDoc
	Trust       bool
	// HookTimeout, LockGroup, WorkloadErrors and RecordPebble are those of
	// ApplicationDoc: no hook sees them.
	HookTimeout, LockGroup, WorkloadErrors, RecordPebble string
	// Set has the options that were set, Values all of them with defaults (nil
	// where there is none).
	Set, Values map[string]any
}

// Config reads an application's configuration.
func (m *Model) Config(ctx context.Context, application string) (ApplicationConfig, error) {
	var c ApplicationConfig
	_, err := m.view(ctx, func(r docs) (err error) {
		c, err = r.config(application)
		return errors.Trace(err)
	})
	return c, errors.Trace(err)
}

func (d docs) config(application string) (ApplicationConfig, error) {
	app, err := d.application(application)
	if err != nil {
		return ApplicationConfig{}, errors.Trace(err)
	}
	c := ApplicationConfig{Application: application, Trust: app.Trust, HookTimeout: app.HookTimeout, LockGroup: app.LockGroup, WorkloadErrors: app.WorkloadErrors, RecordPebble: app.RecordPebble}
	if c.Charm, err = d.charm(app.Charm); err != nil {
		return c, errors.Trace(err)
	}
	var conf configDoc
	if _, err := d.find(configKey(application), &conf); err != nil {
		return c, errors.Trace(err)
	}
	for k, v := range conf.Values {
		if typed, err := c.Charm.Charm.Options[k].Coerce(k, v); err == nil {
			conf.Values[k] = typed
		}
	}
	c.Set, c.Values = conf.Values, c.Charm.Charm.Config(conf.Values)
	return c, nil
}

// SetConfig sets options, given as text, and resets others to their defaults,
// all or none. Errors are NotValid with the texts of docs/spec/cli-juju.md §6.
func (m *Model) SetConfig(ctx context.Context, application string, set map[string]string, reset []string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		c, err := tx.config(application)
		if err != nil {
			return errors.Trace(err)
		}
		values, err := c.Charm.Charm.ParseConfig(set)
		if err != nil {
			return errors.NewNotValid(nil, "parsing settings for application: "+err.Error())
		}
		out := maps.Clone(c.Set)
		if out == nil {
			out = map[string]any{}
		}
		for _, k := range reset {
			if _, ok := c.Charm.Charm.Options[k]; !ok {
				return errors.NewNotValid(nil, fmt.Sprintf("updating application charm settings: unknown option %q", k))
			}
			delete(out, k)
		}
		maps.Copy(out, values)
		return tx.put(configKey(application), configDoc{Values: out, By: tx.by})
	})
	return errors.Trace(err)
}
