package pebble

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/juju/errors"
)

// maxAnswer bounds an answer that is read as a whole. Pebble keeps 1,000 notices
// at most, with 4 KiB of data each, which JSON may make six times as long.
// Source: docs/spec/containers.md §4.6.
const maxAnswer = 32 << 20

// answer is the envelope of all answers but streams.
type answer struct {
	Type   string          `json:"type"`
	Code   int             `json:"status-code"`
	Status string          `json:"status"`
	Change string          `json:"change"`
	Result json.RawMessage `json:"result"`
}

// readAnswer reads one answer. The error is an APIError if Pebble refused.
func readAnswer(r io.Reader) (answer, error) {
	limited := &io.LimitedReader{R: r, N: maxAnswer + 1}
	raw, err := io.ReadAll(limited)
	switch {
	case err != nil:
		return answer{}, errors.Trace(err)
	case limited.N == 0:
		return answer{}, garbage("an answer of more than %d bytes", maxAnswer)
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return answer{}, garbage("%s, in %s", err, excerpt(raw))
	}
	switch a.Type {
	case "sync", "async":
		return a, nil
	case "error":
		return answer{}, a.refusal()
	}
	return answer{}, garbage("an answer of type %q", a.Type)
}

// refusal is the error of an answer of type error.
func (a answer) refusal() error {
	var r struct{ Message, Kind string }
	if err := json.Unmarshal(a.Result, &r); err != nil {
		return garbage("a refusal without a message: %s", excerpt(a.Result))
	}
	if r.Message == "" {
		r.Message = a.Status
	}
	return &APIError{Status: a.Code, Kind: r.Kind, Message: r.Message}
}

// into decodes the result into the value that v points to; nil for none.
func (a answer) into(v any) error {
	if v == nil {
		return nil
	}
	if len(a.Result) == 0 {
		return garbage("an answer without a result")
	}
	if err := json.Unmarshal(a.Result, v); err != nil {
		return garbage("%s, in %s", err, excerpt(a.Result))
	}
	return nil
}

// excerpt is the beginning of what came, for an error of one line.
func excerpt(raw []byte) string {
	const most = 80
	raw = bytes.Clone(raw[:min(len(raw), most)])
	for i, b := range raw {
		if b < ' ' || b > '~' {
			raw[i] = '.'
		}
	}
	return string(raw)
}
