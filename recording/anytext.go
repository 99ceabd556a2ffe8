package recording

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"
)

// anyText is text of any bytes.
type anyText string

// MarshalJSON is a string, or an object where JSON's strings can't say it.
func (t anyText) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string][]byte{"bytes": []byte(t)})
}

// UnmarshalJSON is part of json.Unmarshaler.
func (t *anyText) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return errors.Trace(json.Unmarshal(b, (*string)(t)))
	}
	var v struct{ Bytes []byte }
	err := json.Unmarshal(b, &v)
	*t = anyText(v.Bytes)
	return errors.Trace(err)
}

// MarshalYAML is a string that reads back as it was: not all of those that the
// library chooses do.
func (t anyText) MarshalYAML() (any, error) {
	s := string(t)
	switch {
	case !utf8.ValidString(s):
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!binary", Value: base64.StdEncoding.EncodeToString([]byte(s))}, nil
	case !readable(s) || strings.ContainsAny(s, "\n\t"):
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: s}, nil
	}
	return s, nil
}

func anyTexts(in []string) []anyText {
	out := make([]anyText, len(in))
	for i, s := range in {
		out[i] = anyText(s)
	}
	return out
}

func texts(in []anyText) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return out
}

// bytesOf is nil for no bytes.
func bytesOf(t anyText) []byte {
	if t == "" {
		return nil
	}
	return []byte(t)
}
