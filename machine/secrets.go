package machine

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter/resolver"
)

// addSecrets turns what the model says of a unit's secrets into what the
// resolver reads.
func addSecrets(r *resolver.Remote, s *state.Snapshot) {
	for _, o := range s.OwnedSecrets {
		own := resolver.OwnSecret{
			ID: o.ID, Label: o.SecretInfo.Label, Rotate: o.Rotate, NextRotate: o.NextRotate, Unrotated: o.Unrotated, Obsolete: o.Obsolete,
		}
		for _, rev := range o.Revisions {
			if !rev.Expires.IsZero() {
				own.Expiring = append(own.Expiring, resolver.Expiring{Revision: rev.Revision, At: rev.Expires})
			}
		}
		r.OwnSecrets = append(r.OwnSecrets, own)
	}
	for _, v := range s.ReadSecrets {
		r.ReadSecrets = append(r.ReadSecrets, resolver.ReadSecret{
			ID: v.ID, Label: v.Label, Latest: v.Latest().Revision, Seen: v.Seen,
		})
	}
}

// Secret is part of hookcontext.View. What the unit reads is masked in its log
// from then on.
func (v liveView) Secret(ref hookcontext.SecretRef) (model.SecretContent, error) {
	content, err := v.model().ReadSecret(v.ctx, v.u.name, state.SecretRef{
		ID: ref.ID, Label: ref.Label, Peek: ref.Peek, Refresh: ref.Refresh, Unnoticed: ref.Unnoticed,
	})
	if errors.Is(err, state.ErrNotYours) {
		return nil, errors.NewForbidden(nil, "permission denied")
	}
	v.Hide(content)
	return content, errors.Trace(err)
}

// SecretPinned is part of hookcontext.View.
func (v liveView) SecretPinned(id model.SecretID) (int, error) {
	return v.model().SecretPinned(v.ctx, v.u.name, id)
}

// OwnSecrets is part of hookcontext.View.
func (v liveView) OwnSecrets() ([]model.SecretInfo, error) {
	return v.model().OwnedSecrets(v.ctx, v.u.name)
}

// NewSecretID is part of hookcontext.View.
func (v liveView) NewSecretID() (model.SecretID, error) {
	if v.u.secretID != nil {
		return v.u.secretID(v.u.model.Name(), v.u.name)
	}
	return state.NewSecretID()
}

// Now is part of hookcontext.View.
func (v liveView) Now() time.Time { return v.u.clock.Now() }

// Hide is part of hookcontext.View.
func (v liveView) Hide(content model.SecretContent) { v.u.mask.add(content, v.named) }

// maskRest is how long hideKnown leaves what it couldn't open.
const maskRest = 5 * time.Second

// hideKnown has the mask know, once in each process, what the unit has read or written before: its
// charm may have kept it.
func (u *unit) hideKnown(ctx context.Context, s *state.Snapshot) error {
	if u.masked {
		return nil
	}
	if !s.Unit.Secrets && s.Application.Secrets == "" {
		u.masked = true
		return nil
	}
	if u.clock.Now().Before(u.maskAgain) {
		return nil
	}
	known, whole, err := u.model.KnownSecrets(ctx, u.name)
	if err != nil {
		return errors.Annotate(err, "cannot read what is to be hidden in the log")
	}
	for _, content := range known {
		liveView{ctx: ctx, u: u}.Hide(content)
	}
	// Nobody's hooks wait for keys that may come, or for what is damaged.
	u.masked, u.maskAgain = whole, u.clock.Now().Add(maskRest)
	return nil
}

// named says whether a value is a name of the model; where nobody can tell, it
// isn't.
func (v liveView) named(value string) bool {
	named, err := v.u.model.IsName(v.ctx, v.u.name.Application(), value)
	return named && err == nil
}

// mask knows the values of secrets that a unit has read or written, so that they
// get neither into its log nor into its recordings. The zero value knows none.
// It is safe for use by many goroutines.
type mask struct {
	mu     sync.Mutex
	values []recording.Secret // the longest first: one may be part of another
}

// maskShort is the length below which a value is no secret by itself: it would
// be found all over any text.
const maskShort = 5

// add adds the content of a secret, but for values that are names of the model:
// they would be missing from every path and message.
func (m *mask) add(content model.SecretContent, named func(string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, v := range content {
		b, err := base64.StdEncoding.DecodeString(v)
		if err != nil || named(string(b)) {
			continue
		}
		for _, secret := range []recording.Secret{{Key: k, Value: string(b)}, {Key: k, Value: v}} {
			if !slices.Contains(m.values, secret) {
				m.values = append(m.values, secret)
			}
		}
	}
	slices.SortStableFunc(m.values, func(a, b recording.Secret) int { return len(b.Value) - len(a.Value) })
}

// all are the values.
func (m *mask) all() []recording.Secret {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.values)
}

// text is text without the values: without each line of those that have
// several.
func (m *mask) text(text string) string {
	for _, secret := range m.all() {
		for line := range strings.Lines(secret.Value) {
			if line = strings.TrimSpace(line); len(line) >= maskShort {
				text = strings.ReplaceAll(text, line, "*****")
			}
		}
	}
	return text
}
