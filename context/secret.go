package hookcontext

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// SecretRef says which secret is read, and how; see state.SecretRef.
type SecretRef struct {
	ID            model.SecretID
	Label         string
	Peek, Refresh bool
	Unnoticed     bool
}

// Now is the time as the agent has it.
func (c *Context) Now() time.Time { return c.p.View.Now() }

// Secret is the content of a secret. What the hook has written to one of the
// unit's own is seen by peeking, by refreshing and from then on, and by who reads
// the secret for the first time. Errors: NotFound, and Forbidden "permission
// denied". Source: docs/spec/hook-tools.md §6.
func (c *Context) Secret(ref SecretRef) (model.SecretContent, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.pendingRead(ref)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if p != nil {
		switch {
		case p.RemoveAll:
			return nil, secretNotFound(string(p.ID))
		case p.Content != nil:
			pinned, err := c.pinned(p, ref)
			if err != nil {
				return nil, errors.Trace(err)
			}
			if !pinned {
				return p.Content, nil
			}
		}
		if ref.ID == "" {
			ref.ID, ref.Label = p.ID, ""
		}
	}
	content, err := c.p.View.Secret(ref)
	return content, errors.Trace(err)
}

// pinned says whether a read gets what it got before, and not the content that
// the hook has written. Which revision that is gets known by the commit, which
// pins it.
func (c *Context) pinned(p *model.SecretChange, ref SecretRef) (bool, error) {
	if p.Make != nil || ref.Peek || ref.Refresh || p.Track {
		p.Track = p.Track || ref.Refresh
		return false, nil
	}
	revision, err := c.p.View.SecretPinned(p.ID)
	p.Track = err == nil && revision == 0
	return !p.Track, errors.Trace(err)
}

// pendingRead is what the hook has done to a secret that is read, which may be
// found by a label that it had before the hook. The error is NotFound for a label
// that the hook has taken from its secret.
func (c *Context) pendingRead(ref SecretRef) (*model.SecretChange, error) {
	if p := c.pendingSecret(ref); p != nil || ref.ID != "" || len(c.secrets) == 0 {
		return p, nil
	}
	own, err := c.ownSecrets()
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, s := range own {
		switch p := c.pendingSecret(SecretRef{ID: s.ID}); {
		case s.Label != ref.Label || p == nil:
		case p.Label != nil:
			return nil, errors.NewNotFound(nil, fmt.Sprintf("consumer label %q not found", ref.Label))
		default:
			return p, nil
		}
	}
	return nil, nil
}

// pendingSecret is what the hook has done to a secret; nil: nothing.
func (c *Context) pendingSecret(ref SecretRef) *model.SecretChange {
	for i := range c.secrets {
		p := &c.secrets[i]
		if ref.ID == p.ID || ref.ID == "" && p.Label != nil && *p.Label == ref.Label {
			return p
		}
	}
	return nil
}

// changeOf is the place for what the hook does to a secret.
func (c *Context) changeOf(id model.SecretID) *model.SecretChange {
	if p := c.pendingSecret(SecretRef{ID: id}); p != nil {
		return p
	}
	c.secrets = append(c.secrets, model.SecretChange{ID: id})
	return &c.secrets[len(c.secrets)-1]
}

func secretNotFound(ref string) error {
	return errors.NewNotFound(nil, fmt.Sprintf("secret %q not found", ref))
}

// Hide says that values are secrets though no call has come to write them; they
// are in base64, by their keys.
func (c *Context) Hide(content model.SecretContent) { c.p.View.Hide(content) }

// AddSecret makes a secret of the unit's application, which only the leader can,
// or of the unit; the id is the secret's for good once the hook has succeeded.
// The error is AlreadyExists for a label that another one has.
func (c *Context) AddSecret(owner model.OwnerKind, change model.SecretChange) (model.SecretID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.p.View.Hide(change.Content) // also what is refused was in the call
	change.Make = &model.SecretOwner{Kind: owner, Name: string(c.p.Unit)}
	if owner == model.OwnedByApplication {
		change.Make.Name = c.p.Unit.Application()
		if err := c.requireLeader(); err != nil {
			return "", errors.Trace(err)
		}
	}
	if err := change.Content.Check(); err != nil {
		return "", errors.Trace(err)
	}
	if err := c.freeLabel("", change.Label); err != nil {
		return "", errors.Trace(err)
	}
	id, err := c.p.View.NewSecretID()
	if err != nil {
		return "", errors.Trace(err)
	}
	change.ID = id
	c.secrets = append(c.secrets, change)
	return id, nil
}

// freeLabel is AlreadyExists for a label that another of the unit's secrets has.
func (c *Context) freeLabel(id model.SecretID, label *string) error {
	if label == nil || *label == "" {
		return nil
	}
	taken := errors.NewAlreadyExists(nil, fmt.Sprintf("secret with label %q already exists", *label))
	if p := c.pendingSecret(SecretRef{Label: *label}); p != nil && p.ID != id {
		return taken
	}
	own, err := c.ownSecrets()
	if err != nil {
		return errors.Trace(err)
	}
	for _, s := range own {
		if p := c.pendingSecret(SecretRef{ID: s.ID}); p != nil && (p.RemoveAll || p.Label != nil) {
			continue
		}
		if s.Label == *label && s.ID != id {
			return taken
		}
	}
	return nil
}

// ownSecrets are the unit's and its application's as they were when the hook
// first asked.
func (c *Context) ownSecrets() ([]model.SecretInfo, error) {
	own, err := c.owned.get(c.p.View.OwnSecrets)
	return own, errors.Annotate(err, "cannot read secrets")
}

