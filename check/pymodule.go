package check

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/unitd/unitd/pattern"
)

// pyModule is what a file of Python says without being run: its constants, and its classes with
// their fields.
type pyModule struct {
	consts     map[string]pyExpr
	classes    map[string]*pyClass
	constOrder []string
	classOrder []string
	left       int // how many more expressions are looked at: names may stand for ever more
}

// maxNodes bounds what is made of one file.
const maxNodes = 100_000

// pyClass is a class.
type pyClass struct {
	name   string
	bases  []string // dotted
	fields []pyField
	consts map[string]pyExpr
	order  []string // of consts
	open   bool     // it is being written out
}

// pyField is a field with an annotation.
type pyField struct {
	name    string
	of      pyExpr
	value   pyExpr
	isGiven bool // there is a value
}

// readPython reads a file of Python. Of a name that it has more than once, as for several
// versions of a library, the first counts.
func readPython(text string) *pyModule {
	m := &pyModule{consts: map[string]pyExpr{}, classes: map[string]*pyClass{}, left: maxNodes}
	lines := pyLines(text)
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch first := line.tokens[0]; {
		case first.kind == 'n' && (first.text == "def" || first.text == "async"):
			i = bodyEnd(lines, i) - 1
		case first.kind == 'n' && first.text == "class" && len(line.tokens) > 1:
			end := bodyEnd(lines, i)
			m.class(line.tokens[1:], lines[i+1:end])
			i = end - 1
		default:
			if f, ok := fieldOf(line.tokens); ok && f.isGiven {
				if _, known := m.consts[f.name]; !known {
					m.consts[f.name] = f.value
					m.constOrder = append(m.constOrder, f.name)
				}
			}
		}
	}
	return m
}

// bodyEnd is where the lines end that belong to the line i.
func bodyEnd(lines []pyLine, i int) int {
	end := i + 1
	for end < len(lines) && lines[end].indent > lines[i].indent {
		end++
	}
	return end
}

// fieldOf reads "name: annotation = value", or a part of that.
func fieldOf(tokens []pyToken) (f pyField, ok bool) {
	if len(tokens) < 3 || tokens[0].kind != 'n' || slices.Contains([]string{"else", "try", "finally"}, tokens[0].text) {
		return f, false
	}
	r := &pyReader{tokens: tokens, at: 1}
	f.name = tokens[0].text
	if r.takes(":") {
		f.of, ok = r.expr(), true
	}
	if r.takes("=") {
		f.value, f.isGiven, ok = r.expr(), true, true
	}
	return f, ok && r.peek() != "="
}

func (m *pyModule) class(head []pyToken, body []pyLine) {
	c := &pyClass{name: head[0].text, consts: map[string]pyExpr{}}
	r := &pyReader{tokens: head, at: 1}
	if r.takes("(") {
		bases, _ := r.items(")")
		for _, b := range bases {
			if b.kind == pyIndex && len(b.items) > 0 {
				b.pyExpr = b.items[0].pyExpr
			}
			if b.name == "" && b.kind == pyName {
				c.bases = append(c.bases, b.text)
			}
		}
	}
	for i := 0; i < len(body); i++ {
		if t := body[i].tokens[0]; t.kind == 'n' && slices.Contains([]string{"def", "async", "class"}, t.text) {
			i = bodyEnd(body, i) - 1
			continue
		}
		f, ok := fieldOf(body[i].tokens)
		if !ok {
			continue
		}
		if f.of.kind == pyUnknown || strings.HasPrefix(f.name, "_") || f.name == "model_config" {
			if _, known := c.consts[f.name]; !known {
				c.consts[f.name] = f.value
				c.order = append(c.order, f.name)
			}
		} else if !slices.ContainsFunc(c.fields, func(g pyField) bool { return g.name == f.name }) {
			c.fields = append(c.fields, f)
		}
	}
	if old := m.classes[c.name]; old == nil {
		m.classOrder = append(m.classOrder, c.name)
	} else if len(old.fields)+len(old.consts) > 0 {
		return
	}
	m.classes[c.name] = c
}

// value is what an expression stands for as JSON has it. What isn't known of a list or a dict is
// left out of it.
func (m *pyModule) value(e pyExpr, depth int) (any, bool) {
	if m.left--; depth > pyDepth || m.left < 0 {
		return nil, false
	}
	switch e.kind {
	case pyLiteral:
		return e.value, true
	case pyName:
		of, ok := m.consts[e.text]
		if !ok {
			return m.member(e.text, depth)
		}
		return m.value(of, depth+1)
	case pyList:
		list := []any{}
		for _, item := range e.items {
			if v, ok := m.value(item.pyExpr, depth+1); ok && !item.star {
				list = append(list, v)
			}
		}
		return list, true
	case pyDict:
		return m.dict(e, depth), true
	}
	return nil, false
}

// member is the value of a member of an enum.
func (m *pyModule) member(name string, depth int) (any, bool) {
	name = strings.TrimSuffix(name, ".value")
	class, member, _ := strings.Cut(name, ".")
	if c := m.classes[class]; c != nil {
		if e, ok := c.consts[member]; ok {
			return m.value(e, depth+1)
		}
	}
	return nil, false
}

func (m *pyModule) dict(e pyExpr, depth int) map[string]any {
	dict := map[string]any{}
	for _, item := range e.items {
		v, ok := m.value(item.pyExpr, depth+1)
		if more, isDict := v.(map[string]any); item.star && isDict {
			for k, v := range more {
				dict[k] = v
			}
		}
		if !ok || item.key == nil {
			continue
		}
		key, _ := m.value(*item.key, depth+1)
		if name, ok := key.(string); ok {
			dict[name] = v
		}
	}
	return dict
}

// is says whether a class is of one of the kinds, by its name or by that of one that it comes of.
func (m *pyModule) is(class string, such func(name string) bool) bool {
	seen := map[string]bool{}
	todo := []string{class}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		if c := m.classes[name]; c != nil {
			todo = append(todo, c.bases...)
			if name == class {
				continue // its own name says nothing of what it comes of
			}
		}
		if such(name[strings.LastIndexByte(name, '.')+1:]) {
			return true
		}
	}
	return false
}

func pyConstant(name string) pyExpr {
	switch name {
	case "True", "False":
		return pyExpr{kind: pyLiteral, value: name == "True"}
	case "None":
		return pyExpr{kind: pyLiteral}
	}
	return pyExpr{kind: pyName, text: name}
}

var jsonNumber = pattern.New(`^-?(0|[1-9]\d*)(\.\d+)?([eE]\d+)?$`)

// pyNumber is a number as JSON has it.
func pyNumber(text string, negative bool) (json.Number, bool) {
	text = strings.ReplaceAll(text, "_", "")
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		text = strconv.FormatInt(n, 10)
	}
	if negative {
		text = "-" + text
	}
	return json.Number(text), jsonNumber.MatchString(text)
}
