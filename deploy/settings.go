package deploy

import (
	"context"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// trustOption is the field's own option of an application that isn't the charm's.
const trustOption = "trust"

// textOption is an option of every application that is unitd's own, and no charm
// sees.
type textOption struct {
	name, description string
	check             func(setting, text string) error
	// of is where it is in what is deployed, value what an application has; empty: it
	// isn't set.
	of    func(*state.DeployArgs) *string
	value func(state.ApplicationConfig) string
	set   func(m *state.Model, ctx context.Context, application, text string) error
}

// textOptions are all of them.
func textOptions() []textOption {
	return []textOption{
		{
			"unitd-hook-timeout", "How long a hook may take, such as 10m; 0: as long as it likes; unset: as the model's " + state.HookTimeout + " says",
			state.CheckHookTimeout, func(d *state.DeployArgs) *string { return &d.HookTimeout },
			func(c state.ApplicationConfig) string { return c.HookTimeout }, (*state.Model).SetHookTimeout,
		},
		{
			"unitd-lock-group", "Only units of one group run their hooks one after the other on a machine; unset: the machine's group",
			state.CheckLockGroup, func(d *state.DeployArgs) *string { return &d.LockGroup },
			func(c state.ApplicationConfig) string { return c.LockGroup }, (*state.Model).SetLockGroup,
		},
		{
			"unitd-workload-errors", "error: a hook of a workload container that fails puts the unit in error; unset: it stands aside and runs again",
			state.CheckWorkloadErrors, func(d *state.DeployArgs) *string { return &d.WorkloadErrors },
			func(c state.ApplicationConfig) string { return c.WorkloadErrors }, (*state.Model).SetWorkloadErrors,
		},
		{
			"unitd-record-pebble", "true: recordings of hooks include what was asked of Pebble in workload containers; unset: they don't",
			state.CheckRecordPebble, func(d *state.DeployArgs) *string { return &d.RecordPebble },
			func(c state.ApplicationConfig) string { return c.RecordPebble }, (*state.Model).SetRecordPebble,
		},
	}
}

// Options are the names of the options of an application that aren't the
// charm's.
func Options() []string {
	names := []string{trustOption}
	for _, o := range textOptions() {
		names = append(names, o.name)
	}
	return names
}

// Settings are those that somebody has given, the others are left as they are.
type Settings struct {
	trust *bool             // nil: not given
	text  map[string]string // by name; an empty one is reset
}

// TakeSettings takes these options out of the others. The error is NotValid for
// values that can't be.
func TakeSettings(set map[string]string) (Settings, error) {
	s := Settings{text: map[string]string{}}
	if text, ok := set[trustOption]; ok {
		v, err := model.ConfigOption{Type: "boolean"}.Parse(trustOption, text)
		if err != nil {
			return s, errors.Annotate(err, "parsing settings for application")
		}
		trust, _ := v.(bool)
		s.trust = &trust
	}
	for _, o := range textOptions() {
		text, ok := set[o.name]
		if !ok {
			continue
		}
		s.text[o.name] = text
		if err := o.check(o.name, text); err != nil {
			return s, errors.Annotate(err, "parsing settings for application")
		}
	}
	for _, name := range Options() {
		delete(set, name)
	}
	return s, nil
}

// Reset has those of the names that are these options be as at first, and
// returns the other names.
func (s *Settings) Reset(names []string) (others []string) {
	for _, name := range names {
		switch {
		case name == trustOption:
			s.trust = new(bool)
		case slices.Contains(Options(), name):
			s.text[name] = ""
		default:
			others = append(others, name)
		}
	}
	return others
}

// Of gives them to what is to be deployed.
func (s Settings) Of(todo state.DeployArgs) state.DeployArgs {
	if s.trust != nil {
		todo.Trust = *s.trust
	}
	for _, o := range textOptions() {
		if text, ok := s.text[o.name]; ok {
			*o.of(&todo) = text
		}
	}
	return todo
}

// Differ are the names of those that an application doesn't have as they were given.
func (s Settings) Differ(c state.ApplicationConfig) []string {
	var names []string
	if s.trust != nil && *s.trust != c.Trust {
		names = append(names, trustOption)
	}
	for _, o := range textOptions() {
		if text, ok := s.text[o.name]; ok && text != o.value(c) {
			names = append(names, o.name)
		}
	}
	return names
}

// Apply gives them to an application that is there.
func (d *Deployer) Apply(m *state.Model, name string, s Settings) error {
	if s.trust != nil {
		if err := m.SetTrust(d.Context(), name, *s.trust); err != nil {
			return err
		}
	}
	for _, o := range textOptions() {
		if text, ok := s.text[o.name]; ok {
			if err := o.set(m, d.Context(), name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// OptionValue is the value of one of these options; nil: it isn't set. ok is
// false for another one.
func OptionValue(c state.ApplicationConfig, name string) (v any, ok bool) {
	if name == trustOption {
		return c.Trust, true
	}
	for _, o := range textOptions() {
		if o.name == name && o.value(c) != "" {
			v = o.value(c)
		}
	}
	return v, slices.Contains(Options(), name)
}

// OptionsTree is what "config --format json" shows of them.
func OptionsTree(c state.ApplicationConfig) map[string]any {
	trust := map[string]any{"type": "bool", "default": false, "value": c.Trust, "source": "default",
		"description": "Does this application have access to trusted credentials"}
	if c.Trust {
		trust["source"] = "user"
	}
	tree := map[string]any{trustOption: trust}
	for _, o := range textOptions() {
		one := map[string]any{"type": "string", "source": "unset", "description": o.description}
		if v := o.value(c); v != "" {
			one["value"], one["source"] = v, "user"
		}
		tree[o.name] = one
	}
	return tree
}
