package tools

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/juju/errors"
	"gopkg.in/yaml.v2"

	"github.com/unitd/unitd/tools/wire"
)

// settingsFile reads --file: a map of scalars, in JSON or YAML, of which each
// scalar is its source text. "-" is the caller's standard input, and "" is no
// file. Source: docs/spec/hook-tools.md §2.6.
func settingsFile(c *call, path string) (map[string]string, error) {
	switch path {
	case "":
		return nil, nil
	case "-":
		if !c.stdinSet {
			return nil, errNeedStdin
		}
		return parseSettings(c.stdin)
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, errors.Trace(err)
		}
		path = filepath.Join(home, rest)
	}
	content, err := readFile(c.open, c.path(path), wire.MaxStdin)
	if err != nil {
		return nil, errors.Trace(err)
	}
	c.file = content
	return parseSettings(content)
}

// parseSettings takes JSON for what it is, which YAML's reader doesn't: it
// stumbles over the surrogate pairs by which JSON writes an emoji. All else is
// YAML, and its reader words what is wrong.
func parseSettings(content []byte) (map[string]string, error) {
	if settings, ok := jsonSettings(content); ok {
		return settings, nil
	}
	var settings map[string]string
	if err := yaml.Unmarshal(content, &settings); err != nil {
		return nil, errors.Trace(err)
	}
	return settings, nil
}

// jsonSettings is false for what isn't one JSON object of scalars, and for
// what JSON's reader would not return as it was written.
func jsonSettings(content []byte) (map[string]string, bool) {
	if !utf8.Valid(content) {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.UseNumber()
	var object map[string]any
	if err := dec.Decode(&object); err != nil || object == nil {
		return nil, false
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, false
	}
	settings := make(map[string]string, len(object))
	for k, v := range object {
		switch v := v.(type) {
		case nil:
			settings[k] = ""
		case string:
			settings[k] = v
		case json.Number:
			settings[k] = v.String()
		case bool:
			settings[k] = "false"
			if v {
				settings[k] = "true"
			}
		default:
			return nil, false
		}
		if replaced(k, content) || replaced(settings[k], content) {
			return nil, false
		}
	}
	return settings, true
}

// replaced says whether s has the character that JSON's reader puts in the
// place of half a surrogate pair, and the source hasn't.
func replaced(s string, source []byte) bool {
	const char = string(utf8.RuneError)
	return strings.Contains(s, char) && !bytes.Contains(source, []byte(char)) &&
		!bytes.Contains(bytes.ToLower(source), []byte(`\ufffd`))
}
