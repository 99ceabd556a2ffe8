package check

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// modelName is what classes with fields come of.
func modelName(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "model") || strings.HasSuffix(name, "schema") || name == "typeddict" || strings.HasSuffix(name, "databag")
}

func enumName(name string) bool { return strings.HasSuffix(name, "Enum") }

// model is a class as a JSON schema; classes within it are written out.
func (m *pyModule) model(name string, depth int) map[string]any {
	c := m.classes[name]
	if m.left--; c == nil || c.open || m.left < 0 {
		return nothing() // what is within itself has no end
	}
	c.open = true
	defer func() { c.open = false }()
	if m.is(name, enumName) {
		values := []any{}
		for _, member := range c.order {
			if v, ok := m.value(c.consts[member], 0); ok && !strings.HasPrefix(member, "_") {
				values = append(values, v)
			}
		}
		return map[string]any{"enum": values}
	}
	properties, required := map[string]any{}, []any{}
	for _, f := range m.fields(name, map[string]bool{}) {
		key, of, needed := m.field(f, depth)
		properties[key] = of
		if needed {
			required = append(required, key)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// fields are a class's own, and those that it has from others.
func (m *pyModule) fields(name string, seen map[string]bool) (all []pyField) {
	c := m.classes[name]
	if c == nil || seen[name] {
		return nil
	}
	seen[name] = true
	for _, base := range c.bases {
		all = append(all, m.fields(base, seen)...)
	}
	for _, f := range c.fields {
		all = slices.DeleteFunc(all, func(g pyField) bool { return g.name == f.name })
		all = append(all, f)
	}
	return all
}

// field is the key of a field, its schema, and whether it has to be there.
func (m *pyModule) field(f pyField, depth int) (key string, of map[string]any, needed bool) {
	key, of, needed = f.name, m.typed(f.of, depth+1), true
	if _, maybe := of["maybe"]; maybe {
		delete(of, "maybe")
		needed = false
	}
	value, given := f.value, f.isGiven
	if value.kind == pyCall && strings.HasSuffix(value.items[0].text, "Field") {
		call := value
		value, given = pyExpr{}, false
		for _, item := range call.items[1:] {
			switch item.name {
			case "", "default":
				if !item.star {
					value, given = item.pyExpr, item.kind != pyUnknown // "..." says that there is none
				}
			case "default_factory":
				needed = false
			case "alias", "serialization_alias", "validation_alias":
				if alias, ok := m.value(item.pyExpr, 0); ok {
					key = fmt.Sprint(alias)
				}
			default:
				m.rule(of, item)
			}
		}
	}
	if given {
		needed = false
		if v, ok := m.value(value, 0); ok && v != nil {
			of["default"] = v
		}
	}
	return key, of, needed
}

// pyRules are words of Field and of constrained types, and those of JSON schemas.
var pyRules = map[string]string{
	"min_length": "minLength", "max_length": "maxLength", "min_items": "minItems", "max_items": "maxItems", "regex": "pattern", "pattern": "pattern",
	"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum", "multiple_of": "multipleOf", "const": "const",
}

// rule adds what an argument says to a schema.
func (m *pyModule) rule(of map[string]any, item pyItem) {
	v, ok := m.value(item.pyExpr, 0)
	if !ok {
		return
	}
	word, ok := pyRules[item.name]
	switch {
	case item.name == "examples" || item.name == "example":
		list, isList := v.([]any)
		if !isList || item.name == "example" {
			list = []any{v}
		}
		of["examples"] = list
	case !ok || item.name == "const" && v == true:
	case of["type"] == "array" && strings.HasSuffix(word, "Length"):
		of[strings.TrimSuffix(word, "Length")+"Items"] = v
	default:
		of[word] = v
	}
}

// pyTypes are types that have names of their own.
var pyTypes = map[string]map[string]any{
	"str": {"type": "string"}, "SecretStr": {"type": "string"}, "StrictStr": {"type": "string"}, "bytes": {"type": "string"}, "constr": {"type": "string"},
	"int": {"type": "integer"}, "StrictInt": {"type": "integer"}, "conint": {"type": "integer"}, "PositiveInt": {"type": "integer", "minimum": json.Number("1")}, "NonNegativeInt": {"type": "integer", "minimum": json.Number("0")},
	"float": {"type": "number"}, "confloat": {"type": "number"}, "Decimal": {"type": "number"}, "bool": {"type": "boolean"}, "StrictBool": {"type": "boolean"}, "dict": {"type": "object"}, "Dict": {"type": "object"}, "Mapping": {"type": "object"},
	"list": {"type": "array"}, "List": {"type": "array"}, "Sequence": {"type": "array"}, "tuple": {"type": "array"}, "Tuple": {"type": "array"}, "conlist": {"type": "array"},
	"set": {"type": "array", "uniqueItems": true}, "Set": {"type": "array", "uniqueItems": true}, "FrozenSet": {"type": "array", "uniqueItems": true}, "frozenset": {"type": "array", "uniqueItems": true}, "conset": {"type": "array", "uniqueItems": true},
	"UUID": {"type": "string", "format": "uuid"}, "UUID4": {"type": "string", "format": "uuid"}, "datetime": {"type": "string", "format": "date-time"}, "EmailStr": {"type": "string", "format": "email"},
	"IPvAnyAddress": {"type": "string", "format": "ipv4"}, "IPv4Address": {"type": "string", "format": "ipv4"}, "IPv6Address": {"type": "string", "format": "ipv6"}, "IPvAnyNetwork": {"type": "string", "examples": []any{"10.77.0.0/16"}},
}

// typed is an annotation as a JSON schema; one with "maybe" may be left out.
func (m *pyModule) typed(e pyExpr, depth int) map[string]any {
	if m.left--; depth > 12 || m.left < 0 {
		return map[string]any{}
	}
	name := e.text[strings.LastIndexByte(e.text, '.')+1:]
	switch e.kind {
	case pyName:
		if known := pyTypes[name]; known != nil {
			return cloneMap(known)
		}
		if m.classes[e.text] != nil {
			return m.model(e.text, depth+1)
		}
		if of, ok := m.consts[e.text]; ok {
			return m.typed(of, depth+1)
		}
		if strings.HasSuffix(name, "Url") || strings.HasSuffix(name, "Dsn") {
			return map[string]any{"type": "string", "format": "uri"}
		}
	case pyLiteral:
		if text, ok := e.value.(string); ok { // the name of a class that comes later
			if lines := pyLines(text); len(lines) == 1 {
				return m.typed((&pyReader{tokens: lines[0].tokens}).expr(), depth+1)
			}
		}
	case pyUnion:
		return m.union(e.items, depth)
	case pyCall:
		of := m.generic(e, depth)
		for _, item := range e.items[1:] {
			m.rule(of, item)
		}
		return of
	case pyIndex:
		return m.generic(e, depth)
	}
	return map[string]any{}
}

// union is the first of several types that isn't None.
func (m *pyModule) union(items []pyItem, depth int) map[string]any {
	maybe := false
	var of map[string]any
	for _, item := range items {
		if item.kind == pyLiteral && item.value == nil {
			maybe = true
		} else if of == nil {
			of = m.typed(item.pyExpr, depth+1)
		}
	}
	if of == nil {
		of = map[string]any{}
	}
	if maybe {
		of["maybe"] = true
	}
	return of
}

// generic is a type of other types, as List[str] and conlist(str) are.
func (m *pyModule) generic(e pyExpr, depth int) map[string]any {
	head, rest := e.items[0].pyExpr, e.items[1:]
	if len(rest) == 1 && rest[0].kind == pyList && e.kind == pyIndex { // as Dict[(str, int)]
		rest = rest[0].items
	}
	name := head.text[strings.LastIndexByte(head.text, '.')+1:]
	inner := func(i int) map[string]any {
		if i < len(rest) && rest[i].name == "" {
			return m.typed(rest[i].pyExpr, depth+1)
		}
		return map[string]any{}
	}
	switch name {
	case "Optional":
		of := inner(0)
		of["maybe"] = true
		return of
	case "Union":
		return m.union(rest, depth)
	case "Literal":
		values, _ := m.value(pyExpr{kind: pyList, items: rest}, 0)
		return map[string]any{"enum": values}
	case "Annotated":
		of := inner(0)
		for _, item := range rest[min(1, len(rest)):] {
			if item.kind == pyCall {
				for _, arg := range item.items[1:] {
					m.rule(of, arg)
				}
			}
		}
		return of
	case "Json", "Required", "NotRequired", "ClassVar", "Final":
		return inner(0)
	}
	of := m.typed(head, depth+1)
	switch of["type"] {
	case "array":
		of["items"] = inner(0)
	case "object":
		if len(rest) > 1 {
			of["additionalProperties"] = inner(1)
		}
	}
	return of
}

func cloneMap(of map[string]any) map[string]any {
	out := make(map[string]any, len(of))
	for k, v := range of {
		out[k] = v
	}
	return out
}

// pyBag is a schema of databags in a file of Python, under the name that it has there.
type pyBag struct {
	name   string
	schema map[string]any
	quoted bool
	// whole: it has the databags of a unit and of an application as its properties.
	whole bool
}

// bags are the schemas of databags that a file has: JSON schemas as literals, and models.
func (m *pyModule) bags(text string) (all []pyBag) {
	for _, name := range m.constOrder {
		if !strings.Contains(strings.ToUpper(name), "SCHEMA") {
			continue
		}
		v, _ := m.value(m.consts[name], 0)
		if of, ok := v.(map[string]any); ok && of["properties"] != nil {
			all = append(all, pyBag{name: name, schema: of})
		}
	}
	inside := m.inside()
	for _, name := range m.classOrder {
		fields := m.fields(name, map[string]bool{})
		if len(fields) == 0 || !m.is(name, modelName) || inside[name] {
			continue
		}
		bag := pyBag{name: name, schema: m.model(name, 0), quoted: m.quotes(name, text)}
		bag.whole = !slices.ContainsFunc(fields, func(f pyField) bool { return f.name != "unit" && f.name != "app" })
		if under, ok := m.nestUnder(name); ok {
			bag.schema = map[string]any{"type": "object", "properties": map[string]any{under: bag.schema}, "required": []any{under}}
		}
		if bag.whole {
			for _, f := range fields {
				bag.quoted = bag.quoted || m.quotes(f.of.text, text)
			}
		}
		all = append(all, bag)
	}
	return all
}

// inside are the classes that a field of another class has. Those of a schema of both databags
// aren't only there.
func (m *pyModule) inside() map[string]bool {
	inside := map[string]bool{}
	var note func(e pyExpr, depth int)
	note = func(e pyExpr, depth int) {
		inside[e.text] = true
		for _, item := range e.items {
			if depth < pyDepth {
				note(item.pyExpr, depth+1)
			}
		}
		if text, ok := e.value.(string); ok {
			inside[text] = true
		}
	}
	for _, c := range m.classes {
		for _, f := range c.fields {
			note(f.of, 0)
		}
	}
	for _, c := range m.consts { // as those of a union that has a name
		if c.kind == pyIndex || c.kind == pyUnion {
			note(c, 0)
		}
	}
	return inside
}

// quotes says whether each value of a databag is JSON by itself, texts too: that is how
// DatabagModel of several libraries has them, and Relation.load of Ops.
func (m *pyModule) quotes(class, text string) bool {
	if class == "" {
		return false
	}
	if m.is(class, func(name string) bool { return strings.EqualFold(strings.TrimLeft(name, "_"), "DatabagModel") }) {
		return true
	}
	loads, err := regexp.Compile(`\.load\(\s*` + regexp.QuoteMeta(class) + `\b`)
	return err == nil && loads.MatchString(text)
}

// nestUnder is the one key under which a DatabagModel has all.
func (m *pyModule) nestUnder(class string) (string, bool) {
	c := m.classes[class]
	e := c.consts["_NEST_UNDER"]
	if config := c.consts["model_config"]; config.kind == pyCall || config.kind == pyDict {
		for _, item := range config.items {
			if item.name == "_NEST_UNDER" || item.key != nil && item.key.value == "_NEST_UNDER" {
				e = item.pyExpr
			}
		}
	}
	v, _ := m.value(e, 0)
	under, ok := v.(string)
	return under, ok && under != ""
}
