package waitfor

import (
	"fmt"
	"strconv"
	"strings"
)

// Query is one that was read, and found to be right for the things that it is about.
type Query struct {
	text string
	root *node
}

// String is the query as it was written.
func (q *Query) String() string { return q.text }

// node is a part of a query.
type node struct {
	at   int
	form form
	// word is the sign, the name of a variable, a field or a function, or the parameter
	// of a lambda.
	word  string
	value any // of a literal
	parts []*node
}

type form int

const (
	literal  form = iota
	variable      // a field of the thing, or a lambda's parameter
	field         // parts[0].word
	index         // parts[0][parts[1]]
	call          // word(parts...)
	lambda        // word => parts[0]
	binary        // parts[0] word parts[1]
)

// Parse reads a query about things of a schema. The error is an *Error.
func Parse(query string, about Schema) (*Query, error) {
	all, err := tokens(query)
	if err != nil {
		return nil, err
	}
	p := &parser{query: query, rest: all}
	root, err := p.either(0)
	if err != nil {
		return nil, err
	}
	if p.rest[0].kind != end {
		return nil, p.wrong(`expected "&&", "||" or the end`)
	}
	c := checker{query: query, names: about.types()}
	is, err := c.check(root)
	if err != nil {
		return nil, err
	}
	if is.is != truth && is.is != unknown {
		return nil, &Error{query, root.at, fmt.Sprintf("a query is true or false, and this is %s", is.is)}
	}
	return &Query{query, root}, nil
}

// maxDepth is how deep parts of a query may lie within each other.
const maxDepth = 50

type parser struct {
	query string
	rest  []token // the last is the end
}

func (p *parser) wrong(what string) error { return &Error{p.query, p.rest[0].at, what} }

func (p *parser) take() token {
	t := p.rest[0]
	if t.kind != end {
		p.rest = p.rest[1:]
	}
	return t
}

// is says whether the next token is one of those signs.
func (p *parser) is(signs ...string) bool {
	for _, s := range signs {
		if p.rest[0].kind == sign && p.rest[0].word == s {
			return true
		}
	}
	return false
}

func (p *parser) expect(s string) error {
	if !p.is(s) {
		return p.wrong(fmt.Sprintf("expected %q", s))
	}
	p.take()
	return nil
}

// either reads parts with "||" between.
func (p *parser) either(depth int) (*node, error) {
	return p.chain(depth, []string{"||"}, func() (*node, error) {
		return p.chain(depth, []string{"&&"}, func() (*node, error) { return p.comparison(depth) })
	})
}

// chain reads parts with one of those signs between, the first ones first.
func (p *parser) chain(depth int, signs []string, part func() (*node, error)) (*node, error) {
	if depth > maxDepth {
		return nil, p.wrong("parts of the query lie too deep within each other")
	}
	left, err := part()
	for err == nil && p.is(signs...) {
		t := p.take()
		var right *node
		right, err = part()
		left = &node{at: t.at, form: binary, word: t.word, parts: []*node{left, right}}
	}
	return left, err
}

func (p *parser) comparison(depth int) (*node, error) {
	left, err := p.operand(depth)
	if err != nil || !p.is("==", "!=", "<", "<=", ">", ">=") {
		return left, err
	}
	t := p.take()
	right, err := p.operand(depth)
	return &node{at: t.at, form: binary, word: t.word, parts: []*node{left, right}}, err
}

// operand reads a value with its fields and indexes.
func (p *parser) operand(depth int) (*node, error) {
	n, err := p.value(depth)
	for err == nil {
		switch {
		case p.is("."):
			p.take()
			if p.rest[0].kind != name {
				return nil, p.wrong("expected the name of a field")
			}
			t := p.take()
			n = &node{at: t.at, form: field, word: t.word, parts: []*node{n}}
		case p.is("["):
			t := p.take()
			var key *node
			if key, err = p.either(depth + 1); err == nil {
				err = p.expect("]")
			}
			n = &node{at: t.at, form: index, parts: []*node{n, key}}
		default:
			return n, nil
		}
	}
	return nil, err
}

func (p *parser) value(depth int) (*node, error) {
	t := p.rest[0]
	switch {
	case t.kind == text:
		p.take()
		return &node{at: t.at, form: literal, value: t.word}, nil
	case t.kind == number:
		p.take()
		f, _ := strconv.ParseFloat(t.word, 64)
		return &node{at: t.at, form: literal, value: f}, nil
	case t.kind == name:
		p.take()
		return p.named(t, depth)
	case p.is("("):
		p.take()
		n, err := p.either(depth + 1)
		if err != nil {
			return nil, err
		}
		return n, p.expect(")")
	}
	return nil, p.wrong("expected a value: a field, text in quotes, a number, true or false")
}

// named reads what begins with a name.
func (p *parser) named(t token, depth int) (*node, error) {
	switch {
	case strings.EqualFold(t.word, "true"), strings.EqualFold(t.word, "false"):
		return &node{at: t.at, form: literal, value: strings.EqualFold(t.word, "true")}, nil
	case p.is("=>"):
		p.take()
		body, err := p.either(depth + 1)
		return &node{at: t.at, form: lambda, word: t.word, parts: []*node{body}}, err
	case !p.is("("):
		return &node{at: t.at, form: variable, word: t.word}, nil
	}
	p.take()
	n := &node{at: t.at, form: call, word: t.word}
	for !p.is(")") {
		if len(n.parts) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		part, err := p.either(depth + 1)
		if err != nil {
			return nil, err
		}
		n.parts = append(n.parts, part)
	}
	return n, p.expect(")")
}
