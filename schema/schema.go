package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// Schema is a schema that is one.
type Schema struct{ root any }

// Parse takes a schema as JSON has it: maps, lists, strings, booleans, nil, and
// json.Number. The error says in a line what about it is no schema.
func Parse(v any) (*Schema, error) {
	var meta any
	if err := json.Unmarshal([]byte(metaSchema), &meta); err != nil {
		return nil, errors.Trace(err)
	}
	if f := (&checker{root: meta}).check(meta, v, nil); f != nil {
		return nil, errors.New(f.first())
	}
	c := &checker{root: v}
	if err := c.compilable(v, nil); err != nil {
		return nil, errors.Trace(err)
	}
	return &Schema{v}, nil
}

// Check says in a line what is wrong with a value, and where: "at '/size': got string,
// want integer". Of several faults it is the first one, by place.
func (s *Schema) Check(v any) error {
	if f := (&checker{root: s.root}).check(s.root, v, nil); f != nil {
		return errors.New(f.first())
	}
	return nil
}

// fault is what is wrong with a value, or which faults made it so.
type fault struct {
	at     []string
	text   string
	causes []*fault
}

// first is the innermost of the first faults, with its place.
func (f *fault) first() string {
	for len(f.causes) > 0 {
		f = slices.MinFunc(f.causes, func(a, b *fault) int { return slices.Compare(a.at, b.at) })
	}
	if len(f.at) == 0 {
		return f.text
	}
	return fmt.Sprintf("at '%s': %s", pointer(f.at), f.text)
}

// pointer is a place as a JSON pointer.
func pointer(at []string) string {
	var b strings.Builder
	for _, word := range at {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(word))
	}
	return b.String()
}

// checker checks values against the schemas that are in root.
type checker struct {
	root any
	refs []string // that are being followed, and lead no further into the value
}

// check is what a schema has against a value at that place; nil: nothing.
func (c *checker) check(schema, v any, at []string) *fault {
	rules, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	if ref, ok := rules["$ref"].(string); ok {
		return c.follow(ref, v, at)
	}
	if f := general(rules, v, at); f != nil {
		return f
	}
	var faults []*fault
	switch v := v.(type) {
	case map[string]any:
		faults = c.object(rules, v, at)
	case []any:
		faults = c.array(rules, v, at)
	case string:
		faults = text(rules, v, at)
	default:
		if n, ok := number(v); ok {
			faults = numeric(rules, n, at)
		}
	}
	faults = append(faults, c.combined(rules, v, at)...)
	switch len(faults) {
	case 0:
		return nil
	case 1:
		return faults[0]
	}
	return &fault{at: at, causes: faults}
}

// inside is what a schema has against a part of a value.
func (c *checker) inside(schema, v any, at []string, word string) *fault {
	return (&checker{root: c.root}).check(schema, v, append(slices.Clip(at), word))
}

// follow checks by the schema that a reference is to.
func (c *checker) follow(ref string, v any, at []string) *fault {
	if slices.Contains(c.refs, ref) {
		return &fault{at: at, text: fmt.Sprintf("the schema refers to %s in a circle", quote(ref))}
	}
	schema, err := resolve(c.root, ref)
	if err != nil {
		return &fault{at: at, text: err.Error()}
	}
	return (&checker{c.root, append(slices.Clip(c.refs), ref)}).check(schema, v, at)
}

// general are the rules for values of any type: type and enum, after which the others
// have no say, and format.
func general(rules map[string]any, v any, at []string) *fault {
	if want := stringsOf(rules["type"]); len(want) > 0 {
		got := typeOf(v)
		if !slices.Contains(want, got) && !(slices.Contains(want, "integer") && got == "number" && whole(v)) {
			return &fault{at: at, text: fmt.Sprintf("got %s, want %s", got, strings.Join(inOrder(want), " or "))}
		}
	}
	if values, ok := rules["enum"].([]any); ok && !slices.ContainsFunc(values, func(w any) bool { return equal(v, w) }) {
		return &fault{at: at, text: notOneOf(values)}
	}
	name, _ := rules["format"].(string)
	if s, ok := v.(string); ok {
		if valid, known := formats()[name]; known && !valid(s) {
			return &fault{at: at, text: fmt.Sprintf("%s is not valid %s", quote(s), name)}
		}
	}
	return nil
}

