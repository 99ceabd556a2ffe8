package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// SecretID is the id of a secret, 20 characters: "9m4e2mr0ui3e8a215n4g". That of a secret of
// another model has the model's UUID and a colon before it.
type SecretID string

// URI is the secret as charms and people name it: "secret:9m4e2mr0ui3e8a215n4g", or
// "secret://MODEL-UUID/ID" for one of another model.
func (id SecretID) URI() string {
	if uuid, plain := id.Split(); uuid != "" {
		return plain.LongURI(uuid)
	}
	return "secret:" + string(id)
}

// LongURI is the URI of a secret of a model, by which other models find it too.
func (id SecretID) LongURI(uuid string) string { return "secret://" + uuid + "/" + string(id) }

// Of is the id as models have it that the secret isn't of.
func (id SecretID) Of(uuid string) SecretID { return SecretID(uuid + ":" + string(id)) }

// Split is the UUID of the model that a secret is of, and its id there; the UUID is empty for
// one of the model that asks.
func (id SecretID) Split() (uuid string, plain SecretID) {
	uuid, text, foreign := strings.Cut(string(id), ":")
	if !foreign {
		return "", id
	}
	return uuid, SecretID(text)
}

// The last character has one bit of the 96 that an id is made of.
var secretID = pattern.New(`^[0-9a-v]{19}[0g]$`)

