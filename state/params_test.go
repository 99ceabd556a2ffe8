package state

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParametersAreCheckedAndFilledIn(t *testing.T) {
	t.Parallel()
	const schema = `{"type": "object", "additionalProperties": false, "required": ["size"], "properties": {
		"size": {"type": "integer", "minimum": 1, "exclusiveMinimum": true},
		"name": {"type": "string", "default": "x", "pattern": "^[a-z]+$"},
		"to": {"type": "object", "properties": {"port": {"type": "integer", "default": 22}}},
		"big": {"type": "integer"}
	}}`
	for _, c := range []struct{ name, schema, given, want string }{
		{"defaults are filled in", schema, `{"size": 2}`, `{"name":"x","size":2}`},
		{"in what is given of an object too", schema, `{"size": 2, "name": "y", "to": {}}`, `{"name":"y","size":2,"to":{"port":22}}`},
		{"every digit of a number stays", schema, `{"size": 2, "big": 1234567890123456789}`, `{"big":1234567890123456789,"name":"x","size":2}`},
		{"what is missing", schema, `{}`, "missing property 'size'"},
		{"what isn't declared", schema, `{"size": 2, "other": 1}`, "additional properties 'other' not allowed"},
		{"another type", schema, `{"size": "2"}`, "at '/size': got string, want integer"},
		{"the limits of draft 4", schema, `{"size": 1}`, "at '/size': exclusiveMinimum: got 1, want 1"},
		{"inside of an object", schema, `{"size": 2, "to": {"port": "ssh"}}`, "at '/to/port': got string, want integer"},
		{"without a schema there are none", "null", `{"a": 1}`, "additional properties 'a' not allowed"},
		{"with a schema that takes any", `{"type": "object", "additionalProperties": true}`, `{"a": 1}`, `{"a":1}`},
		{"nothing is fetched", `{"$ref": "file:///etc/passwd"}`, `{}`, ""},
		{"a schema that is none", `{"type": "no-such-type"}`, `{}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var schema, given map[string]any
			for text, to := range map[string]*map[string]any{c.schema: &schema, c.given: &given} {
				d := json.NewDecoder(strings.NewReader(text))
				d.UseNumber()
				if err := d.Decode(to); err != nil {
					t.Fatal(err)
				}
			}
			params, err := checkParams(schema, given)
			if err != nil {
				if c.want != "" && err.Error() != c.want {
					t.Errorf("got error %q, want %q", err, c.want)
				}
				return
			}
			if got, err := json.Marshal(params); err != nil || string(got) != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
