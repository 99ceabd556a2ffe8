package check

import (
	"encoding/json"
	"testing"
)

// TestCallsMeetTheSchemaOfTheirAction: each required parameter has a value that the schema allows, of its type also
// where the text looks like another one.
func TestCallsMeetTheSchemaOfTheirAction(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ params, first, second string }{
		{`{}`, "act", "act"},
		{`null`, "act", "act"},
		{`{"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}`, "act a=a-1", "act a=a-2"},
		{`{"properties": {"n": {"type": "integer", "minimum": 0}, "b": {"type": "boolean"}}, "required": ["n", "b"]}`, "act b=true n=2", "act b=false n=3"},
		{`{"properties": {"n": {"type": "integer", "minimum": 7, "maximum": 7}}, "required": ["n"]}`, "act n=7", "act n=7"},
		{`{"properties": {"k": {"type": "string", "default": "8080"}}, "required": ["k"]}`, `act k="8080"`, "act k=k-2"},
		{`{"properties": {"k": {"type": "string", "enum": ["true", "other"]}}, "required": ["k"]}`, `act k="true"`, "act k=other"},
		{`{"properties": {"k": {"type": "string", "pattern": "^[0-9]{3}$"}}, "required": ["k"]}`, `act k="111"`, ``},
		{`{"properties": {"l": {"type": "array", "minItems": 2, "items": {"type": "integer"}}}, "required": ["l"]}`, `act l=[1,1]`, ``},
		{`{"properties": {"o": {"$ref": "#/definitions/o"}}, "required": ["o"], "definitions": {"o": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}}}`, `act o={"x":1}`, ``},
		{`{"properties": {"no": {"not": {}}}, "required": ["no"]}`, "-", "-"},
	} {
		var params map[string]any
		if err := json.Unmarshal([]byte(test.params), &params); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{test.first, test.second} {
			got, ok := actionCall("act", params, i+1)
			if ok != (want != "-") || ok && want != "" && got != want {
				t.Errorf("%s: edition %d: %s, want %s", test.params, i+1, got, want)
			}
		}
	}
}
