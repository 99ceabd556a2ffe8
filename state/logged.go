package state

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Logged says who has changed a model, and what of it: one transaction of a person's command.
// It is written in that transaction, so there is one for whatever has come of the command, and
// none for what hasn't. What the transaction changes in another model isn't in it.
type Logged struct {
	// Number counts those of the model, from 1, in the order in which they were committed.
	Number int       `json:"number"`
	Time   time.Time `json:"time"`
	Author
	Changes []LoggedField `json:"changes"`
	// More counts the fields that there was no room for.
	More int `json:"more,omitempty"`
}

// Did says what a change has done.
type Did string

// What is done: things are added and removed, fields of them set.
const (
	DidAdd    Did = "added"
	DidRemove Did = "removed"
	DidSet    Did = "set"
)

// LoggedField is something that was added or removed, or a field of it that was set.
type LoggedField struct {
	// Kind and Name say of what: "application" and "web", "relation" and "web:db db:db".
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"` // empty: the model
	// Field is the path of the field, with dots; empty: it is about the whole.
	Field string `json:"field,omitempty"`
	Did   Did    `json:"did"`
	// Before and After are the field's values as JSON, those that are long cut off with "…";
	// empty: there was, or is, none.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// loggedKey is where the nth of the log is, from 0.
func loggedKey(n int) string { return fmt.Sprintf("%s/%09d", loggedKind, n) }

// Of says whether something of that name was changed: an application, also by its units,
// and relations, or a unit or machine.
func (l Logged) Of(name string) bool {
	return slices.ContainsFunc(l.Changes, func(f LoggedField) bool {
		switch f.Kind {
		case "relation":
			return slices.ContainsFunc(strings.Fields(f.Name), func(end string) bool {
				app, _, _ := strings.Cut(end, ":")
				return app == name
			})
		case "unit":
			return f.Name == name || model.UnitName(f.Name).Application() == name
		case "operation":
			return slices.ContainsFunc(strings.FieldsFunc(f.After, func(r rune) bool { return strings.ContainsRune(` ",`, r) }), func(word string) bool {
				return word == name || model.UnitName(word).Application() == name
			})
		case "task":
			return false
		case "machine":
			return f.Name == name
		}
		return f.Name == name && !isNumber(name)
	})
}

// Changes is the model's log of changes, the oldest first.
func (m *Model) Changes(ctx context.Context) ([]Logged, error) {
	var all []Logged
	_, err := m.view(ctx, func(r docs) (err error) {
		all, err = list[Logged](r, loggedKind+"/")
		return errors.Trace(err)
	})
	return all, errors.Trace(err)
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }
