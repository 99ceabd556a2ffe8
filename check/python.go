package check

import (
	"strconv"
	"strings"
)

// pyToken is a token of Python. kind is 'n' for a name, 's' for a string, whose text is what it
// stands for, '0' for a number, 'o' for an operator, and 'x' for what has a value only when it
// runs, as an f-string has.
type pyToken struct {
	kind byte
	text string
}

// pyLine is a logical line: it goes on within brackets.
type pyLine struct {
	indent int
	tokens []pyToken
}

// pyScan reads Python as text; nothing of it is ever run, as it is somebody else's.
type pyScan struct {
	text  string
	at    int
	depth int // of brackets
	line  pyLine
	lines []pyLine
}

// pyLines are the logical lines of a text. It takes any text, and makes of it what it can.
func pyLines(text string) []pyLine {
	s := &pyScan{text: text}
	s.indent()
	for s.at < len(s.text) {
		s.next()
	}
	s.end()
	return s.lines
}

func (s *pyScan) end() {
	if len(s.line.tokens) > 0 {
		s.lines = append(s.lines, s.line)
	}
	s.line = pyLine{}
}

func (s *pyScan) indent() {
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case ' ':
			s.line.indent++
		case '\t':
			s.line.indent += 8
		default:
			return
		}
	}
}

func (s *pyScan) add(kind byte, text string) {
	s.line.tokens = append(s.line.tokens, pyToken{kind, text})
}

// ahead is the length of the longest beginning of what is left whose bytes are all such.
func (s *pyScan) ahead(such func(c byte) bool) int {
	n := 0
	for s.at+n < len(s.text) && such(s.text[s.at+n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameByte(c byte) bool {
	return c == '_' || c >= 0x80 || isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// next reads one token, or what is between tokens.
func (s *pyScan) next() {
	switch c := s.text[s.at]; {
	case c == '\n':
		s.at++
		if s.depth == 0 {
			s.end()
			s.indent()
		}
	case c == '#':
		s.at += s.ahead(func(c byte) bool { return c != '\n' })
	case c == '\\' && strings.HasPrefix(s.text[s.at+1:], "\n"):
		s.at += 2
	case c == '"' || c == '\'':
		s.str("")
	case isDigit(c):
		n := s.ahead(func(c byte) bool { return c == '.' || isNameByte(c) })
		s.add('0', s.text[s.at:s.at+n])
		s.at += n
	case isNameByte(c):
		name := s.text[s.at : s.at+s.ahead(isNameByte)]
		s.at += len(name)
		if s.at < len(s.text) && (s.text[s.at] == '"' || s.text[s.at] == '\'') && len(name) <= 2 && strings.Trim(name, "rRbBuUfF") == "" {
			s.str(strings.ToLower(name))
			return
		}
		s.add('n', name)
	case c <= ' ':
		s.at++
	default:
		s.operator()
	}
}

func (s *pyScan) operator() {
	op := s.text[s.at : s.at+1]
	for _, long := range []string{"...", "**", "->", ":=", "==", "!=", "<=", ">=", "//"} {
		if strings.HasPrefix(s.text[s.at:], long) {
			op = long
			break
		}
	}
	s.at += len(op)
	switch op {
	case "(", "[", "{":
		s.depth++
	case ")", "]", "}":
		s.depth = max(0, s.depth-1)
	}
	s.add('o', op)
}

// str reads a string from its first quote on.
func (s *pyScan) str(prefix string) {
	quote := s.text[s.at : s.at+1]
	if strings.HasPrefix(s.text[s.at:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	s.at += len(quote)
	raw := strings.Contains(prefix, "r")
	var out strings.Builder
	for s.at < len(s.text) && !strings.HasPrefix(s.text[s.at:], quote) {
		c := s.text[s.at]
		if c == '\n' && len(quote) == 1 {
			break // it has no end
		}
		if c == '\\' && s.at+1 < len(s.text) {
			s.escape(&out, raw)
			continue
		}
		out.WriteByte(c)
		s.at++
	}
	s.at = min(len(s.text), s.at+len(quote))
	kind := byte('s')
	if strings.Contains(prefix, "f") {
		kind = 'x'
	}
	s.add(kind, out.String())
}

// escape reads what a backslash begins.
func (s *pyScan) escape(out *strings.Builder, raw bool) {
	rest := s.text[s.at:]
	if raw {
		out.WriteString(rest[:2])
		s.at += 2
		return
	}
	if rest[1] == '\n' {
		s.at += 2
		return
	}
	if strings.IndexByte(`"'`, rest[1]) >= 0 {
		out.WriteByte(rest[1])
		s.at += 2
		return
	}
	if r, _, tail, err := strconv.UnquoteChar(rest, '"'); err == nil {
		out.WriteRune(r)
		s.at += len(rest) - len(tail)
		return
	}
	out.WriteByte('\\')
	s.at++
}

// pyKind is a kind of expression.
type pyKind int

const (
	pyUnknown pyKind = iota // one whose value isn't in the text
	pyLiteral
	pyName  // dotted
	pyCall  // of items[0] with the others
	pyIndex // of items[0] by the others
	pyList  // or a tuple, or a set
	pyDict
	pyUnion // a | b
)

// pyExpr is an expression.
type pyExpr struct {
	kind  pyKind
	text  string // of a name
	value any    // of a literal
	items []pyItem
}

// pyItem is a part of an expression, with its key in a dict or its name among arguments; star: it
// is to be unpacked.
type pyItem struct {
	pyExpr
	key  *pyExpr
	name string
	star bool
}

// pyReader reads expressions.
type pyReader struct {
	tokens []pyToken
	at     int
	depth  int
}

// pyDepth bounds how deep expressions are read.
const pyDepth = 60

func (r *pyReader) peek() string {
	if r.at < len(r.tokens) && r.tokens[r.at].kind == 'o' {
		return r.tokens[r.at].text
	}
	return ""
}

// takes goes on if the next token is that operator.
func (r *pyReader) takes(op string) bool {
	if r.peek() != op {
		return false
	}
	r.at++
	return true
}

// expr reads an expression, up to what may follow one.
func (r *pyReader) expr() pyExpr {
	if r.depth++; r.depth > pyDepth {
		r.skip()
		r.depth--
		return pyExpr{}
	}
	defer func() { r.depth-- }()
	e := r.operand()
	for r.peek() == "|" || r.peek() == "+" {
		op := r.peek()
		r.at++
		right := r.operand()
		a, isText := e.value.(string)
		b, too := right.value.(string)
		switch {
		case op == "|":
			e = pyExpr{kind: pyUnion, items: []pyItem{{pyExpr: e}, {pyExpr: right}}}
		case isText && too:
			e.value = a + b
		default:
			e = pyExpr{}
		}
	}
	switch r.peek() {
	case ",", ")", "]", "}", ":", "=":
		return e
	}
	if r.at >= len(r.tokens) {
		return e
	}
	r.skip()
	return pyExpr{}
}

// skip goes to the comma or bracket that ends an expression.
func (r *pyReader) skip() {
	for depth := 0; r.at < len(r.tokens); r.at++ {
		switch r.peek() {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth == 0 {
				return
			}
			depth--
		case ",":
			if depth == 0 {
				return
			}
		}
	}
}

func (r *pyReader) operand() (e pyExpr) {
	if r.at >= len(r.tokens) {
		return e
	}
	negative := r.takes("-")
	if r.at >= len(r.tokens) {
		return e
	}
	switch t := r.tokens[r.at]; {
	case t.kind == 's':
		text := ""
		for ; r.at < len(r.tokens) && r.tokens[r.at].kind == 's'; r.at++ {
			text += r.tokens[r.at].text
		}
		e = pyExpr{kind: pyLiteral, value: text}
	case t.kind == '0':
		r.at++
		if n, ok := pyNumber(t.text, negative); ok {
			e = pyExpr{kind: pyLiteral, value: n}
		}
	case t.kind == 'n':
		r.at++
		e = pyConstant(t.text)
	case t.text == "(":
		r.at++
		items, commas := r.items(")")
		if e = (pyExpr{kind: pyList, items: items}); len(items) == 1 && commas == 0 {
			e = items[0].pyExpr
		}
	case t.text == "[":
		r.at++
		items, _ := r.items("]")
		e = pyExpr{kind: pyList, items: items}
	case t.text == "{":
		r.at++
		items, _ := r.items("}")
		e = pyExpr{kind: pyDict, items: items}
		if len(items) > 0 && items[0].key == nil && !items[0].star {
			e.kind = pyList
		}
	case t.kind == 'x':
		r.at++
	}
	return r.trailers(e)
}

// trailers are what follows an operand: members, calls, indexes.
func (r *pyReader) trailers(e pyExpr) pyExpr {
	for {
		switch {
		case r.takes("."):
			if r.at < len(r.tokens) && r.tokens[r.at].kind == 'n' {
				e = pyExpr{kind: e.kind, text: e.text + "." + r.tokens[r.at].text}
				r.at++
			}
			if e.kind != pyName {
				e = pyExpr{}
			}
		case r.takes("("):
			items, _ := r.items(")")
			e = pyExpr{kind: pyCall, items: append([]pyItem{{pyExpr: e}}, items...)}
		case r.takes("["):
			items, _ := r.items("]")
			e = pyExpr{kind: pyIndex, items: append([]pyItem{{pyExpr: e}}, items...)}
		default:
			return e
		}
	}
}

// items reads what is between brackets, and counts its commas.
func (r *pyReader) items(end string) (items []pyItem, commas int) {
	for r.at < len(r.tokens) {
		if r.takes(end) {
			return items, commas
		}
		began := r.at
		item := pyItem{star: r.takes("**") || r.takes("*")}
		item.pyExpr = r.expr()
		switch {
		case r.takes(":"):
			key := item.pyExpr
			item.key, item.pyExpr = &key, r.expr()
		case item.kind == pyName && r.takes("="):
			item.name, item.pyExpr = item.text, r.expr()
		}
		items = append(items, item)
		if r.peek() != end && r.peek() != "," {
			r.skip()
		}
		if r.takes(",") {
			commas++
		} else if r.at == began || r.peek() != end {
			r.at++ // a bracket that closes another one
		}
	}
	return items, commas
}
