package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/juju/errors"
)

// MaxStored is how many bytes one databag, or the state of one unit's charm,
// may have as JSON: what a store takes as one value, less a margin for what is
// stored beside it.
const MaxStored = 1<<20 - 1<<10

// EncodeJSON is v as it is stored. Unlike json.Marshal it writes <, > and & as
// they are: those would take six bytes each.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, errors.Trace(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// CheckStored is QuotaLimitExceeded for keys and values that take more than
// MaxStored; what says for people what they are.
func CheckStored(what string, values map[string]string) error {
	b, err := EncodeJSON(values)
	if err != nil {
		return errors.Trace(err)
	}
	if over := len(b) - MaxStored; over > 0 {
		return errors.NewQuotaLimitExceeded(nil, fmt.Sprintf("max allowed %s size (%d) exceeded by %d", what, MaxStored, over))
	}
	return nil
}

// CheckText is NotValid for keys and values that aren't UTF-8: JSON would not
// bring them back as they were.
func CheckText(what string, values map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !utf8.ValidString(k):
			return errors.NewNotValid(nil, fmt.Sprintf("key %q in %s contains non-UTF-8 sequences", k, what))
		case !utf8.ValidString(values[k]):
			return errors.NewNotValid(nil, fmt.Sprintf("value for key %q in %s contains non-UTF-8 sequences", k, what))
		}
	}
	return nil
}
