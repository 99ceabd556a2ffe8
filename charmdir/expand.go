package charmdir

import (
	"fmt"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"
)

// The limits of one metadata file: no charm comes near them, and a file whose
// aliases refer to aliases can't grow beyond them.
const (
	maxNodes = 100_000
	maxDepth = 500
	maxKey   = 1000 // bytes
)

// expand copies a document with its aliases and merge keys ("<<") carried out,
// so that each part of it can be read and written by itself: an anchor may be
// in a part of charmcraft.yaml that metadata.yaml doesn't get. Errors are
// NotValid: keys that are given twice or aren't words, and files too large.
func expand(file string, v *yaml.Node) (*yaml.Node, error) {
	x := &expander{file: file, left: maxNodes, text: maxMetadata}
	return x.expand(v, 0)
}

// expander has what is left of the values, and of the bytes of their text,
// that a document may have: an alias costs all that it stands for, since those
// who read the copy or write it go through all of it.
type expander struct {
	file string
	left int
	text int
}

func (x *expander) errorf(v *yaml.Node, format string, args ...any) error {
	return errors.NewNotValid(nil, fmt.Sprintf("%s:%d: ", x.file, v.Line)+fmt.Sprintf(format, args...))
}

func (x *expander) expand(v *yaml.Node, depth int) (*yaml.Node, error) {
	if err := x.pay(v, depth); err != nil {
		return nil, err
	}
	if v.Tag == "!!null" { // also "!!null x", which can't be written as it is
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: v.Tag, Value: "null", Line: v.Line, Column: v.Column}, nil
	}
	switch v.Kind {
	case yaml.AliasNode:
		out, err := x.expand(v.Alias, depth+1)
		if err != nil {
			return nil, err
		}
		out.Line, out.Column = v.Line, v.Column // where it is used
		return out, nil
	case yaml.MappingNode:
		return x.mapping(v, depth)
	}
	out := &yaml.Node{Kind: v.Kind, Style: v.Style, Tag: v.Tag, Value: v.Value, Line: v.Line, Column: v.Column}
	if v.Tag == "!!timestamp" {
		out.Tag = "!!str" // a date without quotes is text here, as in Juju
	}
	for _, c := range v.Content {
		e, err := x.expand(c, depth+1)
		if err != nil {
			return nil, err
		}
		out.Content = append(out.Content, e)
	}
	return out, nil
}

func (x *expander) pay(v *yaml.Node, depth int) error {
	x.left--
	x.text -= len(v.Value)
	if x.left < 0 || x.text < 0 || depth > maxDepth {
		return x.errorf(v, "too many values, or too deep (does an alias lead to itself?)")
	}
	return nil
}

func (x *expander) mapping(v *yaml.Node, depth int) (*yaml.Node, error) {
	out := &yaml.Node{Kind: v.Kind, Style: v.Style, Tag: v.Tag, Line: v.Line, Column: v.Column}
	seen := map[string]bool{}
	var merged []*yaml.Node
	for i := 0; i+1 < len(v.Content); i += 2 {
		key, err := x.expand(v.Content[i], depth+1)
		if err != nil {
			return nil, err
		}
		val, err := x.expand(v.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		if v.Style&yaml.FlowStyle != 0 && val.Tag == "!!null" && key.Kind == yaml.ScalarNode && key.Style == 0 {
			// "{amd64:}": the library takes the colon for a part of the word, which
			// other readers of YAML don't.
			key.Value = strings.TrimSuffix(key.Value, ":")
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			return nil, x.errorf(key, "expected a word as key, got %s", describe(key))
		case len(key.Value) > maxKey:
			return nil, x.errorf(key, "key %s is longer than %d bytes", describe(key), maxKey)
		case key.Tag == "!!merge" && val.Kind == yaml.SequenceNode:
			merged = append(merged, val.Content...)
			continue
		case key.Tag == "!!merge":
			merged = append(merged, val)
			continue
		case seen[key.Value]:
			return nil, x.errorf(key, "key %q is given twice", key.Value)
		}
		seen[key.Value] = true
		out.Content = append(out.Content, key, val)
	}
	// A map's own keys win, then those of the first map that is merged.
	for _, m := range merged {
		if err := x.merge(out, m, seen, depth); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// merge adds the entries of m, which is expanded, that out lacks. They are
// paid for again: through maps that merge maps that merge maps, each would be
// copied as often as it is deep.
func (x *expander) merge(out, m *yaml.Node, seen map[string]bool, depth int) error {
	if m.Kind != yaml.MappingNode {
		return x.errorf(m, "expected a map after <<, got %s", describe(m))
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key := m.Content[i]
		if err := x.pay(key, depth); err != nil {
			return err
		}
		if !seen[key.Value] {
			seen[key.Value] = true
			out.Content = append(out.Content, key, m.Content[i+1])
		}
	}
	return nil
}
