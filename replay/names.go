package replay

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Names are texts that differ from world to world and mean the same: paths and ids. In
// what is remembered each has another name, which all worlds know.
type Names struct {
	names []named
}

type named struct{ text, hidden string }

// NewNames has the texts, each by a word for it. Empty ones are left out.
func NewNames(texts map[string]string) Names {
	var n Names
	for word, text := range texts {
		if text != "" {
			n.names = append(n.names, named{text, opening + word + closing})
		}
	}
	// A text that is part of another one comes after it.
	slices.SortFunc(n.names, func(a, b named) int {
		return cmp.Or(len(b.text)-len(a.text), cmp.Compare(a.hidden, b.hidden))
	})
	return n
}

// What stands around a hidden name. No argument, path or variable can have it.
const (
	opening = "\x00<"
	closing = ">\x00"
)

// Hide has the names in the place of the texts. It is false for what can't be told
// from a name, and for what isn't text.
func (n Names) Hide(text string) (string, bool) {
	if !utf8.ValidString(text) || strings.Contains(text, opening) {
		return "", false
	}
	for _, name := range n.names {
		text = strings.ReplaceAll(text, name.text, name.hidden)
	}
	return text, true
}

// Show has the texts in the place of the names: what Hide was given, in this world.
func (n Names) Show(text string) string {
	if !strings.Contains(text, opening) {
		return text
	}
	for _, name := range n.names {
		text = strings.ReplaceAll(text, name.hidden, name.text)
	}
	return text
}

// In says whether one of the texts is in content: it is of use in this world alone.
func (n Names) In(content []byte) bool {
	return slices.ContainsFunc(n.names, func(name named) bool { return bytes.Contains(content, []byte(name.text)) })
}
