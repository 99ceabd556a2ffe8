package render

import (
	"bytes"
	"encoding/json"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"
)

// Encode is a value as "json", in a line, or as "yaml".
func Encode(format string, v any) ([]byte, error) {
	if format != "json" {
		return indented(v)
	}
	b, err := json.Marshal(v)
	return append(b, '\n'), errors.Trace(err)
}

// indented is YAML with an indent of two, as the field's tools write it.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(v); err != nil {
		return nil, errors.Trace(err)
	}
	return b.Bytes(), errors.Trace(e.Close())
}

// flowNode is a list of words as YAML has it in one line.
func flowNode(words []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, w := range words {
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: w})
	}
	return n
}
