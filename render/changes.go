package render

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/unitd/unitd/state"
)

// Change is one entry of a model's log of changes, for programs.
type Change struct {
	Number  int            `json:"number" yaml:"number"`
	Time    time.Time      `json:"time" yaml:"time"`
	User    string         `json:"user" yaml:"user"`
	Host    string         `json:"host,omitempty" yaml:"host,omitempty"`
	Command string         `json:"command" yaml:"command"`
	Changes []ChangedField `json:"changes" yaml:"changes"`
	More    int            `json:"more,omitempty" yaml:"more,omitempty"`
}

// ChangedField is something that was added or removed, or a field of it that was set. Before
// and After are nil where there is no value; a value that is too long to be kept whole is the
// beginning of its JSON, as a string that ends with "…".
type ChangedField struct {
	Kind   string `json:"kind" yaml:"kind"`
	Name   string `json:"name,omitempty" yaml:"name,omitempty"`
	Field  string `json:"field,omitempty" yaml:"field,omitempty"`
	Did    string `json:"did" yaml:"did"`
	Before any    `json:"before,omitempty" yaml:"before,omitempty"`
	After  any    `json:"after,omitempty" yaml:"after,omitempty"`
}

// ChangesOf is a log of changes for printing.
func ChangesOf(log []state.Logged) []Change {
	out := make([]Change, len(log))
	for i, l := range log {
		c := Change{Number: l.Number, Time: l.Time, User: l.User, Host: l.Host, Command: l.Command, More: l.More, Changes: make([]ChangedField, len(l.Changes))}
		for j, f := range l.Changes {
			c.Changes[j] = ChangedField{f.Kind, f.Name, f.Field, string(f.Did), valueOf(f.Before), valueOf(f.After)}
		}
		out[i] = c
	}
	return out
}

// valueOf is what a text of JSON says, or the text itself where it was cut off.
func valueOf(text string) (v any) {
	if text == "" || json.Unmarshal([]byte(text), &v) == nil {
		return v
	}
	return text
}

// Changes shows a log of changes to people, in the local time or in UTC: a line for who has
// changed something by what, and one below it for each thing.
func Changes(log []state.Logged, utc, colours bool) string {
	var b strings.Builder
	for _, l := range log {
		at := l.Time.Local()
		if utc {
			at = l.Time.UTC()
		}
		who := l.User
		if l.Host != "" {
			who += "@" + l.Host
		}
		head := at.Format("2006-01-02 15:04:05Z07:00") + "  " + Harmless(who) + "  " + Harmless(l.Command)
		if colours {
			head = Paint(Bold, head)
		}
		b.WriteString(head + "\n")
		for _, f := range l.Changes {
			b.WriteString("    " + Harmless(changedField(f)) + "\n")
		}
		if l.More > 0 {
			fmt.Fprintf(&b, "    and %d more\n", l.More)
		}
	}
	return b.String()
}

// changedField says in a line what was changed.
func changedField(f state.LoggedField) string {
	of := strings.TrimSpace(f.Kind + " " + f.Name)
	if f.Field != "" {
		of += ", " + f.Field
	}
	switch {
	case f.Did != state.DidSet:
		return of + ": " + string(f.Did)
	case f.Before == "":
		return of + ": set to " + f.After
	case f.After == "":
		return of + ": " + f.Before + " is no longer set"
	}
	return of + ": " + f.Before + " → " + f.After
}
