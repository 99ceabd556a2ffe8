package charmdir

import (
	"fmt"

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
		n.n = doc.Content[0]
	}
	if !n.null() && n.value().Kind != yaml.MappingNode {
		return n, n.errorf("expected a map")
	}
	return n, nil
}

// value is the node with aliases followed; never nil.
func (n node) value() *yaml.Node {
	v := n.n
	for v != nil && v.Kind == yaml.AliasNode {
		v = v.Alias
	}
	if v == nil {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return v
}

func (n node) null() bool { return n.value().Tag == "!!null" }

func (n node) errorf(format string, args ...any) error {
	where := n.file
	if n.n != nil && n.n.Line > 0 {
		where = fmt.Sprintf("%s:%d", n.file, n.n.Line)
	}
	if n.path != "" {
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
		return nil, n.errorf("expected a map")
	}
	var out []entry
	seen := map[string]bool{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		k := v.Content[i]
		if k.Kind != yaml.ScalarNode {
			return nil, n.errorf("expected keys that are plain words")
		}
		if seen[k.Value] {
			return nil, n.child(k.Value, k).errorf("given twice")
		}
		seen[k.Value] = true
		out = append(out, entry{k.Value, n.child(k.Value, v.Content[i+1])})
	}
	return out, nil
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
		return nil, n.errorf("%v", err)
	}
	return stringKeys(v), nil
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

func describe(v *yaml.Node) string {
	switch v.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	return v.Value
}
