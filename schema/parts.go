package schema

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// object are the rules for objects.
func (c *checker) object(rules, v map[string]any, at []string) []*fault {
	faults := limits(rules, at, "Properties", len(v))
	if missing := missing(v, rules["required"]); len(missing) > 0 {
		text := "missing property " + quoted(missing)
		if len(missing) > 1 {
			text = "missing properties " + quoted(missing)
		}
		faults = append(faults, &fault{at: at, text: text})
	}
	faults = append(faults, c.dependencies(rules, v, at)...)
	properties, _ := rules["properties"].(map[string]any)
	patterns, _ := rules["patternProperties"].(map[string]any)
	var more []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		known := false
		if schema, ok := properties[name]; ok {
			known = true
			faults = add(faults, c.inside(schema, v[name], at, name))
		}
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			if re, err := regexp.Compile(pattern); err == nil && re.MatchString(name) {
				known = true
				faults = add(faults, c.inside(patterns[pattern], v[name], at, name))
			}
		}
		switch additional := rules["additionalProperties"].(type) {
		case bool:
			if !known && !additional {
				more = append(more, name)
			}
		case map[string]any:
			if !known {
				faults = add(faults, c.inside(additional, v[name], at, name))
			}
		}
	}
	if len(more) > 0 {
		faults = append(faults, &fault{at: at, text: fmt.Sprintf("additional properties %s not allowed", quoted(more))})
	}
	return faults
}

// missing are those of the names that an object doesn't have.
func missing(v map[string]any, names any) []string {
	return slices.DeleteFunc(stringsOf(names), func(name string) bool { _, ok := v[name]; return ok })
}

// dependencies are what an object must be, or have, as it has certain properties.
func (c *checker) dependencies(rules, v map[string]any, at []string) []*fault {
	var faults []*fault
	all, _ := rules["dependencies"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, ok := v[name]; !ok {
			continue
		}
		if schema, ok := all[name].(map[string]any); ok {
			faults = add(faults, c.check(schema, v, at))
		} else if missing := missing(v, all[name]); len(missing) > 0 {
			faults = append(faults, &fault{at: at, text: fmt.Sprintf("properties %s required, if %s exists", quoted(missing), quote(name))})
		}
	}
	return faults
}

// array are the rules for lists.
func (c *checker) array(rules map[string]any, v []any, at []string) []*fault {
	faults := limits(rules, at, "Items", len(v))
	if rules["uniqueItems"] == true {
		if i, j := twins(v); j > 0 {
			faults = append(faults, &fault{at: at, text: fmt.Sprintf("items at %d and %d are equal", i, j)})
		}
	}
	known := 0
	switch items := rules["items"].(type) {
	case map[string]any:
		for i, item := range v {
			faults = add(faults, c.inside(items, item, at, strconv.Itoa(i)))
		}
		return faults
	case nil:
		return faults
	case []any:
		known = min(len(v), len(items))
		for i, item := range v[:known] {
			faults = add(faults, c.inside(items[i], item, at, strconv.Itoa(i)))
		}
	}
	switch additional := rules["additionalItems"].(type) {
	case bool:
		if more := len(v) - known; !additional && more > 0 {
			faults = append(faults, &fault{at: at, text: fmt.Sprintf("last %d additionalItem(s) not allowed", more)})
		}
	case map[string]any:
		for i, item := range v[known:] {
			faults = add(faults, c.inside(additional, item, at, strconv.Itoa(known+i)))
		}
	}
	return faults
}

// twins are the places of two items that are equal; zeros: there are none.
func twins(v []any) (int, int) {
	for j := range v {
		for i := range j {
			if equal(v[i], v[j]) {
				return i, j
			}
		}
	}
	return 0, 0
}

// combined are the rules that are made of other schemas.
func (c *checker) combined(rules map[string]any, v any, at []string) []*fault {
	var faults []*fault
	if not, ok := rules["not"]; ok && c.check(not, v, at) == nil {
		faults = append(faults, &fault{at: at, text: "'not' failed"})
	}
	if all, ok := rules["allOf"].([]any); ok {
		if causes, _ := c.each(all, v, at); len(causes) > 0 {
			faults = append(faults, &fault{at, "'allOf' failed", causes})
		}
	}
	if some, ok := rules["anyOf"].([]any); ok {
		if causes, matched := c.each(some, v, at); len(matched) == 0 {
			faults = append(faults, &fault{at, "'anyOf' failed", causes})
		}
	}
	if one, ok := rules["oneOf"].([]any); ok {
		switch causes, matched := c.each(one, v, at); {
		case len(matched) == 0:
			faults = append(faults, &fault{at, "'oneOf' failed, none matched", causes})
		case len(matched) > 1:
			faults = append(faults, &fault{at: at, text: fmt.Sprintf("'oneOf' failed, subschemas %d, %d matched", matched[0], matched[1])})
		}
	}
	return faults
}

// each are the faults by several schemas, and the places of those that have none.
func (c *checker) each(schemas []any, v any, at []string) (faults []*fault, matched []int) {
	for i, schema := range schemas {
		if f := c.check(schema, v, at); f != nil {
			faults = append(faults, f)
		} else {
			matched = append(matched, i)
		}
	}
	return faults, matched
}

func add(faults []*fault, f *fault) []*fault {
	if f == nil {
		return faults
	}
	return append(faults, f)
}
