package schema_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/schema"
)

func decode(t interface{ Fatal(...any) }, text string) any {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(text, err)
	}
	return v
}

func TestFaultsAreSaidInALineWithTheirPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, schema, value, want string }{
		{"a type", `{"type": "integer"}`, `"2"`, "got string, want integer"},
		{"several types, in one order", `{"type": ["string", "null"]}`, `[]`, "got array, want null or string"},
		{"an integer may be written with a point", `{"type": "integer"}`, `2.0`, ""},
		{"the place, with what pointers escape", `{"properties": {"a/b": {"items": {"type": "null"}}}}`, `{"a/b": [null, 1]}`, "at '/a~1b/1': got number, want null"},
		{"one missing property", `{"required": ["a"]}`, `{}`, "missing property 'a'"},
		{"several missing ones", `{"required": ["a", "b"]}`, `{}`, "missing properties 'a', 'b'"},
		{"what isn't declared, sorted", `{"additionalProperties": false}`, `{"b": 1, "a": 1}`, "additional properties 'a', 'b' not allowed"},
		{"what patterns declare", `{"additionalProperties": false, "patternProperties": {"^x-": {"type": "string"}}}`, `{"x-a": "1"}`, ""},
		{"one value", `{"enum": ["it's"]}`, `"x"`, `value must be 'it\'s'`},
		{"several values", `{"enum": ["a", 1, null]}`, `"x"`, "value must be one of 'a', 1, <nil>"},
		{"limits that include", `{"minimum": 3}`, `2`, "minimum: got 2, want 3"},
		{"limits that don't", `{"maximum": 3, "exclusiveMaximum": true}`, `3`, "exclusiveMaximum: got 3, want 3"},
		{"steps, exactly", `{"multipleOf": 0.1}`, `0.3`, ""},
		{"characters, not bytes", `{"maxLength": 2}`, `"äö"`, ""},
		{"how many", `{"minItems": 2}`, `[1]`, "minItems: got 1, want 2"},
		{"twins, by what numbers are worth", `{"uniqueItems": true}`, `[1, 2, 1.0]`, "items at 0 and 2 are equal"},
		{"more than the list has", `{"items": [{}], "additionalItems": false}`, `[1, 2, 3]`, "last 2 additionalItem(s) not allowed"},
		{"a pattern", `{"pattern": "^a$"}`, `"b"`, "'b' does not match pattern '^a$'"},
		{"none of several", `{"anyOf": [{"type": "string"}, {"minimum": 3}]}`, `1`, "got number, want string"},
		{"too many of several", `{"oneOf": [{}, {"type": "string"}, {"minimum": 1}]}`, `1`, "'oneOf' failed, subschemas 0, 2 matched"},
		{"what must not be", `{"not": {}}`, `1`, "'not' failed"},
		{"what depends on another", `{"dependencies": {"a": ["b"]}}`, `{"a": 1}`, "properties 'b' required, if 'a' exists"},
		{"a reference", `{"definitions": {"port": {"maximum": 65535}}, "properties": {"p": {"$ref": "#/definitions/port"}}}`, `{"p": 65536}`, "at '/p': maximum: got 65536, want 65535"},
		{"a schema that has itself in it", `{"properties": {"next": {"$ref": "#"}}, "additionalProperties": false}`, `{"next": {"next": {"x": 1}}}`, "at '/next/next': additional properties 'x' not allowed"},
		{"a circle", `{"$ref": "#"}`, `1`, "the schema refers to '#' in a circle"},
		{"a format", `{"format": "ipv4"}`, `"::1"`, "'::1' is not valid ipv4"},
		{"a format that the draft doesn't have", `{"format": "colour"}`, `"x"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := schema.Parse(decode(t, c.schema))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Check(decode(t, c.value)); c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestWhatIsNoSchemaIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, want string }{
		{`{"type": "no-such-type"}`, "at '/type': value must be one of"},
		{`{"minimum": "1"}`, "at '/minimum': got string, want number"},
		{`{"properties": {"a": {"required": true}}}`, "at '/properties/a/required': got boolean, want array"},
		{`{"$ref": "file:///etc/passwd"}`, "reference 'file:///etc/passwd' leads out of the schema"},
		{`{"items": [{"$ref": "#/definitions/none"}]}`, "reference '#/definitions/none' leads nowhere"},
		{`{"properties": {"a": {"pattern": "("}}}`, "at '/properties/a': '(' is not a regular expression"},
		{`{"$schema": "http://json-schema.org/draft-07/schema#"}`, "is not draft 4"},
	} {
		if _, err := schema.Parse(decode(t, c.schema)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.schema, err, c.want)
		}
	}
}

// TestTheSameValuesAreTakenAsByALibraryOfAllDrafts compares with it, for any schema.
func TestTheSameValuesAreTakenAsByALibraryOfAllDrafts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules, value := anySchema(3).Draw(t, "schema"), anyValue(2).Draw(t, "value")
		text, err := json.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		compiler.DefaultDraft(jsonschema.Draft4)
		if err := compiler.AddResource("https://unitd.invalid/x", decode(t, string(text))); err != nil {
			t.Fatal(err)
		}
		theirs, theirErr := compiler.Compile("https://unitd.invalid/x")
		ours, err := schema.Parse(decode(t, string(text)))
		if (err == nil) != (theirErr == nil) {
			t.Fatalf("%s\nours: %v\ntheirs: %v", text, err, theirErr)
		}
		if err != nil {
			return
		}
		if given, err := json.Marshal(value); err != nil {
			t.Fatal(err)
		} else if ours, theirs := ours.Check(decode(t, string(given))), theirs.Validate(decode(t, string(given))); (ours == nil) != (theirs == nil) {
			t.Fatalf("%s\n%s\nours: %v\ntheirs: %v", text, given, ours, theirs)
		}
	})
}

// names are few, so that values have what schemas speak of.
var names = rapid.SampledFrom([]string{"a", "b", "ab", ""})

func anyValue(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), names.AsAny(), rapid.IntRange(-2, 4).AsAny(),
		rapid.SampledFrom([]any{0.5, 2.0, 1e3}),
	}
	if depth > 0 {
		kinds = append(kinds, rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth - 1) }), 0, 3).AsAny(),
			rapid.MapOfN(names, rapid.Deferred(func() *rapid.Generator[any] { return anyValue(depth - 1) }), 0, 3).AsAny())
	}
	return rapid.OneOf(kinds...)
}

// anySchema is a schema, or rarely what is none.
func anySchema(depth int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		count := rapid.IntRange(-1, 3).AsAny()
		values := map[string]*rapid.Generator[any]{
			"type":    rapid.SampledFrom([]any{"null", "boolean", "number", "integer", "string", "array", "object", []any{"string", "integer"}, "none"}),
			"enum":    rapid.SliceOfN(anyValue(1), 0, 3).AsAny(),
			"minimum": count, "maximum": count, "multipleOf": count, "minLength": count, "maxLength": count, "minItems": count, "maxItems": count,
			"minProperties": count, "maxProperties": count,
			"exclusiveMinimum": rapid.Bool().AsAny(), "exclusiveMaximum": rapid.Bool().AsAny(), "uniqueItems": rapid.Bool().AsAny(),
			"pattern":  rapid.SampledFrom([]any{"^a", "b$", "("}),
			"required": rapid.SliceOfNDistinct(names, 0, 2, rapid.ID).AsAny(),
		}
		if depth > 0 {
			inner := rapid.Deferred(func() *rapid.Generator[map[string]any] { return anySchema(depth - 1) })
			list := rapid.SliceOfN(inner, 1, 2).AsAny()
			maybe := rapid.OneOf(rapid.Bool().AsAny(), inner.AsAny())
			for word, g := range map[string]*rapid.Generator[any]{
				"properties": rapid.MapOfN(names, inner, 0, 2).AsAny(), "patternProperties": rapid.MapOfN(rapid.SampledFrom([]string{"a", "^b"}), inner, 0, 2).AsAny(),
				"additionalProperties": maybe, "additionalItems": maybe, "items": rapid.OneOf(inner.AsAny(), list), "not": inner.AsAny(),
				"allOf": list, "anyOf": list, "oneOf": list,
				"dependencies": rapid.MapOfN(names, rapid.OneOf(inner.AsAny(), rapid.SliceOfNDistinct(names, 1, 2, rapid.ID).AsAny()), 0, 2).AsAny(),
				"definitions":  rapid.MapOfN(names, inner, 0, 1).AsAny(),
			} {
				values[word] = g
			}
		}
		out := map[string]any{}
		for _, word := range rapid.SliceOfNDistinct(rapid.SampledFrom(sorted(values)), 0, 4, rapid.ID).Draw(t, "words") {
			out[word] = values[word].Draw(t, word)
		}
		return out
	})
}

func sorted(m map[string]*rapid.Generator[any]) []string { return slices.Sorted(maps.Keys(m)) }