// modelUUID is what a model's UUID looks like.
var modelUUID = pattern.New(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// ValidModelUUID says whether a text can be the UUID of a model.
func ValidModelUUID(s string) bool { return modelUUID.MatchString(s) }

// ParseSecretURI takes "ID", "secret:ID", "secret:/ID" and
// "secret://MODEL-UUID/ID", and gives the UUID as well, empty if there is none:
// ids are a model's own. The error is NotValid. Source: docs/spec/hook-tools.md §6.
func ParseSecretURI(s string) (id SecretID, uuid string, err error) {
	text := strings.TrimPrefix(s, "secret:")
	if rest, ok := strings.CutPrefix(text, "//"); ok {
		uuid, text, _ = strings.Cut(rest, "/")
	}
	text = strings.TrimPrefix(text, "/")
	if !secretID.MatchString(text) {
		return "", "", errors.NewNotValid(nil, fmt.Sprintf("secret URI %q not valid", s))
	}
	return SecretID(text), uuid, nil
}

// OwnerKind says what kind of thing owns a secret.
type OwnerKind string

// The kinds of owner. A model's secrets are those that people have added.
const (
	OwnedByApplication OwnerKind = "application"
	OwnedByUnit        OwnerKind = "unit"
	OwnedByModel       OwnerKind = "model"
)

// SecretOwner owns a secret: an application ("mysql"), a unit ("mysql/0"), or
// the model, whose name is its UUID.
type SecretOwner struct {
	Kind OwnerKind `json:"kind"`
	Name string    `json:"name"`
}

// RotatePolicy says how often a secret's owner is asked for new content.
type RotatePolicy string

// RotateNever is the policy of a secret that nobody is asked to rotate.
const RotateNever RotatePolicy = "never"

// rotations are the policies with their intervals: a duration, or months.
var rotations = []struct {
	policy RotatePolicy
	every  time.Duration
	months int
}{
	{RotateNever, 0, 0},
	{"hourly", time.Hour, 0},
	{"daily", 24 * time.Hour, 0},
	{"weekly", 7 * 24 * time.Hour, 0},
	{"monthly", 0, 1},
	{"quarterly", 0, 3},
	{"yearly", 0, 12},
}

// ParseRotatePolicy is NotValid for what isn't a policy.
func ParseRotatePolicy(s string) (RotatePolicy, error) {
	for _, r := range rotations {
		if string(r.policy) == s {
			return r.policy, nil
		}
	}
	return "", errors.NewNotValid(nil, fmt.Sprintf("rotate policy %q not valid", s))
}

// Next is when a secret is to be rotated that was at from; zero: never.
func (p RotatePolicy) Next(from time.Time) time.Time {
	for _, r := range rotations {
		if r.policy == p && (r.every > 0 || r.months > 0) {
			return from.Add(r.every).AddDate(0, r.months, 0)
		}
	}
	return time.Time{}
}

// SecretRetry is how long after a secret-rotate that has made no revision, or a
// secret-expired that has removed none, the hook comes again. Source:
// docs/spec/uniter-facts.md §1.1.
const SecretRetry = 5 * time.Minute

// After is the first of the times that follow due at the policy's interval that
// is after from: what was missed is made up for once. Zero: never.
func (p RotatePolicy) After(due, from time.Time) time.Time {
	for _, r := range rotations {
		switch {
		case r.policy != p:
		case r.every > 0:
			return afterBy(r.every, due, from)
		case r.months > 0:
			next := due.AddDate(0, r.months, 0)
			for n := 2 * r.months; !next.After(from); n += r.months {
				next = due.AddDate(0, n, 0)
			}
			return next
		}
	}
	return time.Time{}
}

// afterBy is the first time after from that is a whole number of intervals after
// due, but one at least.
func afterBy(every time.Duration, due, from time.Time) time.Time {
	return due.Add(every * (1 + max(0, from.Sub(due)/every)))
}

// The limits of a secret's content, in bytes. Source: docs/spec/hook-tools.md §6.
const (
	MaxSecretValue = 8 << 10
	MaxSecret      = 64 << 10
)

var secretKey = pattern.New(`^([a-z](?:-?[a-z0-9]){2,})$`)

// CheckSecretKey is NotValid for what can't be a key of a secret.
func CheckSecretKey(key string) error {
	if !secretKey.MatchString(key) {
		return errors.NewNotValid(nil, fmt.Sprintf("key %q not valid", key))
	}
	return nil
}

// SecretContent is what a secret says: its values in base64, by key. It is never
// shown or logged whole.
type SecretContent map[string]string

// String hides the values from whoever prints it by mistake.
func (c SecretContent) String() string { return fmt.Sprintf("a secret with %d keys", len(c)) }

// GoString is String, for %#v.
func (c SecretContent) GoString() string { return c.String() }

// Check is NotValid, or QuotaLimitExceeded, for content that can't be stored.
func (c SecretContent) Check() error {
	total := 0
	for k, v := range c {
		if err := CheckSecretKey(k); err != nil {
			return err
		}
		size := len(v)*3/4 - (len(v) - len(strings.TrimRight(v, "="))) // without the padding
		if size > MaxSecretValue {
			return errors.NewQuotaLimitExceeded(nil, fmt.Sprintf("secret content for key %q too large: %d bytes", k, size))
		}
		total += size
	}
	if total > MaxSecret {
		return errors.NewQuotaLimitExceeded(nil, fmt.Sprintf("secret content too large: %d bytes", total))
	}
	return nil
}

// SecretGrant lets an application, or a unit, read a secret, for as long as a
// relation is there; NoRelation: until it is revoked.
type SecretGrant struct {
	Target   string     `json:"target"` // "mysql" or "mysql/0"
	Relation RelationID `json:"relation"`
}

// SecretInfo is what is known of a secret but its content.
type SecretInfo struct {
	ID          SecretID     `json:"id"`
	Owner       SecretOwner  `json:"owner"`
	Label       string       `json:"label,omitempty"` // of one that people have added: its name
	Description string       `json:"description,omitempty"`
	Rotate      RotatePolicy `json:"rotate,omitempty"`
	NextRotate  time.Time    `json:"next-rotate,omitzero"`
	// Unrotated: the newest secret-rotate has made no revision, and comes again at
	// NextRotate.
	Unrotated bool          `json:"unrotated,omitempty"`
	AutoPrune bool          `json:"auto-prune,omitempty"`
	Created   time.Time     `json:"created"`
	Updated   time.Time     `json:"updated"`
	Grants    []SecretGrant `json:"grants,omitempty"`
	// Revisions are those that weren't removed, oldest first; the last one is
	// the latest, and there is always one.
	Revisions []SecretRevision `json:"revisions"`
	// Made is the number of the newest revision that ever was: numbers aren't
	// used again.
	Made int `json:"made,omitempty"`
}

// SecretRevision is one revision of a secret's content.
type SecretRevision struct {
	Revision int       `json:"revision"` // from 1
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires,omitzero"`
	// By is the traceparent of what has made it; empty: it wasn't traced.
	By string `json:"by,omitempty"`
}

// Latest is the newest revision.
func (s SecretInfo) Latest() SecretRevision { return s.Revisions[len(s.Revisions)-1] }

// Next is the number of the revision that new content will be.
func (s SecretInfo) Next() int {
	next := s.Made + 1
	for _, r := range s.Revisions {
		next = max(next, r.Revision+1)
	}
	return next
}

// rotateSlack is how far from now the next secret-rotate is at least.
const rotateSlack = time.Minute

// Rotated is the secret once a secret-rotate hook of it has ended at a time;
// before is the secret as it was when the hook's writes were applied. If the hook
// has made no revision, it comes again soon. The times go by when it was due, not
// by when it ran.
func (s SecretInfo) Rotated(before SecretInfo, at time.Time) SecretInfo {
	due, from := before.NextRotate, at.Add(rotateSlack)
	if due.IsZero() {
		due = at
	}
	s.NextRotate = s.Rotate.After(due, from)
	s.Unrotated = !s.NextRotate.IsZero() && s.Next() == before.Next()
	if s.Unrotated {
		s.NextRotate = afterBy(SecretRetry, due, from)
	}
	return s
}

// Granted says whether the application, or the unit itself, was granted the
// secret, through whichever relation.
func (s SecretInfo) Granted(target string) bool {
	return slices.ContainsFunc(s.Grants, func(g SecretGrant) bool { return g.Target == target })
}

// SecretChange is all that one hook wants to happen to a secret: it is made,
// changed, granted and revoked, and removed, in this order.
type SecretChange struct {
	ID SecretID `json:"id"`
	// Make is the owner of a secret that is to be made; nil: it is there.
	Make *SecretOwner `json:"make,omitempty"`
	// What is nil stays as it is.
	Label       *string       `json:"label,omitempty"`
	Description *string       `json:"description,omitempty"`
	Rotate      *RotatePolicy `json:"rotate,omitempty"`
	Expires     *time.Time    `json:"expires,omitempty"` // of the latest revision
	AutoPrune   *bool         `json:"auto-prune,omitempty"`
	// Content makes a new revision, unless the latest one has it. It is left out
	// of what is written down of a change.
	Content SecretContent `json:"-"`
	Grant   []SecretGrant `json:"grant,omitempty"`
	Revoke  []SecretGrant `json:"revoke,omitempty"`
	// Track: the unit reads the latest revision from now on.
	Track bool `json:"track,omitempty"`
	// Remove has revisions that go; RemoveAll: the secret goes.
	Remove    []int `json:"remove,omitempty"`
	RemoveAll bool  `json:"remove-all,omitempty"`
}
