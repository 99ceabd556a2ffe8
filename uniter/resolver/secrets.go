package resolver

import (
	"maps"
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
	// Unrotated: NextRotate is when a secret-rotate comes again that has made no
	// revision.
	Unrotated bool
	Expiring  []Expiring
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
	// Expired are the revisions that secret-expired has told of, with when it last
	// ended. An earlier unitd wrote them without a time, under another name.
	Expired map[int]time.Time `json:"expired-at,omitempty"`
	// Removed are the revisions that secret-remove has told of.
	Removed []int `json:"removed,omitempty"`
}

func (t SecretTold) after(h hooks.Info, at time.Time) SecretTold {
	switch h.Kind {
	case hooks.SecretChanged:
		t.Changed = h.Version
	case hooks.SecretRotate:
		t.Rotated = at
	case hooks.SecretExpired:
		expired := map[int]time.Time{h.SecretRevision: at}
		for revision, was := range t.Expired {
			if revision != h.SecretRevision {
				expired[revision] = was
			}
		}
		t.Expired = expired
	case hooks.SecretRemove:
		t.Removed = append(slices.Clone(t.Removed), h.SecretRevision)
	}
	return t
}

// asOf is what was told as of a time before which all of it was done.
func (t SecretTold) asOf(now time.Time) SecretTold {
	if !t.Rotated.IsZero() {
		t.Rotated = until(t.Rotated, now, 0)
	}
	t.Expired = maps.Clone(t.Expired)
	for revision, at := range t.Expired {
		t.Expired[revision] = until(at, now, 0)
	}
	return t
}

// rotateDue is when a secret is next to be rotated; zero: never. A rotation
// that was skipped counts, though the model doesn't know of it.
func rotateDue(s OwnSecret, told SecretTold, r Remote) time.Time {
	due := s.NextRotate
	if due.IsZero() {
		return due
	}
	if !told.Rotated.Before(due) {
		due = s.Rotate.After(due, told.Rotated)
	}
	if s.Unrotated {
		due = r.notPassed(due)
	}
	return due
}

// expireDue is when a revision's secret-expired is due: when it expires, and then
// again and again until it is removed.
func expireDue(e Expiring, told SecretTold, r Remote) time.Time {
	at, ok := told.Expired[e.Revision]
	if !ok {
		return e.At
	}
	return r.notPassed(at.Add(model.SecretRetry))
}

// notPassed is when what comes again and again is due that would be due at a time:
// where time passes without its update-status, it does without these hooks too.
func (r Remote) notPassed(due time.Time) time.Time {
	for _, passed := range []time.Time{r.StatusPassed, r.SecretsPassed} {
		if next := passed.Add(model.SecretRetry); due.Before(next) {
			due = next
		}
	}
	return due
}

// secrets is the next secret hook: by kind, and within a kind by secret and
// revision. Source: docs/spec/uniter-behaviour.md §1 and §4.
func secrets(l Local, r Remote) (Op, bool) {
	if !l.Started || r.Life != model.Alive {
		return Op{}, false
	}
	for _, next := range []func(Local, Remote) (hooks.Info, bool){expired, rotate, changed, obsolete} {
		if h, ok := next(l, r); ok {
			op, ok := run(l, r, h)
			op.Secrets = toldStill(l, r)
			return op, ok
		}
	}
	return Op{}, false
}

// toldStill is what was told of secrets that the unit cares for, or reads, and of
// their revisions that are still there: nobody needs the rest.
func toldStill(l Local, r Remote) map[model.SecretID]SecretTold {
	still := map[model.SecretID]SecretTold{}
	for _, s := range r.ReadSecrets {
		if told := l.Secrets[s.ID]; told.Changed > 0 {
			still[s.ID] = SecretTold{Changed: told.Changed}
		}
	}
	for _, s := range r.OwnSecrets {
		told, known := l.Secrets[s.ID]
		if !known {
			continue
		}
		var removed []int
		for _, n := range told.Removed {
			if slices.Contains(s.Obsolete, n) {
				removed = append(removed, n)
			}
		}
		expired := map[int]time.Time{}
		for n, at := range told.Expired {
			if s.expires(n) {
				expired[n] = at
			}
		}
		told.Removed, told.Expired = removed, expired
		still[s.ID] = told
	}
	return still
}

func (s OwnSecret) expires(revision int) bool {
	return slices.ContainsFunc(s.Expiring, func(e Expiring) bool { return e.Revision == revision })
}

// secretsAgain is the next hook that comes again about what it was told of before. It gives way to
// all else, as there may be so many revisions that one of them is always due.
func secretsAgain(l Local, r Remote) (Op, bool) {
	if !l.Started || r.Life != model.Alive {
		return Op{}, false
	}
	h, ok := expiredOf(l, r, true)
	if !ok {
		h, ok = rotateOf(l, r, true)
	}
	if !ok {
		return Op{}, false
	}
	op, ok := run(l, r, h)
	op.Secrets = toldStill(l, r)
	return op, ok
}

func expired(l Local, r Remote) (hooks.Info, bool) { return expiredOf(l, r, false) }

// expiredOf is expired for revisions of which the charm was told before, or wasn't.
func expiredOf(l Local, r Remote, again bool) (hooks.Info, bool) {
	for _, s := range r.OwnSecrets {
		for _, e := range s.Expiring {
			told := l.Secrets[s.ID]
			if _, was := told.Expired[e.Revision]; was == again && !r.Now.Before(expireDue(e, told, r)) {
				return hooks.Info{Kind: hooks.SecretExpired, Secret: s.ID, SecretLabel: s.Label, SecretRevision: e.Revision, Cause: "the revision has expired"}, true
			}
		}
	}
	return hooks.Info{}, false
}

func rotate(l Local, r Remote) (hooks.Info, bool) { return rotateOf(l, r, false) }

// rotateOf is rotate for secrets whose last secret-rotate comes again, or doesn't.
func rotateOf(l Local, r Remote, again bool) (hooks.Info, bool) {
	for _, s := range r.OwnSecrets {
		if s.Unrotated != again {
			continue
		}
		if at := rotateDue(s, l.Secrets[s.ID], r); !at.IsZero() && !r.Now.Before(at) {
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
		sooner(rotateDue(s, l.Secrets[s.ID], r))
		for _, e := range s.Expiring {
			sooner(expireDue(e, l.Secrets[s.ID], r))
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
