package main

import (
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// The options of an application that aren't the charm's: trust is the field's,
// the others are unitd's own.
const (
	trustOption     = "trust"
	timeoutOption   = "unitd-hook-timeout"
	lockGroupOption = "unitd-lock-group"
)

// appOptions are all of them.
func appOptions() []string { return []string{trustOption, timeoutOption, lockGroupOption} }

// appSettings are those that somebody has given; nil: left as they are.
type appSettings struct {
	trust                  *bool
	hookTimeout, lockGroup *string
}

// takeSettings takes these options out of the others. The error is NotValid for
// values that can't be.
func takeSettings(set map[string]string) (appSettings, error) {
	var s appSettings
	if text, ok := set[trustOption]; ok {
		v, err := model.ConfigOption{Type: "boolean"}.Parse(trustOption, text)
		if err != nil {
			return s, errors.Annotate(err, "parsing settings for application")
		}
		trust, _ := v.(bool)
		s.trust = &trust
	}
	if text, ok := set[timeoutOption]; ok {
		s.hookTimeout = &text
		if err := state.CheckHookTimeout(timeoutOption, text); err != nil {
			return s, errors.Annotate(err, "parsing settings for application")
		}
	}
	if text, ok := set[lockGroupOption]; ok {
		s.lockGroup = &text
		if err := state.CheckLockGroup(lockGroupOption, text); err != nil {
			return s, errors.Annotate(err, "parsing settings for application")
		}
	}
	for _, name := range appOptions() {
		delete(set, name)
	}
	return s, nil
}

// reset has those of the names that are these options be as at first, and
// returns the other names.
func (s *appSettings) reset(names []string) (others []string) {
	for _, name := range names {
		switch name {
		case trustOption:
			s.trust = new(bool)
		case timeoutOption:
			s.hookTimeout = new(string)
		case lockGroupOption:
			s.lockGroup = new(string)
		default:
			others = append(others, name)
		}
	}
	return others
}

// of gives them to what is to be deployed.
func (s appSettings) of(todo state.DeployArgs) state.DeployArgs {
	if s.trust != nil {
		todo.Trust = *s.trust
	}
	if s.hookTimeout != nil {
		todo.HookTimeout = *s.hookTimeout
	}
	if s.lockGroup != nil {
		todo.LockGroup = *s.lockGroup
	}
	return todo
}

// applySettings gives them to an application that is there.
func (a *app) applySettings(m *state.Model, name string, s appSettings) error {
	if s.trust != nil {
		if err := m.SetTrust(a.ctx, name, *s.trust); err != nil {
			return err
		}
	}
	if s.hookTimeout != nil {
		if err := m.SetHookTimeout(a.ctx, name, *s.hookTimeout); err != nil {
			return err
		}
	}
	if s.lockGroup != nil {
		return m.SetLockGroup(a.ctx, name, *s.lockGroup)
	}
	return nil
}

// appOption is the value of one of these options; nil: it isn't set. ok is
// false for another one.
func appOption(c state.ApplicationConfig, name string) (v any, ok bool) {
	switch {
	case name == trustOption:
		v = c.Trust
	case name == timeoutOption && c.HookTimeout != "":
		v = c.HookTimeout
	case name == lockGroupOption && c.LockGroup != "":
		v = c.LockGroup
	}
	return v, slices.Contains(appOptions(), name)
}

// appOptionsTree is what "config --format json" shows of them.
func appOptionsTree(c state.ApplicationConfig) map[string]any {
	trust := map[string]any{"type": "bool", "default": false, "value": c.Trust, "source": "default",
		"description": "Does this application have access to trusted credentials"}
	if c.Trust {
		trust["source"] = "user"
	}
	tree := map[string]any{trustOption: trust}
	for name, description := range map[string]string{
		timeoutOption:   "How long a hook may take, such as 10m; 0: as long as it likes; unset: as the model's " + state.HookTimeout + " says",
		lockGroupOption: "Only units of one group run their hooks one after the other on a machine; unset: the machine's group",
	} {
		one := map[string]any{"type": "string", "source": "unset", "description": description}
		if v, _ := appOption(c, name); v != nil {
			one["value"], one["source"] = v, "user"
		}
		tree[name] = one
	}
	return tree
}
