package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// schemaKeys are the keys that schemas in the charm's tree have for an endpoint's stub.
func (s Subject) schemaKeys(e Endpoint) (keys []Key) {
	for _, of := range s.schemasFor(e) {
		keys = append(keys, of.keys(e)...)
	}
	return keys
}

// schemasFor are the schemas that say what an endpoint's stub publishes: those of its interface,
// or of its own name, in their newest version, and of those the ones that are surest.
func (s Subject) schemasFor(e Endpoint) []bagSchema {
	for _, name := range []string{e.Interface, e.Name} {
		found := bestOf(s.schemas, e.Role, func(of bagSchema) bool { return slices.Contains(of.names, norm(name)) })
		if len(found) > 0 {
			return found
		}
	}
	alike := 0
	for _, other := range s.stubs() {
		if other.Role == e.Role {
			alike++
		}
	}
	if alike > 1 {
		return nil // it can be of any of them
	}
	return bestOf(s.schemas, e.Role, func(of bagSchema) bool { return of.generic && of.rank == written && of.role != "" })
}

func bestOf(all []bagSchema, role string, such func(bagSchema) bool) (best []bagSchema) {
	better := func(a, b bagSchema) int { // < 0: a is better
		if (a.role == role) != (b.role == role) {
			return map[bool]int{true: -1, false: 1}[a.role == role]
		}
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return b.version - a.version
	}
	for _, of := range all {
		if of.role != "" && of.role != role || !such(of) {
			continue
		}
		if len(best) > 0 && better(of, best[0]) < 0 {
			best = nil
		}
		if len(best) == 0 || better(of, best[0]) == 0 {
			best = append(best, of)
		}
	}
	return best
}

// keys are those of one databag.
func (of bagSchema) keys(e Endpoint) (keys []Key) {
	properties, _ := of.form["properties"].(map[string]any)
	m := &valuer{host: e.address(0), left: maxMade}
	whole, ok := m.make(of.form, "", nil, 0)
	bag, isBag := whole.(map[string]any)
	for _, name := range sortedKeys(properties) {
		rules, _ := properties[name].(map[string]any)
		v := bag[name]
		if !ok || !isBag {
			var made bool
			if v, made = (&valuer{host: e.address(0), left: maxMade}).make(rules, name, nil, 0); !made {
				continue
			}
		}
		if v == nil {
			continue
		}
		k := Key{Name: name, Where: of.where, From: Schemed}
		k.Kind, k.Value = of.kind(e, name, rules, v)
		if _, k.Text = v.(string); k.Text {
			k.JSON = of.quoted
		}
		if value := e.value(k, 0); k.Kind == Secret || publishable(name, value) {
			keys = append(keys, k)
		}
	}
	return keys
}

// kind is of which kind a value is that was made by a schema. One that may as well differ from
// unit to unit is made anew for each, as claims look for such values.
func (of bagSchema) kind(e Endpoint, name string, rules map[string]any, v any) (Kind, string) {
	examples := slices.Concat(listOf(rules["examples"]), listOf(rules["default"]))
	for _, whole := range listOf(of.form["examples"]) {
		bag, _ := whole.(map[string]any)
		examples = append(examples, bag[name])
	}
	exampled := slices.ContainsFunc(examples, func(w any) bool { return same(v, w) })
	text, isText := v.(string)
	if isText && secretURI.MatchString(text) {
		return Secret, ""
	}
	free := func(kind Kind) bool {
		for n := -1; n < 4; n++ {
			var other any = e.value(Key{Name: name, Kind: kind}, n)
			if !isText {
				other = json.Number(fmt.Sprint(other))
			}
			if !meets(rules, other) {
				return false
			}
		}
		return true
	}
	format, _ := rules["format"].(string)
	_, isNumber := v.(json.Number)
	switch telling := confidential(name); {
	case isText && format == "uri" && !exampled && free(URL):
		return URL, ""
	case isText && format == "ipv4" && free(Address):
		return Address, ""
	case isText && format == "" && (telling || !exampled) && free(Word):
		if kind := guess(name); kind != Word && !telling && free(kind) {
			return kind, ""
		}
		return Word, ""
	case isNumber && !exampled && guess(name) == Number && free(Number):
		return Number, ""
	case isText:
		return Given, strings.ReplaceAll(text, e.address(0), addressMark)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return Word, ""
	}
	return Given, strings.ReplaceAll(string(b), e.address(0), addressMark)
}

func sortedOf(bag map[string]string) []string { return slices.Sorted(maps.Keys(bag)) }
