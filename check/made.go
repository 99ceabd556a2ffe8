package check

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/unitd/unitd/schema"
)

// valuer makes values that schemas allow.
type valuer struct {
	// host is the address that is in what has one.
	host string
	left int
}

// maxMade bounds how much is tried for one schema, maxText how long texts and lists are made.
const (
	maxMade = 4000
	maxText = 4096
	maxList = 32
)

// make makes a value of a schema in form: see tidied. name is the key that it is for, as it says
// what is meant. Not ok: none was found.
func (m *valuer) make(of map[string]any, name string, but []any, depth int) (any, bool) {
	rules, err := schema.Parse(of)
	if err != nil || depth > 40 {
		return nil, false
	}
	for v := range m.candidates(of, name, depth) {
		if m.left--; m.left < 0 {
			return nil, false
		}
		if !slices.ContainsFunc(but, func(w any) bool { return same(v, w) }) && rules.Check(v) == nil {
			return v, true
		}
	}
	return nil, false
}

func same(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// candidates are values that a schema may allow, the most telling first.
func (m *valuer) candidates(of map[string]any, name string, depth int) iter.Seq[any] {
	return func(yield func(any) bool) {
		each := func(values iter.Seq[any]) bool {
			for v := range values {
				if m.left < 0 || !yield(v) {
					return false
				}
			}
			return true
		}
		enum, _ := of["enum"].([]any)
		examples, _ := of["examples"].([]any)
		if !each(slices.Values(enum)) || enum != nil || !each(slices.Values(examples)) {
			return
		}
		if d := of["default"]; d != nil && d != "" && !same(d, []any{}) && !same(d, map[string]any{}) && !yield(d) {
			return
		}
		composed := false
		for _, word := range []string{"allOf", "anyOf", "oneOf"} {
			if list, ok := of[word].([]any); ok {
				composed = true
				if !each(m.composed(of, word, list, name, depth)) {
					return
				}
			}
		}
		if composed {
			return
		}
		for _, kind := range kinds(of) {
			if !each(m.typed(of, kind, name, depth)) {
				return
			}
		}
	}
}

// composed are values of a schema together with those that it is made of: with all, or with one.
func (m *valuer) composed(of map[string]any, word string, list []any, name string, depth int) iter.Seq[any] {
	rest := maps.Clone(of)
	delete(rest, word)
	return func(yield func(any) bool) {
		try := func(all ...any) bool {
			joined := rest
			for _, one := range all {
				joined = join(joined, one)
			}
			v, ok := m.make(joined, name, nil, depth+1)
			return !ok || yield(v)
		}
		if word == "allOf" {
			try(list...)
			return
		}
		for _, null := range []bool{false, true} { // null says little
			for _, one := range list {
				if is, _ := one.(map[string]any); (is["type"] == "null") == null && !try(one) {
					return
				}
			}
		}
	}
}

// join is what two schemas say together, as far as values are made by it.
func join(a map[string]any, other any) map[string]any {
	b, _ := other.(map[string]any)
	out := maps.Clone(a)
	for word, of := range b {
		old, both := out[word]
		if !both {
			out[word] = of
			continue
		}
		switch word {
		case "properties":
			all := maps.Clone(old.(map[string]any))
			for name, of := range of.(map[string]any) {
				if before, ok := all[name]; ok {
					of = map[string]any{"allOf": []any{before, of}}
				}
				all[name] = of
			}
			out[word] = all
		case "required":
			out[word] = texts(slices.Concat(old.([]any), of.([]any)))
		case "allOf":
			out[word] = slices.Concat(old.([]any), of.([]any))
		case "items", "additionalProperties": // of other words the first one's count; what is made is looked at in the end
			x, isSchema := old.(map[string]any)
			if y, too := of.(map[string]any); isSchema && too {
				out[word] = map[string]any{"allOf": []any{x, y}}
			}
		case "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems":
			x, _ := rational(old)
			y, _ := rational(of)
			if (y.Cmp(x) > 0) == strings.HasPrefix(word, "min") {
				out[word] = of
			}
		case "enum":
			out[word] = slices.DeleteFunc(slices.Clone(old.([]any)), func(v any) bool {
				return !slices.ContainsFunc(of.([]any), func(w any) bool { return same(v, w) })
			})
		}
	}
	return out
}

// kinds are the types that a value may have, by what a schema says of it.
func kinds(of map[string]any) (all []string) {
	for _, t := range listOf(of["type"]) {
		if name, _ := t.(string); name != "null" {
			all = append(all, name)
		}
	}
	if slices.Contains(listOf(of["type"]), any("null")) {
		all = append(all, "null")
	}
	if len(all) > 0 {
		return all
	}
	for _, hint := range []struct {
		kind  string
		words []string
	}{
		{"object", []string{"properties", "required", "additionalProperties", "patternProperties", "minProperties"}},
		{"array", []string{"items", "minItems", "uniqueItems", "maxItems"}},
		{"integer", []string{"minimum", "maximum", "multipleOf"}},
	} {
		if slices.ContainsFunc(hint.words, func(w string) bool { return of[w] != nil }) {
			all = append(all, hint.kind)
		}
	}
	return append(all, "string", "integer", "boolean", "object", "array", "null")
}

func (m *valuer) typed(of map[string]any, kind, name string, depth int) iter.Seq[any] {
	switch kind {
	case "string":
		return m.strings(of, name)
	case "integer", "number":
		return numbersOf(of, kind, name)
	case "boolean":
		return slices.Values([]any{true, false})
	case "object":
		return m.objects(of, depth)
	case "array":
		return m.arrays(of, name, depth)
	}
	return slices.Values([]any{nil})
}

// count is a limit of a schema, if it has it.
func count(of map[string]any, word string, otherwise int) int {
	if n, ok := of[word].(json.Number); ok {
		if i, err := strconv.Atoi(string(n)); err == nil {
			return i
		}
		return maxText + 1
	}
	return otherwise
}

// strings are texts: by the format, the pattern, the name, the length.
func (m *valuer) strings(of map[string]any, name string) iter.Seq[any] {
	return func(yield func(any) bool) {
		least, most := count(of, "minLength", 0), count(of, "maxLength", maxText)
		if least > maxText {
			return
		}
		for _, text := range m.texts(of, name) {
			if n := len([]rune(text)); n < least {
				text += strings.Repeat("x", least-n)
			} else if n > most {
				text = string([]rune(text)[:most])
			}
			if !yield(text) {
				return
			}
		}
	}
}

func (m *valuer) texts(of map[string]any, name string) (all []string) {
	format, _ := of["format"].(string)
	switch strings.ReplaceAll(format, "_", "-") {
	case "uri", "url", "uri-reference", "iri":
		all = append(all, "http://"+m.host+":8080")
	case "date-time":
		all = append(all, "2026-01-02T03:04:05Z")
	case "date":
		all = append(all, "2026-01-02")
	case "time":
		all = append(all, "03:04:05Z")
	case "email", "idn-email":
		all = append(all, "someone@example.com")
	case "hostname", "idn-hostname":
		all = append(all, "other.example.com")
	case "ipv4", "ipvanyaddress":
		all = append(all, m.host)
	case "ipv6":
		all = append(all, "fd00::77:1")
	case "uuid", "uuid4":
		all = append(all, "7d1f6a2e-3c5b-4e8d-9a10-5b2c7e9f4a31")
	}
	if expression, ok := of["pattern"].(string); ok {
		all = append(all, byPattern(expression)...)
	}
	switch guess(name) {
	case URL:
		all = append(all, "http://"+m.host+":8080")
	case Number:
		all = append(all, "8080")
	case Address:
		all = append(all, m.host)
	case Bool:
		all = append(all, "true")
	}
	word := strings.Trim(name, "-")
	if word == "" {
		word = "some"
	}
	return append(all, word+"-value", "a", "0", "")
}

// numbersOf are numbers, from those that a name suggests to those at the limits.
func numbersOf(of map[string]any, kind, name string) iter.Seq[any] {
	return func(yield func(any) bool) {
		var all []*big.Rat
		if guess(name) == Number {
			all = append(all, big.NewRat(8080, 1))
		}
		low, hasLow := rational(of["minimum"])
		high, hasHigh := rational(of["maximum"])
		step, stepped := rational(of["multipleOf"])
		if !stepped {
			step = big.NewRat(1, 1)
		}
		at := big.NewRat(1, 1)
		switch {
		case hasLow:
			at = low
		case hasHigh:
			at = new(big.Rat).Sub(high, new(big.Rat).Mul(step, big.NewRat(4, 1)))
		}
		// From the first multiple that is no less on.
		n := new(big.Int).Neg(new(big.Int).Div(new(big.Int).Neg(new(big.Rat).Quo(at, step).Num()), new(big.Rat).Quo(at, step).Denom()))
		first := new(big.Rat).Mul(new(big.Rat).SetInt(n), step)
		for i := range int64(8) {
			all = append(all, new(big.Rat).Add(first, new(big.Rat).Mul(step, big.NewRat(i, 1))))
		}
		if hasLow && hasHigh {
			all = append(all, new(big.Rat).Quo(new(big.Rat).Add(low, high), big.NewRat(2, 1)))
		}
		for _, v := range append(all, at, new(big.Rat)) {
			digits, exact := v.FloatPrec()
			if (v.IsInt() || kind == "number" && exact) && digits < 40 && !yield(json.Number(v.FloatString(digits))) {
				return
			}
		}
	}
}

// arrays are lists: with one element or as many as there must be, else empty.
func (m *valuer) arrays(of map[string]any, name string, depth int) iter.Seq[any] {
	return func(yield func(any) bool) {
		places, _ := of["items"].([]any)
		least, most := count(of, "minItems", 0), count(of, "maxItems", maxList)
		if least > maxList {
			return
		}
		list := []any{}
		for i := 0; i < min(max(1, least, len(places)), most); i++ {
			inner, _ := of["items"].(map[string]any)
			if i < len(places) {
				inner, _ = places[i].(map[string]any)
			} else if places != nil {
				inner, _ = of["additionalItems"].(map[string]any)
			}
			var but []any
			if of["uniqueItems"] == true {
				but = list
			}
			v, ok := m.make(inner, fmt.Sprintf("%s-%d", name, i+1), but, depth+1)
			if !ok {
				break
			}
			list = append(list, v)
		}
		if yield(list) {
			yield([]any{})
		}
	}
}

// objects are objects: with all properties that can be made, else with those that must be there.
func (m *valuer) objects(of map[string]any, depth int) iter.Seq[any] {
	return func(yield func(any) bool) {
		properties, _ := of["properties"].(map[string]any)
		required := texts(of["required"])
		all, needed := map[string]any{}, map[string]any{}
		for _, name := range sortedKeys(properties) {
			inner, _ := properties[name].(map[string]any)
			if v, ok := m.make(inner, name, nil, depth+1); ok {
				all[name] = v
			}
		}
		more, _ := of["additionalProperties"].(map[string]any)
		patterns, _ := of["patternProperties"].(map[string]any)
		for _, r := range required {
			name := r.(string)
			if _, ok := all[name]; !ok && properties[name] == nil {
				inner := more
				for _, p := range sortedKeys(patterns) {
					if matches(p, name) {
						inner, _ = patterns[p].(map[string]any)
					}
				}
				if v, ok := m.make(inner, name, nil, depth+1); ok {
					all[name] = v
				}
			}
			if v, ok := all[name]; ok {
				needed[name] = v
			}
		}
		least := count(of, "minProperties", 0)
		if more != nil && len(properties) == 0 {
			least = max(1, least)
		}
		for i := 1; len(all) < min(least, maxList) && i <= 2*maxList; i++ {
			name := "key-" + strconv.Itoa(i)
			if v, ok := m.make(more, name, nil, depth+1); ok {
				all[name] = v
			}
		}
		if yield(all) && yield(needed) {
			yield(map[string]any{})
		}
	}
}

func sortedKeys(of map[string]any) []string { return slices.Sorted(maps.Keys(of)) }
