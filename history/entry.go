package history

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unitd/unitd/model"
)

// Call is one hook tool call of a run. It has no values: neither what key=value
// arguments gave, nor what was read or printed; see package recording for those.
type Call struct {
	Tool string   `json:"tool"`
	Args []string `json:"args,omitempty"`
	Code int      `json:"code,omitempty"` // its exit code
	// At is when it began, after the start of the run; Took is how long it took.
	At   time.Duration `json:"at"`   // in ns
	Took time.Duration `json:"took"` // in ns
}

// String is the call as it may be typed, but for the values.
func (c Call) String() string { return strings.Join(append([]string{c.Tool}, c.Args...), " ") }

const (
	// MaxCalls is how many calls of a run an entry has; Entry.Tools counts all.
	MaxCalls = 64
	// maxArgs bounds the arguments of a call, in bytes.
	maxArgs = 120
	// maxChanged bounds the names of what has changed, in bytes.
	maxChanged = 1024
)

// AddCall adds a call that has ended, if it is one of the first; it counts all.
func (e *Entry) AddCall(c Call) {
	e.Tools++
	if len(e.Calls) == MaxCalls {
		return
	}
	c.Args = cut(c.Args, maxArgs)
	e.Calls = append(e.Calls, c)
}

// SetChanged sets what has changed, or as much of it as an entry has room for.
func (e *Entry) SetChanged(names []string) { e.Changed = cut(names, maxChanged) }

// cut is as many of the words as fit into so many bytes, with a sign where some
// are left out.
func cut(words []string, most int) []string {
	size := 0
	for i, w := range words {
		if size += len(w) + 1; size > most {
			return append(words[:i:i], "…")
		}
	}
	return words
}

// Cause says for people why the hook ran, and what has changed where that is
// known: "configuration changed: port, title".
func (e Entry) Cause() string {
	if len(e.Changed) == 0 {
		return e.Hook.Cause
	}
	return e.Hook.Cause + ": " + strings.Join(e.Changed, ", ")
}

// Written is how much a run has committed: keys and values in bytes, and how
// many ports it has opened and closed.
type Written struct {
	Databags int `json:"databags,omitempty"` // of the unit and its application
	Leader   int `json:"leader,omitempty"`   // leader settings
	State    int `json:"state,omitempty"`    // the charm's state
	Ports    int `json:"ports,omitempty"`    // how many
	// Bags are the relations in which it has written the unit's databag, AppBags those in
	// which it has written the application's, and Secrets those that got new content: they
	// tell which hooks of other units follow from the run.
	Bags    []model.RelationID `json:"bags,omitempty"`
	AppBags []model.RelationID `json:"app-bags,omitempty"`
	Secrets []model.SecretID   `json:"secrets,omitempty"`
}

// IsZero says whether nothing was written.
func (w Written) IsZero() bool {
	return w.Databags == 0 && w.Leader == 0 && w.State == 0 && w.Ports == 0 && len(w.Bags)+len(w.AppBags)+len(w.Secrets) == 0
}

// WrittenBy is how much there is in changes.
func WrittenBy(c model.Changes) Written {
	w := Written{Ports: len(c.Ports), Leader: size(c.LeaderSettings)}
	for id, r := range c.Relations {
		w.Databags += size(r.Unit) + size(r.Application)
		if len(r.Unit) > 0 {
			w.Bags = append(w.Bags, id)
		}
		if len(r.Application) > 0 {
			w.AppBags = append(w.AppBags, id)
		}
	}
	slices.Sort(w.Bags)
	slices.Sort(w.AppBags)
	for _, s := range c.Secrets {
		if len(s.Content) > 0 {
			w.Secrets = append(w.Secrets, s.ID)
		}
	}
	for k, v := range c.State {
		w.State += len(k)
		if v != nil {
			w.State += len(*v)
		}
	}
	return w
}

func size(s model.Settings) int {
	n := 0
	for k, v := range s {
		n += len(k) + len(v)
	}
	return n
}

// String says it for people; empty where nothing was written.
func (w Written) String() string {
	var parts []string
	for _, part := range []struct {
		n    int
		text string
	}{
		{w.Databags, "%d bytes in databags"}, {w.Leader, "%d bytes in leader settings"},
		{w.State, "%d bytes of state"}, {w.Ports, "%d ports"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf(part.text, part.n))
		}
	}
	return strings.Join(parts, ", ")
}
