package resolver

import (
	"slices"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// OwnSecret is a secret that a unit cares for: its own, or, if it leads, one of
// its application's.
type OwnSecret struct {
	ID    model.SecretID
	Label string
	// Rotate is how often it is to be rotated, NextRotate when that is next due.
	Rotate     model.RotatePolicy
	NextRotate time.Time
	Expiring   []Expiring
	// Obsolete are the revisions but the latest that nobody reads.
	Obsolete []int
}

// Expiring is a revision with the time of its expiry.
type Expiring struct {
	Revision int
	At       time.Time
}

// ReadSecret is a secret that a unit has read.
type ReadSecret struct {
	ID    model.SecretID
	Label string
	// Latest is the newest revision; Seen is what that was when the unit last
	// asked for it.
	Latest, Seen int
}

// SecretTold is what a unit was told of one secret.
type SecretTold struct {
	// Changed is the newest revision that secret-changed has told of.
	Changed int `json:"changed,omitempty"`
	// Rotated is when secret-rotate last ended.
	Rotated time.Time `json:"rotated,omitzero"`
	// Expired and Removed are the revisions that those hooks have told of.
	Expired []int `json:"expired,omitempty"`
	Removed []int `json:"removed,omitempty"`
}

func (t SecretTold) after(h hooks.Info, at time.Time) SecretTold {
	switch h.Kind {
	case hooks.SecretChanged:
		t.Changed = h.Version
	case hooks.SecretRotate:
		t.Rotated = at
	case hooks.SecretExpired:
		t.Expired = append(slices.Clone(t.Expired), h.SecretRevision)
	case hooks.SecretRemove:
		t.Removed = append(slices.Clone(t.Removed), h.SecretRevision)
	}
	return t
}

// rotateDue is when a secret is next to be rotated; zero: never. A rotation
// that was skipped counts, though the model doesn't know of it.
func rotateDue(s OwnSecret, told SecretTold) time.Time {
	if s.NextRotate.IsZero() || told.Rotated.Before(s.NextRotate) {
		return s.NextRotate
	}
	return s.Rotate.Next(told.Rotated)
}

// secrets is the next secret hook: by kind, and within a kind by secret and
// revision. Source: docs/spec/uniter-behaviour.md §1 and §4.
func secrets(l Local, r Remote) (Op, bool) {
	if !l.Started || r.Life != model.Alive {
		return Op{}, false
	}
	for _, next := range []func(Local, Remote) (hooks.Info, bool){expired, rotate, changed, obsolete} {
		if h, ok := next(l, r); ok {
			return run(l, r, h)
		}
	}
	return Op{}, false
}

func expired(l Local, r Remote) (hooks.Info, bool) {
	for _, s := range r.OwnSecrets {
		for _, e := range s.Expiring {
			if !r.Now.Before(e.At) && !slices.Contains(l.Secrets[s.ID].Expired, e.Revision) {
				return hooks.Info{Kind: hooks.SecretExpired, Secret: s.ID, SecretLabel: s.Label, SecretRevision: e.Revision, Cause: "the revision has expired"}, true
			}
		}
	}
	return hooks.Info{}, false
}

func rotate(l Local, r Remote) (hooks.Info, bool) {
	for _, s := range r.OwnSecrets {
		if at := rotateDue(s, l.Secrets[s.ID]); !at.IsZero() && !r.Now.Before(at) {
			return hooks.Info{Kind: hooks.SecretRotate, Secret: s.ID, SecretLabel: s.Label, Cause: "it is to be rotated " + string(s.Rotate)}, true
		}
	}
	return hooks.Info{}, false
}

func changed(l Local, r Remote) (hooks.Info, bool) {
	for _, s := range r.ReadSecrets {
		if s.Latest > max(s.Seen, l.Secrets[s.ID].Changed) {
			return hooks.Info{Kind: hooks.SecretChanged, Secret: s.ID, SecretLabel: s.Label, Version: s.Latest, Cause: "its owner has changed it"}, true
		}
	}
	return hooks.Info{}, false
}

func obsolete(l Local, r Remote) (hooks.Info, bool) {
	for _, s := range r.OwnSecrets {
		for _, revision := range s.Obsolete {
			if !slices.Contains(l.Secrets[s.ID].Removed, revision) {
				return hooks.Info{Kind: hooks.SecretRemove, Secret: s.ID, SecretLabel: s.Label, SecretRevision: revision, Cause: "nobody reads the revision"}, true
			}
		}
	}
	return hooks.Info{}, false
}

// secretsDue is when a secret hook will be due without a change; zero: never.
func secretsDue(l Local, r Remote) time.Time {
	var first time.Time
	sooner := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !l.Started || r.Life != model.Alive {
		return first
	}
	for _, s := range r.OwnSecrets {
		sooner(rotateDue(s, l.Secrets[s.ID]))
		for _, e := range s.Expiring {
			if !slices.Contains(l.Secrets[s.ID].Expired, e.Revision) {
				sooner(e.At)
			}
		}
	}
	return first
}

// currentSecret says whether a failed hook's secret is still the unit's, or may
// be read by it, and brings the hook up to date.
func currentSecret(h *hooks.Info, r Remote) bool {
	if h.Kind != hooks.SecretChanged {
		return slices.ContainsFunc(r.OwnSecrets, func(s OwnSecret) bool { return s.ID == h.Secret })
	}
	for _, s := range r.ReadSecrets {
		if s.ID == h.Secret {
			h.Version = s.Latest
			return true
		}
	}
	return false
}
