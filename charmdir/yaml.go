package charmdir

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/pattern"
)

// node is a YAML value with the file and the keys that lead to it, so that an
// error can say where it is. Its zero value is "not there".
type node struct {
	file   string
	parent *node
	key    string // in parent
	n      *yaml.Node
}

// yamlLine is the line in an error of the YAML package.
var yamlLine = pattern.New(`^yaml: (?:line ([0-9]+): )?`)

// parse reads the first document of a file as a map. An empty file is an
// empty map.
func parse(file string, data []byte) (node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return node{}, errors.NewNotValid(nil, syntaxError(file, err.Error()))
	}
	n := node{file: file}
	if len(doc.Content) > 0 {
		plain, err := expand(file, doc.Content[0])
		if err != nil {
			return node{}, err
		}
		n.n = plain
	}
	return n, n.mapping()
}

// syntaxError says "file:line: text", as all errors here do.
func syntaxError(file, text string) string {
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if m[1] != "" {
			file += ":" + m[1]
		}
	}
	return file + ": " + text
}

// value is the node; never nil.
func (n node) value() *yaml.Node {
	if n.n == nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return n.n
}

func (n node) null() bool { return n.value().Tag == "!!null" }

// path is the keys that lead to the node. It is made when an error needs it:
// made for every node, it would take the square of the file's size.
func (n node) path() string {
	var keys []string
	for p := &n; p != nil; p = p.parent {
		if p.key != "" {
			keys = append(keys, p.key)
		}
	}
	slices.Reverse(keys)
	return strings.Join(keys, ".")
}

func (n node) errorf(format string, args ...any) error {
	where := n.file
	for p := &n; p != nil; p = p.parent { // what isn't there has its map's line
		if p.n != nil && p.n.Line > 0 {
			where = fmt.Sprintf("%s:%d", n.file, p.n.Line)
			break
		}
	}
	switch path := n.path(); {
	case strings.ContainsFunc(path, unprintable):
		where += ": " + strconv.Quote(path) // an error is one line
	case path != "":
		where += ": " + path
	}
	return errors.NewNotValid(nil, where+": "+fmt.Sprintf(format, args...))
}

func (n *node) child(key string, v *yaml.Node) node {
	return node{file: n.file, parent: n, key: key, n: v}
}

// entry is one key of a map with its value.
type entry struct {
	key string
	node
}

// entries are the entries of a map in the order of the file; null is empty.
func (n node) entries() ([]entry, error) {
	v := n.value()
	if n.null() {
		return nil, nil
	}
	if v.Kind != yaml.MappingNode {
		return nil, n.errorf("expected a map, got %s", describe(v))
	}
	var out []entry
	for i := 0; i+1 < len(v.Content); i += 2 {
		key := v.Content[i].Value
		out = append(out, entry{key, n.child(key, v.Content[i+1])})
	}
	return out, nil
}

// mapping is an error for what is neither a map nor null.
func (n node) mapping() error {
	_, err := n.entries()
	return err
}

// get is the value at key; not there, and no error, if n has no such.
func (n node) get(key string) node {
	v := n.value()
	if v.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(v.Content); i += 2 {
			if v.Content[i].Value == key {
				return n.child(key, v.Content[i+1])
			}
		}
	}
	return n.child(key, nil)
}

// text is a string; empty for what isn't there.
func (n node) text() (string, error) {
	v := n.value()
	if n.null() {
		return "", nil
	}
	if v.Kind != yaml.ScalarNode || v.Tag != "!!str" {
		return "", n.errorf("expected text, got %s", describe(v))
	}
	return v.Value, nil
}

// texts is a list of strings, as JSON would decode it; empty for what isn't
// there.
func (n node) texts() ([]any, error) {
	v := n.value()
	if n.null() {
		return nil, nil
	}
	if v.Kind != yaml.SequenceNode {
		return nil, n.errorf("expected a list, got %s", describe(v))
	}
	var out []any
	for _, e := range v.Content {
		s, err := node{file: n.file, parent: n.parent, key: n.key, n: e}.text()
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// strings is texts as strings.
func (n node) strings() ([]string, error) {
	list, err := n.texts()
	var out []string
	for _, e := range list {
		out = append(out, e.(string))
	}
	return out, err
}

func (n node) boolean() (bool, error) {
	if n.null() {
		return false, nil
	}
	var b bool
	if err := n.value().Decode(&b); err != nil {
		return false, n.errorf("expected true or false, got %s", describe(n.value()))
	}
	return b, nil
}

func (n node) integer(missing int) (int, error) {
	if n.null() {
		return missing, nil
	}
	var i int
	// 1.5 would be decoded, as 1.
	if err := n.value().Decode(&i); err != nil || n.value().Tag != "!!int" {
		return 0, n.errorf("expected a whole number, got %s", describe(n.value()))
	}
	return i, nil
}

// any is the value as decoded; maps have string keys.
func (n node) any() (any, error) {
	if n.null() {
		return nil, nil
	}
	var v any
	if err := n.value().Decode(&v); err != nil {
		return nil, n.errorf("cannot read the value %s", describe(n.value()))
	}
	v = stringKeys(v)
	// A charm is stored as JSON, which has no ".inf" and no ".nan".
	if _, err := json.Marshal(v); err != nil {
		return nil, n.errorf("cannot be said in JSON: %v", err)
	}
	return v, nil
}

// stringKeys turns maps with keys of any kind, which YAML has and JSON hasn't,
// into maps with text as keys.
func stringKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = stringKeys(e)
		}
		return v
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[fmt.Sprint(k)] = stringKeys(e)
		}
		return out
	case []any:
		for i, e := range v {
			v[i] = stringKeys(e)
		}
	}
	return v
}

// describe shows a value in an error, in one line.
func describe(v *yaml.Node) string {
	switch {
	case v.Kind == yaml.MappingNode:
		return "a map"
	case v.Kind == yaml.SequenceNode:
		return "a list"
	case v.Tag == "!!null":
		return "nothing"
	case v.Tag == "!!int", v.Tag == "!!float", v.Tag == "!!bool":
		if len(v.Value) <= 40 && !strings.ContainsFunc(v.Value, unprintable) {
			return v.Value
		}
	}
	if text := []rune(v.Value); len(text) > 40 {
		return strconv.Quote(string(text[:40]) + "…")
	}
	return strconv.Quote(v.Value)
}

func unprintable(r rune) bool { return !strconv.IsPrint(r) }
