package waitfor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Object is a thing, with its fields: text, numbers (float64), bool, [Entries] and [Set].
type Object map[string]any

// Entries are text, numbers and bool by name.
type Entries map[string]any

// Set are things by name.
type Set map[string]Object

// Sight is what a query has found.
type Sight struct {
	Holds bool
	// Seen are the values that decided it: of fields of the thing itself under
	// "properties", of others under the name of their set and their own.
	Seen map[string]any
	// Printed are the values that print was given, as text.
	Printed []string
}

// Look says whether the query holds for a thing of its schema. What the thing hasn't got,
// as an entry that nobody has made, isn't equal to anything. The error is an *Error: of
// text that should be a number, or of values that can't be compared.
func (q *Query) Look(at Object) (Sight, error) {
	l := looking{query: q.text, thing: at, sight: &Sight{Seen: map[string]any{}}}
	v, err := l.value(q.root)
	if err != nil {
		return Sight{}, err
	}
	l.sight.Holds, _ = v.(bool)
	return *l.sight, nil
}

// place is a thing, a set or entries, with the way to it from the thing that the query
// is about.
type place struct {
	what any
	way  []string
}

type looking struct {
	query string
	thing Object
	named map[string]place // the parameters of lambdas
	sight *Sight
}

func (l looking) wrong(n *node, format string, args ...any) error {
	return &Error{l.query, n.at, fmt.Sprintf(format, args...)}
}

// value is a simple value, a place, or nil for what there isn't.
func (l looking) value(n *node) (any, error) {
	switch n.form {
	case literal:
		return n.value, nil
	case variable:
		if p, ok := l.named[n.word]; ok {
			return p, nil
		}
		return l.enter(place{what: l.thing}, n.word), nil
	case field:
		of, err := l.value(n.parts[0])
		p, _ := of.(place)
		return l.enter(p, n.word), err
	case index:
		of, err := l.value(n.parts[0])
		if err != nil {
			return nil, err
		}
		by, err := l.value(n.parts[1])
		p, _ := of.(place)
		key, _ := by.(string)
		return l.enter(p, key), err
	case call:
		return l.call(n)
	}
	return l.binary(n)
}

// enter is what has a name in a place; a simple value has been seen then.
func (l looking) enter(p place, name string) any {
	var v any
	var ok bool
	switch of := p.what.(type) {
	case Object:
		v, ok = of[name]
	case Entries:
		v, ok = of[name]
	case Set:
		v, ok = of[name]
	}
	way := append(slices.Clone(p.way), name)
	switch {
	case !ok:
		return nil
	case sortOf(v) == unknown:
		return place{v, way}
	}
	l.see(way, v)
	return v
}

// see notes a value that was looked at.
func (l looking) see(way []string, v any) {
	at := l.sight.Seen
	if _, isSet := l.thing[way[0]].(Set); !isSet {
		way = append([]string{"properties"}, way...)
	}
	for _, name := range way[:len(way)-1] {
		below, ok := at[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			at[name] = below
		}
		at = below
	}
	if f, ok := v.(float64); ok && f == float64(int64(f)) {
		v = int64(f)
	}
	at[way[len(way)-1]] = v
}

func (l looking) binary(n *node) (any, error) {
	left, err := l.value(n.parts[0])
	if err != nil {
		return nil, err
	}
	if n.word == "&&" || n.word == "||" {
		if holds, _ := left.(bool); holds == (n.word == "||") {
			return holds, nil
		}
		right, err := l.value(n.parts[1])
		holds, _ := right.(bool)
		return holds, err
	}
	right, err := l.value(n.parts[1])
	if err != nil {
		return nil, err
	}
	return l.compare(n, left, right)
}

func (l looking) compare(n *node, left, right any) (any, error) {
	if sortOf(left) == unknown || sortOf(right) == unknown { // what there isn't
		return n.word == "!=" && sortOf(left) != sortOf(right), nil
	}
	switch n.word {
	case "==":
		return left == right, nil
	case "!=":
		return left != right, nil
	}
	var c int
	a, isText := left.(string)
	b, bothText := right.(string)
	x, isNumber := left.(float64)
	y, bothNumbers := right.(float64)
	switch {
	case isText && bothText:
		c = cmp.Compare(a, b)
	case isNumber && bothNumbers:
		c = cmp.Compare(x, y)
	default:
		return nil, l.wrong(n, "%v can't be compared with %v", left, right)
	}
	return map[string]bool{"<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0}[n.word], nil
}

func (l looking) call(n *node) (any, error) {
	if n.word == "forEach" {
		return l.forEach(n)
	}
	args := make([]any, len(n.parts))
	for i, part := range n.parts {
		v, err := l.value(part)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	switch n.word {
	case "len":
		return size(args[0]), nil
	case "print":
		l.sight.Printed = append(l.sight.Printed, fmt.Sprint(args[0]))
		return true, nil
	case "int":
		return l.number(n, args[0])
	}
	s, isText := args[0].(string)
	part, bothText := args[1].(string)
	if !isText || !bothText {
		return false, nil
	}
	if n.word == "startsWith" {
		return strings.HasPrefix(s, part), nil
	}
	return strings.HasSuffix(s, part), nil
}

// forEach says whether something holds for each of a set that isn't empty.
func (l looking) forEach(n *node) (any, error) {
	of, err := l.value(n.parts[0])
	if err != nil {
		return nil, err
	}
	p, _ := of.(place)
	all, _ := p.what.(Set)
	holds := len(all) > 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		inner := l
		inner.named = maps.Clone(l.named)
		if inner.named == nil {
			inner.named = map[string]place{}
		}
		inner.named[n.parts[1].word] = place{all[name], append(slices.Clone(p.way), name)}
		v, err := inner.value(n.parts[1].parts[0])
		if err != nil {
			return nil, err
		}
		each, _ := v.(bool)
		holds = holds && each
	}
	return holds, nil
}

func size(v any) float64 {
	switch v := v.(type) {
	case string:
		return float64(utf8.RuneCountInString(v))
	case place:
		switch of := v.what.(type) {
		case Set:
			return float64(len(of))
		case Entries:
			return float64(len(of))
		}
	}
	return 0
}

func (l looking) number(n *node, v any) (any, error) {
	switch v := v.(type) {
	case float64:
		return float64(int64(v)), nil
	case string:
		i, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil {
			return nil, l.wrong(n.parts[0], "%q is no whole number", v)
		}
		return float64(i), nil
	}
	return nil, nil
}
