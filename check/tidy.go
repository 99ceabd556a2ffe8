package check

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/schema"
)

// A schema in the wild may be of any draft, and may have mistakes. Package schema knows draft 4,
// and takes nothing that isn't one. So schemas are brought into its form before values are made:
// references are followed, words of later drafts become those of draft 4, and what means nothing
// is left out. What can't be followed is a schema that no value meets: then a key is left out
// rather than made up.

// tidier brings schemas into form.
type tidier struct {
	root any
	left int
}

// nothing is a schema that no value meets.
func nothing() map[string]any { return map[string]any{"not": map[string]any{}} }

// tidied is a schema within root in the form of draft 4, with its examples.
func tidied(root, of any) map[string]any {
	return (&tidier{root, maxNodes / 10}).schema(of, nil, 0)
}

func (t *tidier) schema(of any, refs []string, depth int) map[string]any {
	if t.left--; t.left < 0 || depth > 40 {
		return nothing()
	}
	rules, ok := of.(map[string]any)
	if !ok {
		if of == false {
			return nothing()
		}
		return map[string]any{}
	}
	out := map[string]any{}
	t.values(out, rules)
	t.limits(out, rules)
	t.inner(out, rules, refs, depth)
	ref, ok := rules["$ref"].(string)
	if !ok {
		return out
	}
	target, found := lookup(t.root, ref)
	if !found || slices.Contains(refs, ref) {
		return nothing()
	}
	of2 := t.schema(target, append(slices.Clip(refs), ref), depth+1)
	for _, word := range []string{"default", "examples"} {
		if v, ok := out[word]; ok {
			of2[word] = v
			delete(out, word)
		}
	}
	if len(out) == 0 {
		return of2
	}
	return map[string]any{"allOf": []any{of2, out}}
}

// lookup is what a reference within a schema is to.
func lookup(root any, ref string) (any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	at := root
	for _, word := range strings.Split(path, "/")[1:] {
		of, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = of[strings.NewReplacer("~1", "/", "~0", "~").Replace(word)]; !ok {
			return nil, false
		}
	}
	return at, path == "" || path[0] == '/'
}