// types are those of JSON, in the order in which they are named.
var types = []string{"null", "boolean", "number", "integer", "string", "array", "object"}

func inOrder(names []string) []string {
	return slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return cmp.Compare(slices.Index(types, a), slices.Index(types, b))
	})
}

// typeOf is the type of a value, of which integers have none of their own.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

// number is the value of a number; false: it is none.
func number(v any) (*big.Rat, bool) {
	if typeOf(v) != "number" {
		return nil, false
	}
	return new(big.Rat).SetString(fmt.Sprint(v))
}

func whole(v any) bool {
	n, ok := number(v)
	return ok && n.IsInt()
}

// equal says whether two values are the same one; numbers are by what they are worth.
func equal(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	}
	if n, ok := number(a); ok {
		m, ok := number(b)
		return ok && n.Cmp(m) == 0
	}
	return typeOf(a) == typeOf(b) && a == b
}

func notOneOf(values []any) string {
	var words []string
	for _, v := range values {
		switch v := v.(type) {
		case []any, map[string]any:
			return "'enum' failed"
		case string:
			words = append(words, quote(v))
		default:
			words = append(words, fmt.Sprint(v))
		}
	}
	if len(words) == 1 {
		return "value must be " + words[0]
	}
	return "value must be one of " + strings.Join(words, ", ")
}

func quote(s string) string {
	s = strings.ReplaceAll(fmt.Sprintf("%q", s), `\"`, `"`)
	return "'" + strings.ReplaceAll(s[1:len(s)-1], "'", `\'`) + "'"
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = quote(name)
	}
	return strings.Join(out, ", ")
}

// stringsOf are the strings of a list, or the one that there is instead of a list.
func stringsOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, w := range v {
			if s, ok := w.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// text are the rules for strings.
func text(rules map[string]any, s string, at []string) []*fault {
	faults := limits(rules, at, "Length", len([]rune(s)))
	if pattern, ok := rules["pattern"].(string); ok {
		if re, err := regexp.Compile(pattern); err != nil || !re.MatchString(s) {
			faults = append(faults, &fault{at: at, text: fmt.Sprintf("%s does not match pattern %s", quote(s), quote(pattern))})
		}
	}
	return faults
}

// limits are the rules of how much of something there may be.
func limits(rules map[string]any, at []string, of string, got int) []*fault {
	var faults []*fault
	for _, limit := range []struct {
		name string
		sign int
	}{{"min" + of, -1}, {"max" + of, 1}} {
		want, ok := number(rules[limit.name])
		if ok && new(big.Rat).SetInt64(int64(got)).Cmp(want) == limit.sign {
			faults = append(faults, &fault{at: at, text: fmt.Sprintf("%s: got %d, want %s", limit.name, got, want.RatString())})
		}
	}
	return faults
}

// numeric are the rules for numbers.
func numeric(rules map[string]any, n *big.Rat, at []string) []*fault {
	var faults []*fault
	add := func(name string, want *big.Rat) {
		got, _ := n.Float64()
		w, _ := want.Float64()
		faults = append(faults, &fault{at: at, text: fmt.Sprintf("%s: got %v, want %v", name, got, w)})
	}
	for _, limit := range []struct {
		name, exclusive string
		sign            int
	}{{"minimum", "exclusiveMinimum", -1}, {"maximum", "exclusiveMaximum", 1}} {
		want, ok := number(rules[limit.name])
		if !ok {
			continue
		}
		switch exclusive := rules[limit.exclusive] == true; {
		case exclusive && (n.Cmp(want) == limit.sign || n.Cmp(want) == 0):
			add(limit.exclusive, want)
		case !exclusive && n.Cmp(want) == limit.sign:
			add(limit.name, want)
		}
	}
	if of, ok := number(rules["multipleOf"]); ok && !new(big.Rat).Quo(n, of).IsInt() {
		add("multipleOf", of)
	}
	return faults
}
