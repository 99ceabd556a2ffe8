package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/juju/errors"
)

// ConfigOption is one option of config.yaml. Type is string, int, float,
// boolean or secret; Default is nil or a value of that type.
type ConfigOption struct {
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	Default     any    `json:"default,omitempty"`
}

// ConfigTypes are the types an option can have.
func ConfigTypes() []string { return []string{"boolean", "float", "int", "secret", "string"} }

// UnmarshalJSON gives Default the option's type: as a float64, which JSON's
// numbers are by themselves, a large int would lose its last digits.
func (o *ConfigOption) UnmarshalJSON(b []byte) error {
	type plain ConfigOption
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode((*plain)(o)); err != nil {
		return errors.Trace(err)
	}
	if typed, err := o.Coerce("default", o.Default); err == nil {
		o.Default = typed
	}
	return nil
}

// Coerce turns v, as YAML or JSON decoded it, into a value of the option's
// type: string, int64, float64 or bool; a secret is the text that names one. The
// error is NotValid and says `option "n" expected int, got "abc"`.
func (o ConfigOption) Coerce(name string, v any) (any, error) {
	if n, ok := v.(json.Number); ok {
		if o.Type != "int" && o.Type != "float" {
			return nil, o.mismatch(name, v)
		}
		if whole, err := n.Int64(); err == nil {
			v = whole
		} else if v, err = n.Float64(); err != nil {
			return nil, o.mismatch(name, n)
		}
	}
	switch o.Type {
	case "string":
		if s, ok := v.(string); ok {
			return s, nil
		}
	case "secret":
		// That there is one isn't asked for: it may come later.
		if s, ok := v.(string); ok && (s == "" || isSecretURI(s)) {
			return s, nil
		}
	case "boolean":
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case "int":
		switch n := v.(type) {
		case int:
			return int64(n), nil
		case int64:
			return n, nil
		case float64:
			if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
				return int64(n), nil
			}
		}
	case "float":
		switch n := v.(type) {
		case float64:
			if !math.IsNaN(n) && !math.IsInf(n, 0) { // JSON has no word for them
				return n, nil
			}
		case int:
			return float64(n), nil
		case int64:
			return float64(n), nil
		}
	}
	return nil, o.mismatch(name, v)
}

func isSecretURI(s string) bool {
	_, _, err := ParseSecretURI(s)
	return err == nil
}

func (o ConfigOption) mismatch(name string, v any) error {
	return errors.NewNotValid(nil, fmt.Sprintf("option %q expected %s, got %#v", name, o.Type, v))
}

// Parse reads the value of the option from text, as "config app name=text"
// gives it. Text for a string is taken as it is; it has to be UTF-8, as
// anything else could be neither stored nor shown to the charm as it is.
func (o ConfigOption) Parse(name, text string) (any, error) {
	var v any
	var err error
	switch o.Type {
	case "secret":
		return o.Coerce(name, text)
	case "string":
		if !utf8.ValidString(text) {
			return nil, errors.NewNotValid(nil, fmt.Sprintf("value for option %q contains non-UTF-8 sequences", name))
		}
		return text, nil
	case "boolean":
		v, err = strconv.ParseBool(text)
	case "int":
		v, err = strconv.ParseInt(text, 10, 64)
	case "float":
		var f float64
		if f, err = strconv.ParseFloat(text, 64); err == nil {
			_, err = o.Coerce(name, f)
		}
		v = f
	}
	if err != nil || v == nil {
		return nil, o.mismatch(name, text)
	}
	return v, nil
}

// ParseConfig reads values given as text. Unknown options and wrong types are
// NotValid, with the texts of docs/spec/cli-juju.md §6.
func (c Charm) ParseConfig(text map[string]string) (map[string]any, error) {
	out := make(map[string]any, len(text))
	for _, name := range slices.Sorted(maps.Keys(text)) {
		o, ok := c.Options[name]
		if !ok {
			return nil, errors.NewNotValid(nil, fmt.Sprintf("unknown option %q", name))
		}
		v, err := o.Parse(name, text[name])
		if err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

// Config is what config-get shows: each option's set value, else its default,
// else nil. set has values as ParseConfig or JSON gave them.
func (c Charm) Config(set map[string]any) map[string]any {
	out := make(map[string]any, len(c.Options))
	for name, o := range c.Options {
		out[name] = nil
		for _, v := range []any{o.Default, set[name]} {
			if v == nil {
				continue
			}
			if typed, err := o.Coerce(name, v); err == nil {
				out[name] = typed
			}
		}
	}
	return out
}
