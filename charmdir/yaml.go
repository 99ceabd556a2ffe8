package charmdir

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"
)

// node is a YAML value with the file and the keys that lead to it, so that an
// error can say where it is. Its zero value is "not there".
type node struct {
	file string
	path string
	n    *yaml.Node
}

// parse reads the first document of a file as a map. An empty file is an
// empty map.
func parse(file string, data []byte) (node, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return node{}, errors.NewNotValid(nil, fmt.Sprintf("%s: %v", file, err))
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

// value is the node; never nil.
func (n node) value() *yaml.Node {
	if n.n == nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return n.n
}

func (n node) null() bool { return n.value().Tag == "!!null" }

func (n node) errorf(format string, args ...any) error {
	where := n.file
	if n.n != nil && n.n.Line > 0 {
		where = fmt.Sprintf("%s:%d", n.file, n.n.Line)
	}
	switch {
	case strings.ContainsFunc(n.path, isControl):
		where += ": " + strconv.Quote(n.path) // an error is one line
	case n.path != "":
		where += ": " + n.path
	}
	return errors.NewNotValid(nil, where+": "+fmt.Sprintf(format, args...))
}

func (n node) child(key string, v *yaml.Node) node {
	path := key
	if n.path != "" {
		path = n.path + "." + key
	}
	return node{file: n.file, path: path, n: v}
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
		s, err := node{file: n.file, path: n.path, n: e}.text()
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
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
	if err := n.value().Decode(&i); err != nil {
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
		if !strings.ContainsFunc(v.Value, isControl) {
			return v.Value
		}
	}
	if text := []rune(v.Value); len(text) > 40 {
		return strconv.Quote(string(text[:40]) + "…")
	}
	return strconv.Quote(v.Value)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
