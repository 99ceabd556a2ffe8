package waitfor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Schema says which fields the things have that a query is about.
type Schema struct {
	// What they are called, as "an application".
	What   string
	fields map[string]typ
}

// types are the fields, in a map of its own.
func (s Schema) types() map[string]typ { return maps.Clone(s.fields) }

// sort is that of a value.
type sort string

const (
	words   sort = "text"
	count   sort = "a number"
	truth   sort = "true or false"
	unknown sort = "a value"    // of an entry, whose sort only the value tells
	entries sort = "entries"    // by name, with an index
	thing   sort = "a thing"    // with fields
	things  sort = "a set"      // of things, by name
	given   sort = "a function" // a lambda
)

// typ is what can be said of a value before there is one.
type typ struct {
	is sort
	of *Schema // of a thing, or of each of a set
}

type checker struct {
	query string
	// names are the variables that there are.
	names map[string]typ
}

func (c checker) wrong(n *node, format string, args ...any) error {
	return &Error{c.query, n.at, fmt.Sprintf(format, args...)}
}

func (c checker) check(n *node) (typ, error) {
	switch n.form {
	case literal:
		return typ{is: sortOf(n.value)}, nil
	case variable:
		return c.variable(n)
	case field:
		return c.field(n)
	case index:
		return c.index(n)
	case call:
		return c.call(n)
	case lambda:
		return typ{}, c.wrong(n, "a function %q belongs in forEach", n.word+" => …")
	}
	return c.binary(n)
}

func (c checker) variable(n *node) (typ, error) {
	t, ok := c.names[n.word]
	if !ok {
		return t, c.wrong(n, "there is no %q: there are %s", n.word, list(c.names))
	}
	return t, nil
}

func (c checker) field(n *node) (typ, error) {
	of, err := c.check(n.parts[0])
	if err != nil {
		return of, err
	}
	if of.is != thing {
		return of, c.wrong(n, "%s has no fields", of.is)
	}
	t, ok := of.of.fields[n.word]
	if !ok {
		return t, c.wrong(n, "%s has no %q: it has %s", of.of.What, n.word, list(of.of.fields))
	}
	return t, nil
}

func list(of map[string]typ) string {
	return strings.Join(slices.Sorted(maps.Keys(of)), ", ")
}

func (c checker) index(n *node) (typ, error) {
	of, err := c.check(n.parts[0])
	if err != nil {
		return of, err
	}
	by, err := c.check(n.parts[1])
	switch {
	case err != nil:
		return by, err
	case of.is != entries && of.is != things:
		return of, c.wrong(n, "%s has no entries", of.is)
	case by.is != words && by.is != unknown:
		return by, c.wrong(n.parts[1], "entries are named by text, and this is %s", by.is)
	case of.is == things:
		return typ{thing, of.of}, nil
	}
	return typ{is: unknown}, nil
}

func (c checker) binary(n *node) (typ, error) {
	left, err := c.check(n.parts[0])
	if err != nil {
		return left, err
	}
	right, err := c.check(n.parts[1])
	if err != nil {
		return right, err
	}
	answer := typ{is: truth}
	if n.word == "&&" || n.word == "||" {
		for i, t := range []typ{left, right} {
			if t.is != truth && t.is != unknown {
				return t, c.wrong(n.parts[i], "%q wants what is true or false on both sides, and this is %s", n.word, t.is)
			}
		}
		return answer, nil
	}
	for i, t := range []typ{left, right} {
		if !t.simple() {
			return t, c.wrong(n.parts[i], "%s can't be compared", t.is)
		}
	}
	if left.is != right.is && left.is != unknown && right.is != unknown {
		return answer, c.wrong(n, "%s can't be compared with %s", left.is, right.is)
	}
	if (left.is == truth || right.is == truth) && n.word != "==" && n.word != "!=" {
		return answer, c.wrong(n, "what is true or false is compared by == and != alone")
	}
	return answer, nil
}

func (t typ) simple() bool { return slices.Contains([]sort{words, count, truth, unknown}, t.is) }

// functions are those that there are, with what they take and give.
var functions = map[string]struct {
	takes []sort
	gives sort
}{
	"len":        {[]sort{things}, count}, // and text, and entries
	"forEach":    {[]sort{things, given}, truth},
	"startsWith": {[]sort{words, words}, truth},
	"endsWith":   {[]sort{words, words}, truth},
	"int":        {[]sort{words}, count},
	"print":      {[]sort{unknown}, truth},
}

func (c checker) call(n *node) (typ, error) {
	f, ok := functions[n.word]
	switch {
	case !ok:
		return typ{}, c.wrong(n, "there is no function %q: there are %s", n.word, strings.Join(slices.Sorted(maps.Keys(functions)), ", "))
	case len(n.parts) != len(f.takes):
		return typ{}, c.wrong(n, "%s wants %d in its parentheses, not %d", n.word, len(f.takes), len(n.parts))
	}
	if n.word == "forEach" {
		return c.forEach(n)
	}
	for i, part := range n.parts {
		t, err := c.check(part)
		if err != nil {
			return t, err
		}
		fits := t.is == f.takes[i] || t.is == unknown
		switch n.word {
		case "len":
			fits = fits || t.is == words || t.is == entries
		case "print":
			fits = t.simple()
		case "int":
			fits = fits || t.is == count
		}
		if !fits {
			return t, c.wrong(part, "%s can't have %s there", n.word, t.is)
		}
	}
	return typ{is: f.gives}, nil
}

func (c checker) forEach(n *node) (typ, error) {
	of, err := c.check(n.parts[0])
	body := n.parts[1]
	switch {
	case err != nil:
		return of, err
	case of.is != things:
		return of, c.wrong(n.parts[0], "forEach goes through a set, and this is %s", of.is)
	case body.form != lambda:
		return of, c.wrong(body, `forEach wants a function, as "x => x.life == \"alive\""`)
	}
	inner := checker{c.query, maps.Clone(c.names)}
	inner.names[body.word] = typ{thing, of.of}
	t, err := inner.check(body.parts[0])
	if err == nil && t.is != truth && t.is != unknown {
		err = inner.wrong(body.parts[0], "forEach asks what is true or false, and this is %s", t.is)
	}
	return typ{is: truth}, err
}

// sortOf is the sort of a simple value.
func sortOf(v any) sort {
	switch v.(type) {
	case string:
		return words
	case float64:
		return count
	case bool:
		return truth
	}
	return unknown
}
