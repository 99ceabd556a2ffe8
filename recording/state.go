package recording

import (
	"bytes"
	"strings"
)

// redactState replaces secrets in a stored state. It is a database, whose
// pieces must keep their lengths: the placeholders are filled up, everywhere.
// Where that can't be done, or where it isn't certain that no secret is left,
// there is none, and a note why.
func redactState(state []byte, found *secrets, placeholders names) (_ []byte, note string) {
	if state == nil {
		return nil, ""
	}
	for i, value := range found.values {
		if !bytes.Contains(state, []byte(value)) {
			continue
		}
		name := placeholders.list[i]
		if len(value) < len(name) {
			return nil, "left out: it has a secret that is too short to be replaced in it"
		}
		placeholders.list[i] = name + strings.Repeat("x", len(value)-len(name))
		state = bytes.ReplaceAll(state, []byte(value), []byte(placeholders.list[i]))
	}
	lower := bytes.ToLower(state)
	for _, word := range stateWords {
		if bytes.Contains(lower, []byte(word)) {
			return nil, "left out: it may have secrets in it, as it has the word " + word
		}
	}
	for _, value := range found.values {
		// Half of it may be on another page.
		n := min(len(value), wordLength)
		if bytes.Contains(state, []byte(value[:n])) || bytes.Contains(state, []byte(value[len(value)-n:])) {
			return nil, "left out: it may have a part of a secret in it"
		}
	}
	return state, ""
}

// stateWords are the secretWords as Python may write them.
var stateWords = []string{
	"password", "passwd", "passphrase", "secret", "token", "credential",
	"private-key", "private_key", "privatekey", "api-key", "api_key", "apikey",
}
