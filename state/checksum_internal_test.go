package state

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
)

// TestAnyChangedByteIsNoticed changes each byte of stored documents, to each
// other value that it can have: none is taken for a document then, with another
// checksum or with none.
func TestAnyChangedByteIsNoticed(t *testing.T) {
	t.Parallel()
	for key, doc := range map[string]any{
		"m/u/config/site":       configDoc{Values: map[string]any{"title": "A small site", "size": 7}},
		"m/u/charm-state/app/0": map[string]string{"k": "v"},
		"m/u/sequence/machine":  3,
		"m/u/relation-of/db/12": 12,
		"m/u/mark":              "2026-11-22T09:25:56Z",
		"gone/u":                struct{}{},
		"m/u/status/agent/a/0":  map[string]any{"list": []string{"a", "ü"}},
	} {
		value, err := model.EncodeJSON(doc)
		if err != nil {
			t.Fatal(err)
		}
		whole := withSum(key, value)
		if got, ok := withoutSum(key, whole); !ok || string(got) != string(value) {
			t.Fatalf("%s: %q is read as %q", key, whole, got)
		}
		if !json.Valid(whole) {
			t.Errorf("%s: %q is no JSON", key, whole)
		}
		if _, ok := withoutSum(key+"x", whole); ok {
			t.Errorf("%s is taken for another document", key)
		}
		for i := range whole {
			for b := range 256 {
				changed := []byte(string(whole))
				changed[i] = byte(b)
				if got, ok := withoutSum(key, changed); ok && changed[i] != whole[i] {
					t.Errorf("%s: byte %d as %q: %q is read as %q", key, i, rune(b), changed, got)
				}
			}
		}
		for n := len(value) + 1; n < len(whole); n++ {
			if got, ok := withoutSum(key, whole[:n]); ok {
				t.Errorf("%s: the first %d bytes are read as %q", key, n, got)
			}
		}
	}
}

// TestADocumentOfFormat1IsTaken: it has no checksum.
func TestADocumentOfFormat1IsTaken(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{`{"a":1}`: true, `7`: true, `"x"`: true, ``: false, `{"a":1`: false, `7 `: false, "7" + strings.Repeat(" ", 31): false} {
		if got, ok := withoutSum("k", []byte(value)); ok != want || ok && string(got) != value {
			t.Errorf("%q is read as %q, %v", value, got, ok)
		}
	}
}

// BenchmarkChecksum is what a document of usual size costs.
func BenchmarkChecksum(b *testing.B) {
	value := []byte(`{"title":"` + strings.Repeat("x", 400) + `"}`)
	stored := withSum("m/u/config/site", value)
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			withSum("m/u/config/site", value)
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			withoutSum("m/u/config/site", stored)
		}
	})
}
