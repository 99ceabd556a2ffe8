package state

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checkParams are the parameters of an action, with the defaults that their
// schema has for those that are left out. The error says in a line what is
// wrong with them, or with the schema, which is one of JSON schema's draft 4.
func checkParams(schema, params map[string]any) (map[string]any, error) {
	given, err := asJSON(params)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if schema == nil {
		schema = map[string]any{"additionalProperties": false}
	}
	rules, err := asJSON(schema)
	if err != nil {
		return nil, errors.Trace(err)
	}
	const name = "https://unitd.invalid/params"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4)
	c.UseLoader(jsonschema.SchemeURLLoader{}) // what a charm names elsewhere isn't fetched
	if err := c.AddResource(name, rules); err != nil {
		return nil, errors.Annotate(err, "the action's schema")
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return nil, errors.Errorf("the charm's schema is no JSON schema: %s", firstCause(err))
	}
	if err := compiled.Validate(given); err != nil {
		return nil, errors.New(firstCause(err))
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
	return jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
}

// firstCause is the innermost reason of a validation error, with where it is,
// in a line: `at '/size': got string, want integer`.
func firstCause(err error) string {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return strings.Join(strings.Fields(err.Error()), " ")
	}
	for len(v.Causes) > 0 {
		slices.SortFunc(v.Causes, func(a, b *jsonschema.ValidationError) int {
			return slices.Compare(a.InstanceLocation, b.InstanceLocation)
		})
		v = v.Causes[0]
	}
	return strings.TrimPrefix(strings.Join(strings.Fields(v.Error()), " "), "at '': ")
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
