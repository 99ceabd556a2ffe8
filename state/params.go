package state

import (
	"bytes"
	"encoding/json"

	"github.com/juju/errors"

	"github.com/unitd/unitd/schema"
)

// checkParams are the parameters of an action, with the defaults that their
// schema has for those that are left out. The error says in a line what is
// wrong with them, or with the schema, which is one of JSON schema's draft 4.
func checkParams(described, params map[string]any) (map[string]any, error) {
	given, err := asJSON(params)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if described == nil {
		described = map[string]any{"additionalProperties": false}
	}
	rules, err := asJSON(described)
	if err != nil {
		return nil, errors.Trace(err)
	}
	compiled, err := schema.Parse(rules)
	if err != nil {
		return nil, errors.Errorf("the charm's schema is no JSON schema: %s", err)
	}
	if err := compiled.Check(given); err != nil {
		return nil, errors.Trace(err)
	}
	out, _ := withDefaults(rules, given).(map[string]any)
	return numbers(out).(map[string]any), nil
}

// asJSON is a value as its JSON text would be read.
func asJSON(v map[string]any) (any, error) {
	if v == nil {
		v = map[string]any{}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var out any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		return nil, errors.Trace(err)
	}
	return out, nil
}

// withDefaults fills in the defaults of an object's properties, and of those
// that they have in turn.
func withDefaults(schema, value any) any {
	rules, _ := schema.(map[string]any)
	properties, _ := rules["properties"].(map[string]any)
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	for k, rule := range properties {
		own, _ := rule.(map[string]any)
		v, given := object[k]
		if !given {
			if v, given = own["default"]; !given {
				continue
			}
		}
		object[k] = withDefaults(own, v)
	}
	return object
}
