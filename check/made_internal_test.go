package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// judged is what a library that knows all drafts says of a value.
func judged(t interface{ Fatal(...any) }, of, v any) error {
	again := func(v any) any {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("https://unitd.invalid/x", again(of)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://unitd.invalid/x")
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(again(v))
}

func TestValuesAreMade(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"type": "string"}`:                                                                  `"key-value"`,
		`{"type": "string", "format": "date-time"}`:                                           `"2026-01-02T03:04:05Z"`,
		`{"type": "string", "format": "uuid"}`:                                                `"7d1f6a2e-3c5b-4e8d-9a10-5b2c7e9f4a31"`,
		`{"type": "string", "format": "hostname"}`:                                            `"other.example.com"`,
		`{"type": "string", "pattern": "^(tcp|udp):[0-9]{2,4}$"}`:                             `"tcp:11"`,
		`{"type": "string", "pattern": "^[^a-z0-9A-Z]+$"}`:                                    `"-"`,
		`{"type": "string", "minLength": 12, "maxLength": 12}`:                                `"key-valuexxx"`,
		`{"type": "string", "maxLength": 2}`:                                                  `"ke"`,
		`{"type": "integer", "minimum": 10, "multipleOf": 7}`:                                 `14`,
		`{"type": "integer", "exclusiveMinimum": 10}`:                                         `11`,
		`{"type": "integer", "maximum": -3}`:                                                  `-7`,
		`{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}`:                    `0.5`,
		`{"type": "number", "multipleOf": 0.1, "minimum": 0.25}`:                              `0.3`,
		`{"type": ["null", "boolean"]}`:                                                       `true`,
		`{"type": "null"}`:                                                                    `null`,
		`{"const": {"a": [1]}}`:                                                               `{"a":[1]}`,
		`{"enum": [3, 4], "minimum": 4}`:                                                      `4`,
		`{"examples": [1, "b"], "type": "string"}`:                                            `"b"`,
		`{"type": "string", "default": "d"}`:                                                  `"d"`,
		`{"type": "array", "minItems": 3, "uniqueItems": true, "items": {"type": "integer"}}`: `[1,2,3]`,
		`{"type": "array", "prefixItems": [{"const": 1}, {"const": "b"}], "items": false}`:    `[1,"b"]`,
		`{"type": "array", "items": {"not": {}}}`:                                             `[]`,
		`{"type": "object", "additionalProperties": {"type": "integer"}}`:                     `{"key-1":1}`,
		`{"properties": {"a": {"const": 1}, "b": false}, "required": ["a", "c"], "patternProperties": {"^c": {"const": 2}}}`:              `{"a":1,"c":2}`,
		`{"allOf": [{"properties": {"a": {"minimum": 3}}}, {"properties": {"a": {"type": "integer", "maximum": 3}}, "required": ["a"]}]}`: `{"a":3}`,
		`{"oneOf": [{"type": "string", "maxLength": 0, "minLength": 1}, {"type": "integer", "minimum": 5}]}`:                              `5`,
		`{"$ref": "#/$defs/x", "$defs": {"x": {"type": "object", "properties": {"more": {"$ref": "#/$defs/x"}, "n": {"const": 1}}}}}`:     `{"n":1}`,
		`{"type": "string", "maxLength": 0, "pattern": "."}`:                                                                              ``,
		`{"const": null, "enum": ["a"], "not": {"type": "object"}}`:                                                                       ``,
		`{"type": "array", "minItems": 1000000}`:                                                                                          ``,
		`{"$ref": "#/nowhere"}`:                                                                                                           ``,
		`{"$ref": "https://example.com/x.json"}`:                                                                                          ``,
	} {
		of, err := decoded([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		v, ok := (&valuer{host: "10.0.0.1", left: maxMade}).make(tidied(of, of), "key", nil, 0)
		got := ""
		if ok {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			got = string(b)
		}
		if got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
		if ok {
			if err := judged(t, of, v); err != nil {
				t.Errorf("%s: %s: %v", text, got, err)
			}
		}
	}
}

// TestWhatIsMadeMeetsItsSchema, as a library of all drafts sees it.
func TestWhatIsMadeMeetsItsSchema(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		of := someSchema(3).Draw(t, "schema")
		of["$defs"] = map[string]any{"a": someSchema(2).Draw(t, "a"), "b": someSchema(2).Draw(t, "b")}
		text, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		read, err := decoded(text)
		if err != nil {
			t.Fatal(err)
		}
		v, ok := (&valuer{host: "10.0.0.1", left: maxMade}).make(tidied(read, read), rapid.SampledFrom([]string{"port", "host", "x", ""}).Draw(t, "name"), nil, 0)
		if !ok {
			return
		}
		if err := judged(t, read, v); err != nil {
			t.Fatalf("%s\n%v\n%v", text, v, err)
		}
	})
}

// someSchema is a schema of draft 2020-12.
func someSchema(depth int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		count, n := rapid.IntRange(0, 3).AsAny(), rapid.SampledFrom([]any{-2, 0, 0.5, 1, 3, 7})
		value := rapid.SampledFrom([]any{nil, true, "a", "ab", 0, 1, 0.5, []any{}, []any{1, "a"}, map[string]any{"a": 1}, map[string]any{}})
		name := rapid.SampledFrom([]string{"a", "b", "ab", "port"})
		words := map[string]*rapid.Generator[any]{
			"type":  rapid.SampledFrom([]any{"null", "boolean", "number", "integer", "string", "array", "object", []any{"string", "null"}}),
			"const": value, "enum": rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3, rapid.ID).AsAny(), "default": value, "examples": rapid.SliceOfN(value, 0, 2).AsAny(),
			"minimum": n, "maximum": n, "exclusiveMinimum": n, "exclusiveMaximum": n, "multipleOf": rapid.SampledFrom([]any{0.5, 1, 2, 3}),
			"minLength": count, "maxLength": count, "minItems": count, "maxItems": count, "minProperties": count, "maxProperties": count,
			"uniqueItems": rapid.Bool().AsAny(), "pattern": rapid.SampledFrom([]any{"^a", "b$", "^[^a-z]{2}", "[0-9]+x?|y"}), "required": rapid.SliceOfNDistinct(name, 0, 2, rapid.ID).AsAny(),
			"format": rapid.SampledFrom([]any{"uri", "ipv4", "email", "date-time", "hostname"}),
			"$ref":   rapid.SampledFrom([]any{"#/$defs/a", "#/$defs/b"}),
		}
		if depth > 0 {
			inner := rapid.Deferred(func() *rapid.Generator[map[string]any] { return someSchema(depth - 1) })
			maybe := rapid.OneOf(rapid.Bool().AsAny(), inner.AsAny())
			list := rapid.SliceOfN(maybe, 1, 2).AsAny()
			for word, g := range map[string]*rapid.Generator[any]{
				"properties": rapid.MapOfN(name, maybe, 0, 3).AsAny(), "patternProperties": rapid.MapOfN(rapid.SampledFrom([]string{"a", "^b"}), maybe, 0, 2).AsAny(),
				"additionalProperties": maybe, "items": maybe, "prefixItems": list, "not": inner.AsAny(), "allOf": list, "anyOf": list, "oneOf": list,
			} {
				words[word] = g
			}
		}
		out := map[string]any{}
		for _, word := range rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(words))), 0, 4, rapid.ID).Draw(t, "words") {
			out[word] = words[word].Draw(t, word)
		}
		return out
	})
}
