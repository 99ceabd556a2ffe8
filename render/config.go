package render

import (
	"github.com/unitd/unitd/state"
)

// ConfigTree is what "config --format json" shows; own are the options that every
// application has. Source: docs/spec/cli-juju.md §2.4.
func ConfigTree(c state.ApplicationConfig, own map[string]any) any {
	settings := map[string]any{}
	for name, o := range c.Charm.Charm.Options {
		s := map[string]any{"type": o.Type, "description": o.Description, "source": "unset"}
		if o.Default != nil {
			s["default"], s["source"] = o.Default, "default"
		}
		if _, set := c.Set[name]; set {
			s["source"] = "user"
		}
		if v := c.Values[name]; v != nil {
			s["value"] = v
		}
		settings[name] = s
	}
	return map[string]any{
		"application": c.Application, "charm": c.Charm.Charm.Name,
		"application-config": own, "settings": settings,
	}
}

// ModelSetting is one setting as programs read it; the capital letters are the
// field's. Source: docs/spec/cli-juju.md §2.5.
type ModelSetting struct {
	Value  any    `json:"Value" yaml:"value"`
	Source string `json:"Source" yaml:"source"`
}

// SettingValue is a setting's value as its kind.
func SettingValue(v string) any {
	switch v {
	case "true":
		return true
	case "false":
		return false
	}
	return v
}