var types = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// values are the rules that name values.
func (t *tidier) values(out, rules map[string]any) {
	var kinds []any
	list, isList := rules["type"].([]any)
	if !isList {
		list = []any{rules["type"]}
	}
	for _, kind := range list {
		if name, ok := kind.(string); ok && slices.Contains(types, name) && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 1 {
		out["type"] = kinds[0]
	} else if len(kinds) > 1 {
		out["type"] = kinds
	}
	enum, _ := rules["enum"].([]any)
	if c, ok := rules["const"]; ok {
		if enum != nil && !slices.ContainsFunc(enum, func(v any) bool { return same(v, c) }) {
			out["not"] = map[string]any{}
		}
		enum = []any{c}
	}
	for _, v := range []struct {
		word string
		list []any
	}{{"enum", enum}, {"examples", listOf(rules["examples"])}, {"examples", listOf(rules["example"])}} {
		if kept := distinct(v.list); len(kept) > 0 {
			out[v.word] = kept
		} else if v.word == "enum" && len(v.list) > 0 {
			out["not"] = map[string]any{}
		}
	}
	if d, ok := rules["default"]; ok && sane(d, 0) {
		out["default"] = d
	}
	if text, ok := rules["pattern"].(string); ok && compiles(text) {
		out["pattern"] = text
	}
	if text, ok := rules["format"].(string); ok {
		out["format"] = text
	}
}

func listOf(v any) []any {
	if list, ok := v.([]any); ok || v == nil {
		return list
	}
	return []any{v}
}

// distinct are the values of a list that can be used, each once.
func distinct(list []any) (out []any) {
	seen := map[string]bool{}
	for _, v := range list {
		text, err := json.Marshal(v)
		if err == nil && sane(v, 0) && !seen[string(text)] && len(out) < 64 {
			seen[string(text)] = true
			out = append(out, v)
		}
	}
	return out
}

var saneNumber = pattern.New(`^-?\d{1,30}(\.\d{1,30})?([eE][+-]?\d)?$`)

// sane says whether a value can be used: a number of a few bytes may take gigabytes to reckon
// with.
func sane(v any, depth int) bool {
	if depth > 40 {
		return false
	}
	switch v := v.(type) {
	case nil, bool, string:
		return true
	case json.Number:
		return saneNumber.MatchString(string(v))
	case []any:
		return !slices.ContainsFunc(v, func(w any) bool { return !sane(w, depth+1) })
	case map[string]any:
		for _, w := range v {
			if !sane(w, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

func compiles(expression string) bool {
	_, err := regexp.Compile(expression)
	return err == nil && len(expression) < 1000
}

func rational(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok || !sane(v, 0) {
		return nil, false
	}
	return new(big.Rat).SetString(string(n))
}

// limits are the rules that are numbers.
func (t *tidier) limits(out, rules map[string]any) {
	for _, word := range []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"} {
		if n, ok := rational(rules[word]); ok && n.IsInt() && n.Sign() >= 0 {
			out[word] = json.Number(n.Num().String())
		}
	}
	if n, ok := rational(rules["multipleOf"]); ok && n.Sign() > 0 {
		out["multipleOf"] = rules["multipleOf"]
	}
	for _, side := range []struct {
		word, open string
		tighter    int
	}{{"minimum", "exclusiveMinimum", 1}, {"maximum", "exclusiveMaximum", -1}} {
		n, ok := rational(rules[side.word])
		if ok {
			out[side.word] = rules[side.word]
		}
		if rules[side.open] == true && ok {
			out[side.open] = true
		}
		// A later draft has a number here.
		if m, isNumber := rational(rules[side.open]); isNumber && (!ok || m.Cmp(n) != -side.tighter) {
			out[side.word], out[side.open] = rules[side.open], true
		}
	}
	if rules["uniqueItems"] == true {
		out["uniqueItems"] = true
	}
	if names := texts(rules["required"]); len(names) > 0 {
		out["required"] = names
	}
}

// texts are the strings of a list, each once.
func texts(v any) (out []any) {
	list, _ := v.([]any)
	for _, w := range list {
		if _, ok := w.(string); ok && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// inner are the rules that are schemas themselves.
func (t *tidier) inner(out, rules map[string]any, refs []string, depth int) {
	one := func(of any) any { return t.schema(of, refs, depth+1) }
	for _, word := range []string{"properties", "patternProperties"} {
		all, ok := rules[word].(map[string]any)
		if !ok {
			continue
		}
		kept := map[string]any{}
		for _, name := range sortedKeys(all) {
			if word == "properties" || compiles(name) {
				kept[name] = one(all[name])
			}
		}
		out[word] = kept
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		all, _ := rules[word].([]any)
		var kept []any
		for _, of := range all {
			kept = append(kept, one(of))
		}
		if len(kept) > 0 {
			out[word] = kept
		}
	}
	for _, word := range []string{"additionalProperties", "additionalItems"} {
		switch of := rules[word].(type) {
		case bool:
			out[word] = of
		case map[string]any:
			out[word] = one(of)
		}
	}
	if of, ok := rules["not"]; ok && out["not"] == nil { // else nothing meets it already
		out["not"] = one(of)
	}
	places, more := rules["prefixItems"], "items"
	if places == nil {
		places, more = rules["items"], "additionalItems"
	}
	if list, ok := places.([]any); ok {
		var kept []any
		for _, of := range list {
			kept = append(kept, one(of))
		}
		out["items"] = kept
		if of, ok := rules[more]; ok && len(kept) > 0 {
			out["additionalItems"] = one(of)
		}
		if len(kept) == 0 {
			delete(out, "items")
		}
	} else if of, ok := rules["items"]; ok {
		out["items"] = one(of)
	}
}

// meets says whether a value is as a schema in form says.
func meets(of map[string]any, v any) bool {
	s, err := schema.Parse(of)
	return err == nil && s.Check(v) == nil
}
