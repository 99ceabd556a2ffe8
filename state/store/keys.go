package store

import (
	"slices"
	"strings"
)

// Keys are one key or, where it is a Prefix, all keys that begin with it.
type Keys struct {
	Key    string
	Prefix bool
}

// Below are all keys that begin with prefix.
func Below(prefix string) Keys { return Keys{prefix, true} }

// Only is one key.
func Only(key string) Keys { return Keys{key, false} }

// Span is the keys from one up to another, which isn't one of them.
type Span struct{ From, End string }

// Spans are the keys that a watch is about, each once and in order: for engines.
type Spans []Span

// SpansOf are the spans of keys, of which some may be in others. Keys are printable
// ASCII, so the byte after them all is never one of theirs.
func SpansOf(of []Keys) Spans {
	all := make(Spans, len(of))
	for i, k := range of {
		if all[i] = (Span{k.Key, k.Key + "\x00"}); k.Prefix {
			all[i].End = k.Key + "\x7f"
		}
	}
	slices.SortFunc(all, func(a, b Span) int { return strings.Compare(a.From, b.From) })
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && s.From <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, s.End)
			continue
		}
		out = append(out, s)
	}
	return out
}

// Has says whether the key is in one of the spans.
func (s Spans) Has(key string) bool {
	i, there := slices.BinarySearchFunc(s, key, func(s Span, key string) int { return strings.Compare(s.From, key) })
	return there || i > 0 && key < s[i-1].End
}