// ownSecret finds a secret that the unit can change. The error is NotFound for
// one that isn't its own, and ErrNotLeader for its application's if it doesn't
// lead.
func (c *Context) ownSecret(id model.SecretID) (model.SecretInfo, error) {
	if p := c.pendingSecret(SecretRef{ID: id}); p != nil && p.Make != nil {
		return model.SecretInfo{ID: id, Owner: *p.Make}, nil
	} else if p != nil && p.RemoveAll {
		return model.SecretInfo{}, secretNotFound(string(id))
	}
	own, err := c.ownSecrets()
	if err != nil {
		return model.SecretInfo{}, errors.Trace(err)
	}
	i := slices.IndexFunc(own, func(s model.SecretInfo) bool { return s.ID == id })
	if i < 0 {
		return model.SecretInfo{}, secretNotFound(string(id))
	}
	if own[i].Owner.Kind == model.OwnedByApplication {
		return own[i], errors.Trace(c.requireLeader())
	}
	return own[i], nil
}

// SetSecret changes one of the unit's secrets; what change leaves nil stays, and
// several calls of a hook are one change. Errors: NotFound, ErrNotLeader,
// AlreadyExists for a label.
func (c *Context) SetSecret(change model.SecretChange) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.p.View.Hide(change.Content)
	if _, err := c.ownSecret(change.ID); err != nil {
		return errors.Trace(err)
	}
	if err := change.Content.Check(); err != nil {
		return errors.Trace(err)
	}
	if err := c.freeLabel(change.ID, change.Label); err != nil {
		return errors.Trace(err)
	}
	p := c.changeOf(change.ID)
	if change.Label != nil {
		p.Label = change.Label
	}
	if change.Description != nil {
		p.Description = change.Description
	}
	if change.Rotate != nil {
		p.Rotate = change.Rotate
	}
	if change.Expires != nil {
		p.Expires = change.Expires
	}
	if change.Content != nil {
		p.Content = change.Content
	}
	return nil
}

// RemoveSecret removes a revision of one of the unit's secrets, or, with 0, the
// secret. What the hook has made itself is as if it never was. What the hook has
// removed can be removed again. Source: docs/spec/hook-tools.md §6.
func (c *Context) RemoveSecret(id model.SecretID, revision int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pendingSecret(SecretRef{ID: id}); c.unmade[id] || p != nil && (p.RemoveAll || slices.Contains(p.Remove, revision)) {
		return nil
	}
	s, err := c.ownSecret(id)
	if err != nil {
		return errors.Trace(err)
	}
	p := c.changeOf(id)
	switch {
	case p.Make != nil && revision <= 1:
		c.secrets = slices.DeleteFunc(c.secrets, func(s model.SecretChange) bool { return s.ID == id })
		c.unmade[id] = true
	case revision == 0:
		*p = model.SecretChange{ID: id, RemoveAll: true}
	default:
		p.Remove = append(p.Remove, revision)
		if p.Make == nil && len(c.changed(s, p).Revisions) == 0 {
			*p = model.SecretChange{ID: id, RemoveAll: true} // it goes with its last revision
		}
	}
	return nil
}

// Secrets are those that the unit can change, as the hook has left them: its
// own, and its application's if it leads. They have one revision at least.
func (c *Context) Secrets() ([]model.SecretInfo, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own, err := c.ownSecrets()
	if err != nil {
		return nil, errors.Trace(err)
	}
	leader, err := c.isLeader()
	if err != nil {
		return nil, errors.Annotate(err, "cannot determine leadership status")
	}
	var out []model.SecretInfo
	for _, s := range own {
		if s.Owner.Kind == model.OwnedByApplication && !leader {
			continue
		}
		if p := c.pendingSecret(SecretRef{ID: s.ID}); p != nil {
			if p.RemoveAll {
				continue
			}
			s = c.changed(s, p)
		}
		out = append(out, s)
	}
	for i := range c.secrets {
		if p := &c.secrets[i]; p.Make != nil {
			now := c.p.View.Now()
			made := model.SecretInfo{ID: p.ID, Owner: *p.Make, Rotate: model.RotateNever, Created: now, Updated: now}
			out = append(out, c.changed(made, p))
		}
	}
	return out, nil
}

// changed is a secret with what the hook does to it. When it is rotated next is
// set by the commit, and so is told from the next hook on.
func (c *Context) changed(s model.SecretInfo, p *model.SecretChange) model.SecretInfo {
	s.Grants, s.Revisions = c.grants(s), slices.Clone(s.Revisions)
	if p.Label != nil {
		s.Label = *p.Label
	}
	if p.Description != nil {
		s.Description = *p.Description
	}
	if p.Rotate != nil {
		s.Rotate = *p.Rotate
	}
	if p.Content != nil && !c.says(p) {
		s.Revisions = append(s.Revisions, model.SecretRevision{Revision: s.Next(), Created: c.p.View.Now()})
	}
	if p.Expires != nil && len(s.Revisions) > 0 {
		s.Revisions[len(s.Revisions)-1].Expires = *p.Expires
	}
	s.Revisions = slices.DeleteFunc(s.Revisions, func(r model.SecretRevision) bool { return slices.Contains(p.Remove, r.Revision) })
	return s
}

// says whether a secret's latest revision has the content that the hook has
// written: then there will be no other.
func (c *Context) says(p *model.SecretChange) bool {
	if p.Make != nil {
		return false
	}
	latest, err := forKey(c.latest, p.ID).get(func() (model.SecretContent, error) {
		return c.p.View.Secret(SecretRef{ID: p.ID, Peek: true, Unnoticed: true})
	})
	return err == nil && maps.Equal(latest, p.Content) // one that can't be read is replaced
}
