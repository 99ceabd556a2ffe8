package recording

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// asked finds the secrets of what was asked of a Pebble: in layers, plans and the
// environments of commands by their keys, in the arguments of commands by their
// flags, and in files also where they are lines "key = value".
func (s *secrets) asked(a *Asked) {
	if _, query, ok := strings.Cut(a.Path, "?"); ok {
		values, _ := url.ParseQuery(query) // what can't be read says nothing
		for _, key := range sortedKeys(values) {
			for _, v := range values[key] {
				s.find(key, v, false, 0)
			}
		}
	}
	s.command(a.Body.Bytes)
	for _, c := range a.contents() {
		text := string(c.Bytes)
		s.document(text, false, 0)
		s.lines(text)
		s.urls(text)
	}
}

func sortedKeys(v url.Values) []string {
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// setting is a line that gives something to a key, as files of settings have it.
var setting = pattern.New(`(?m)^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*[=:][ \t]*(\S.*?)[ \t\r]*$`)

// lines looks into text that has settings in some of its lines.
func (s *secrets) lines(text string) {
	for _, m := range setting.Regexp().FindAllStringSubmatch(text, -1) {
		if value := strings.Trim(m[2], `"',;`); s.secretKey(m[1]) || strings.Contains(value, model.PrivateKey) {
			s.add(m[1], value)
		}
	}
	if strings.Contains(text, model.PrivateKey) {
		s.add("", text)
	}
}

// command looks into the arguments of a command that Pebble is to run: "--password=x"
// and "--password x".
func (s *secrets) command(body []byte) {
	var is struct{ Command []string }
	if json.Unmarshal(body, &is) != nil {
		return
	}
	for i, arg := range is.Command {
		key, value, given := strings.Cut(arg, "=")
		name := strings.TrimLeft(key, "-")
		switch {
		case given:
			s.find(lastWord(name), strings.TrimSpace(value), false, 0)
		case name != key && i+1 < len(is.Command) && s.secretKey(name) && !strings.HasPrefix(is.Command[i+1], "-"):
			s.find(name, is.Command[i+1], false, 0)
		}
		s.lines(arg)
	}
}

// asked takes the secrets out of what was asked of a Pebble.
func (d *redactor) asked(a *Asked) {
	a.Path = d.path(a.Path)
	for _, c := range a.contents() {
		// A file may be of any bytes: in such a one a secret is what it is byte by byte.
		c.Bytes = d.bytes(bytes.Clone(c.Bytes))
	}
	for _, parts := range [][]Part{a.Body.Parts, a.Answer.Parts} {
		for i := range parts {
			parts[i].File = d.text(parts[i].File)
		}
	}
}

// path is a path with its query, in which values are escaped.
func (d *redactor) path(path string) string {
	bare, query, ok := strings.Cut(path, "?")
	if !ok {
		return d.text(path)
	}
	var out []string
	for pair := range strings.SplitSeq(query, "&") {
		key, value, given := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(value)
		if hidden := d.text(plain); given && err == nil && hidden != plain {
			pair = key + "=" + url.QueryEscape(hidden)
		}
		out = append(out, pair)
	}
	return d.text(bare) + "?" + strings.Join(out, "&")
}
