package schema

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"
)

// metaSchema is what a schema of draft 4 must be, in the draft's own language.
const metaSchema = `{
	"definitions": {
		"schemas": {"type": "array", "minItems": 1, "items": {"$ref": "#"}},
		"count": {"type": "integer", "minimum": 0},
		"type": {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]},
		"names": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": true},
		"byName": {"type": "object", "additionalProperties": {"$ref": "#"}},
		"maybe": {"anyOf": [{"type": "boolean"}, {"$ref": "#"}]}
	},
	"type": "object",
	"properties": {
		"id": {"type": "string"}, "$schema": {"type": "string"}, "$ref": {"type": "string"},
		"title": {"type": "string"}, "description": {"type": "string"}, "format": {"type": "string"},
		"multipleOf": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
		"maximum": {"type": "number"}, "exclusiveMaximum": {"type": "boolean"},
		"minimum": {"type": "number"}, "exclusiveMinimum": {"type": "boolean"},
		"maxLength": {"$ref": "#/definitions/count"}, "minLength": {"$ref": "#/definitions/count"},
		"pattern": {"type": "string"},
		"additionalItems": {"$ref": "#/definitions/maybe"},
		"items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/definitions/schemas"}]},
		"maxItems": {"$ref": "#/definitions/count"}, "minItems": {"$ref": "#/definitions/count"},
		"uniqueItems": {"type": "boolean"},
		"maxProperties": {"$ref": "#/definitions/count"}, "minProperties": {"$ref": "#/definitions/count"},
		"required": {"$ref": "#/definitions/names"},
		"additionalProperties": {"$ref": "#/definitions/maybe"},
		"definitions": {"$ref": "#/definitions/byName"}, "properties": {"$ref": "#/definitions/byName"},
		"patternProperties": {"$ref": "#/definitions/byName"},
		"dependencies": {"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#"}, {"$ref": "#/definitions/names"}]}},
		"enum": {"type": "array", "minItems": 1, "uniqueItems": true},
		"type": {"anyOf": [{"$ref": "#/definitions/type"},
			{"type": "array", "items": {"$ref": "#/definitions/type"}, "minItems": 1, "uniqueItems": true}]},
		"allOf": {"$ref": "#/definitions/schemas"}, "anyOf": {"$ref": "#/definitions/schemas"},
		"oneOf": {"$ref": "#/definitions/schemas"}, "not": {"$ref": "#"}
	},
	"dependencies": {"exclusiveMaximum": ["maximum"], "exclusiveMinimum": ["minimum"]}
}`

// draft4 are the names by which a schema says that it is one of this draft.
var draft4 = []string{"", "http://json-schema.org/draft-04/schema", "https://json-schema.org/draft-04/schema", "http://json-schema.org/schema"}

// compilable says what about a schema can't be done: its references, its patterns, and
// those of the schemas in it. The meta-schema has nothing against it.
func (c *checker) compilable(schema any, at []string) error {
	rules, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	if name, _ := rules["$schema"].(string); !slices.Contains(draft4, strings.TrimSuffix(name, "#")) {
		return errors.Errorf("at '%s': %s is not draft 4", pointer(at), quote(name))
	}
	if ref, ok := rules["$ref"].(string); ok {
		_, err := resolve(c.root, ref)
		return errors.Trace(err)
	}
	patterns, _ := rules["patternProperties"].(map[string]any)
	for pattern := range patterns {
		if _, err := regexp.Compile(pattern); err != nil {
			return errors.Errorf("at '%s': %s is not a regular expression", pointer(at), quote(pattern))
		}
	}
	if pattern, ok := rules["pattern"].(string); ok {
		if _, err := regexp.Compile(pattern); err != nil {
			return errors.Errorf("at '%s': %s is not a regular expression", pointer(at), quote(pattern))
		}
	}
	for _, word := range []string{"additionalItems", "additionalProperties", "items", "not", "allOf", "anyOf", "oneOf"} {
		if err := c.compilableIn(rules[word], append(slices.Clip(at), word)); err != nil {
			return errors.Trace(err)
		}
	}
	for _, word := range []string{"definitions", "properties", "patternProperties", "dependencies"} {
		named, _ := rules[word].(map[string]any)
		for name, schema := range named {
			if err := c.compilable(schema, append(slices.Clip(at), word, name)); err != nil {
				return errors.Trace(err)
			}
		}
	}
	return nil
}

// compilableIn is compilable, for a schema or for a list of them.
func (c *checker) compilableIn(v any, at []string) error {
	list, ok := v.([]any)
	if !ok {
		return errors.Trace(c.compilable(v, at))
	}
	for i, schema := range list {
		if err := c.compilable(schema, append(slices.Clip(at), strconv.Itoa(i))); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// resolve is the schema within root that a reference is to.
func resolve(root any, ref string) (any, error) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		return nil, errors.Errorf("reference %s leads out of the schema", quote(ref))
	}
	at := root
	for i, word := range strings.Split(path, "/") {
		if i == 0 {
			continue
		}
		if plain, err := url.PathUnescape(word); err == nil {
			word = plain
		}
		word = strings.NewReplacer("~1", "/", "~0", "~").Replace(word)
		var found bool
		switch v := at.(type) {
		case map[string]any:
			at, found = v[word]
		case []any:
			if i, err := strconv.Atoi(word); err == nil && i >= 0 && i < len(v) {
				at, found = v[i], true
			}
		}
		if !found {
			return nil, errors.Errorf("reference %s leads nowhere", quote(ref))
		}
	}
	if _, ok := at.(map[string]any); !ok {
		return nil, errors.Errorf("reference %s leads to no schema", quote(ref))
	}
	return at, nil
}

// formats are those of the draft, by name. Others are no rule.
func formats() map[string]func(string) bool {
	hostname := func(s string) bool {
		s = strings.TrimSuffix(s, ".")
		for label := range strings.SplitSeq(s, ".") {
			if len(label) < 1 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
				strings.ContainsFunc(label, func(r rune) bool {
					return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
				}) {
				return false
			}
		}
		return len(s) <= 253
	}
	return map[string]func(string) bool{
		"date-time": func(s string) bool {
			_, err := time.Parse(time.RFC3339, strings.ToUpper(s))
			return err == nil
		},
		"email": func(s string) bool {
			at := strings.LastIndexByte(s, '@')
			return at > 0 && at <= 64 && !strings.ContainsAny(s, " \t\r\n") && (hostname(s[at+1:]) || strings.HasPrefix(s[at+1:], "["))
		},
		"hostname": hostname,
		"ipv4":     func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() },
		"ipv6":     func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is6() && a.Zone() == "" },
		"uri":      func(s string) bool { u, err := url.Parse(s); return err == nil && u.IsAbs() },
	}
}
