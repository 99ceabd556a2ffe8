package recording

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// sameAsked says whether an actual request is the recorded one, and binds what it
// has in the place of placeholders if so. The order of keys doesn't matter, in JSON
// and in layers, and neither does for how long a change is waited for: that is up to
// the time it has taken already.
func (b *bindings) sameAsked(recorded, actual Asked) bool {
	if recorded.Container != actual.Container || recorded.Method != actual.Method {
		return false
	}
	bound := maps.Clone(b.values)
	if !b.samePath(bound, recorded.Path, actual.Path) || !b.sameBody(bound, recorded.Body, actual.Body) {
		return false
	}
	b.values = bound
	return true
}

func (b *bindings) samePath(bound map[string]string, recorded, actual string) bool {
	recordedPath, recordedQuery, _ := strings.Cut(recorded, "?")
	actualPath, actualQuery, _ := strings.Cut(actual, "?")
	if !b.sameText(bound, recordedPath, actualPath) {
		return false
	}
	if recordedQuery == actualQuery {
		return true
	}
	is, err := url.ParseQuery(recordedQuery)
	now, nowErr := url.ParseQuery(actualQuery)
	if err != nil || nowErr != nil || len(is) != len(now) {
		return false
	}
	waits := strings.HasPrefix(actualPath, "/v1/changes/") && strings.HasSuffix(actualPath, "/wait")
	for _, key := range sortedKeys(is) {
		if len(is[key]) != len(now[key]) {
			return false
		}
		for i, v := range is[key] {
			if !(waits && key == "timeout") && !b.sameText(bound, v, now[key][i]) {
				return false
			}
		}
	}
	return true
}

func (b *bindings) sameBody(bound map[string]string, recorded, actual Body) bool {
	if recorded.Type != actual.Type || len(recorded.Parts) != len(actual.Parts) || !b.sameContent(bound, recorded.Type, recorded.Content, actual.Content) {
		return false
	}
	for i, p := range recorded.Parts {
		now := actual.Parts[i]
		if p.Name != now.Name || p.Type != now.Type || !b.sameText(bound, p.File, now.File) || !b.sameContent(bound, p.Type, p.Content, now.Content) {
			return false
		}
	}
	return true
}

func (b *bindings) sameContent(bound map[string]string, kind string, recorded, actual Content) bool {
	if recorded.LeftOut() || actual.LeftOut() {
		return recorded.Digest == actual.Digest
	}
	if kind == "application/json" {
		is, ok := jsonOf(recorded.Bytes)
		now, nowOK := jsonOf(actual.Bytes)
		if ok && nowOK {
			return b.sameValue(bound, "", is, now)
		}
	}
	return b.sameText(bound, string(recorded.Bytes), string(actual.Bytes))
}

func jsonOf(text []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil && !d.More()
}

// sameValue compares values of JSON or YAML; key is that of which they are.
func (b *bindings) sameValue(bound map[string]string, key string, recorded, actual any) bool {
	switch is := recorded.(type) {
	case string:
		now, ok := actual.(string)
		return ok && (b.sameText(bound, is, now) || key == "layer" && b.sameLayer(bound, is, now))
	case []any:
		now, ok := actual.([]any)
		if !ok || len(now) != len(is) {
			return false
		}
		for i := range is {
			if !b.sameValue(bound, key, is[i], now[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		now, ok := actual.(map[string]any)
		if !ok || len(now) != len(is) {
			return false
		}
		for k, v := range is {
			if other, ok := now[k]; !ok || !b.sameValue(bound, k, v, other) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(recorded, actual)
}

// sameLayer compares layers, which are YAML.
func (b *bindings) sameLayer(bound map[string]string, recorded, actual string) bool {
	var is, now map[string]any
	if yaml.Unmarshal([]byte(recorded), &is) != nil || yaml.Unmarshal([]byte(actual), &now) != nil {
		return false
	}
	return b.sameValue(bound, "", is, now)
}

// parallelAsked says whether requests were made at the same time; their order is
// chance.
func (r *Recording) parallelAsked() bool {
	var end time.Duration
	for _, a := range r.Asked {
		if a.At < end {
			return true
		}
		end = max(end, a.At+a.Took)
	}
	return false
}
