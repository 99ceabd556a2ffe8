package store

import "strings"

// Access is what somebody may do with keys: read them and, with Write, write them.
type Access struct {
	Keys
	Write bool
}

// Rights are all that somebody may do in a store.
type Rights []Access

// MayRead says whether all of these keys may be read.
func (r Rights) MayRead(of ...Keys) bool {
	var readable []Keys
	for _, a := range r {
		readable = append(readable, a.Keys)
	}
	may := SpansOf(readable)
	for _, asked := range SpansOf(of) {
		if !may.cover(asked) {
			return false
		}
	}
	return true
}

// cover says whether one of the spans has all of another.
func (s Spans) cover(other Span) bool {
	for _, span := range s {
		if span.From <= other.From && other.End <= span.End {
			return true
		}
	}
	return false
}

// MayWrite says whether the key may be written.
func (r Rights) MayWrite(key string) bool {
	for _, a := range r {
		if a.Write && (a.Key == key || a.Prefix && strings.HasPrefix(key, a.Key)) {
			return true
		}
	}
	return false
}

// Writes says whether anything may be written.
func (r Rights) Writes() bool {
	for _, a := range r {
		if a.Write {
			return true
		}
	}
	return false
}

// Everything are the rights of who may do all.
func Everything() Rights { return Rights{{Below(""), true}} }
