package main

import (
	"bytes"
	"encoding/json"
)

// event is one line of "go test -json".
// Source: go doc test2json.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64 // in seconds
	Output  string
}

// parseEvent reads a line; false: it is no event.
func parseEvent(line []byte) (event, bool) {
	var e event
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &e) != nil || e.Action == "" {
		return event{}, false
	}
	return e, true
}
