package state

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// ErrNotYours is returned to who asks for a secret that nobody has granted it.
const ErrNotYours = errors.ConstError("permission denied")

// NewSecretID is the id for a secret that is to be made: chance.
func NewSecretID() (model.SecretID, error) {
	b := make([]byte, 12)
	if _, err := rand.Read(b); err != nil {
		return "", errors.Annotate(err, "cannot make a secret's id")
	}
	return SecretIDOf(b), nil
}

// SecretIDOf is the id that 12 bytes make.
func SecretIDOf(b []byte) model.SecretID {
	enc := base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)
	return model.SecretID(enc.EncodeToString(b))
}

func (d docs) secret(id model.SecretID) (model.SecretInfo, error) {
	var s model.SecretInfo
	uuid, plain := id.Split()
	if uuid == "" {
		err := d.get(secretKey(id), &s)
		return s, named(err, "secret", string(id))
	}
	err := d.at(uuid, "").get(secretKey(plain), &s)
	s.ID = id
	return s, named(err, "secret", id.URI())
}

// secretsUnder are the secrets listed under an owner's list, by id. One that is
// listed and gone is no error: the list is cleaned up later.
func (d docs) secretsUnder(list string) ([]model.SecretInfo, error) {
	if list == "" {
		return nil, nil
	}
	kvs, err := d.Keys(d.m.prefix()+secretsOwnedBy(list), "", maxListed)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var found []model.SecretInfo
	for _, kv := range kvs {
		s, err := d.secret(model.SecretID(kv.Key[strings.LastIndexByte(kv.Key, '/')+1:]))
		if errors.Is(err, errors.NotFound) {
			continue
		}
		if err != nil {
			return nil, errors.Trace(err)
		}
		found = append(found, s)
	}
	return found, nil
}

// maxListed bounds how many secrets one owner can have.
const maxListed = 10_000

// secretsOf are those that a unit can change: its own, and its application's if
// it leads.
func (d docs) secretsOf(u UnitDoc, leads bool) ([]model.SecretInfo, error) {
	var own []model.SecretInfo
	var err error
	if u.Secrets {
		if own, err = d.secretsUnder(u.ID); err != nil || !leads {
			return own, errors.Trace(err)
		}
	}
	if !leads {
		return own, nil
	}
	app, err := d.application(u.Name.Application())
	if err != nil {
		return nil, errors.Trace(err)
	}
	shared, err := d.secretsUnder(app.Secrets)
	return append(own, shared...), errors.Trace(err)
}

// listOf is what an owner's secrets are listed under. It is made with the first
// of them.
func (t *txn) listOf(owner model.SecretOwner, first model.SecretID) (string, error) {
	switch owner.Kind {
	case model.OwnedByModel:
		return t.m.UUID(), nil
	case model.OwnedByUnit:
		return t.usesSecrets(model.UnitName(owner.Name))
	}
	app, err := t.application(owner.Name)
	if err != nil || app.Secrets != "" {
		return app.Secrets, errors.Trace(err)
	}
	app.Secrets = string(first)
	return app.Secrets, t.put(applicationKey(app.Name), app)
}

// usesSecrets notes that a unit has to do with secrets, and returns its id.
func (t *txn) usesSecrets(name model.UnitName) (string, error) {
	u, err := t.unit(name)
	if err != nil || u.Secrets {
		return u.ID, errors.Trace(err)
	}
	u.Secrets = true
	return u.ID, t.put(unitKey(name), u)
}

// applySecrets does what a hook of the unit wants to happen to secrets.
func (t *txn) applySecrets(u UnitDoc, leads bool, changes []model.SecretChange) error {
	for _, c := range changes {
		if err := t.mayChange(u, leads, c); err != nil {
			return err
		}
	}
	for _, c := range changes {
		if err := t.letLabelGo(c); err != nil {
			return errors.Trace(err)
		}
	}
	for _, c := range changes {
		if err := t.changeSecret(c); err != nil {
			return errors.Annotatef(err, "cannot change secret %q", c.ID)
		}
		if err := t.track(u, c); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// letLabelGo takes away a label that its secret isn't to have any more: another
// one may be given it before.
func (t *txn) letLabelGo(c model.SecretChange) error {
	if c.Make != nil || c.Label == nil && !c.RemoveAll {
		return nil
	}
	s, err := t.secret(c.ID)
	if errors.Is(err, errors.NotFound) || err == nil && (s.Label == "" || c.Label != nil && *c.Label == s.Label) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	s.Label = ""
	return t.put(secretKey(s.ID), s)
}

// mayChange is ErrNotLeader for an application's secret in a unit that doesn't
// lead, and NotFound for a secret of somebody else's. A secret that is gone is
// no error: what is to happen to it doesn't.
func (t *txn) mayChange(u UnitDoc, leads bool, c model.SecretChange) error {
	owner := c.Make
	if uuid, _ := c.ID.Split(); uuid != "" {
		return errors.NewNotFound(nil, fmt.Sprintf("secret %q not found", c.ID.URI()))
	}
	if owner == nil {
		s, err := t.secret(c.ID)
		if errors.Is(err, errors.NotFound) {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		owner = &s.Owner
	}
	switch *owner {
	case model.SecretOwner{Kind: model.OwnedByUnit, Name: string(u.Name)}:
		return nil
	case model.SecretOwner{Kind: model.OwnedByApplication, Name: u.Name.Application()}:
		if !leads {
			return errors.Annotatef(ErrNotLeader, "cannot write secret %q of %q", c.ID, owner.Name)
		}
		return nil
	}
	return errors.NewNotFound(nil, fmt.Sprintf("secret %q not found", c.ID))
}

func (t *txn) changeSecret(c model.SecretChange) error {
	s, err := t.secret(c.ID)
	switch {
	case c.Make != nil && err == nil:
		return errors.NewAlreadyExists(nil, fmt.Sprintf("secret %q is there already", c.ID))
	case c.Make != nil && errors.Is(err, errors.NotFound):
		if s, err = t.makeSecret(c); err != nil {
			return errors.Trace(err)
		}
	case errors.Is(err, errors.NotFound):
		return nil // somebody else has removed it meanwhile
	case err != nil:
		return errors.Trace(err)
	}
	list, err := t.listOf(s.Owner, s.ID)
	if err != nil {
		return errors.Trace(err)
	}
	if err := t.tellAbroad(s.ID); err != nil {
		return errors.Trace(err)
	}
	if c.RemoveAll {
		return t.removeSecret(list, s.ID)
	}
	if err := t.describeSecret(&s, list, c); err != nil {
		return errors.Trace(err)
	}
	if err := t.addRevision(&s, c); err != nil {
		return errors.Trace(err)
	}
	if err := t.leaveOutEnded(&s); err != nil {
		return errors.Trace(err)
	}
	for _, g := range c.Grant {
		if !slices.Contains(s.Grants, g) {
			s.Grants = append(s.Grants, g)
		}
	}
	s.Grants = slices.DeleteFunc(s.Grants, func(g model.SecretGrant) bool { return slices.Contains(c.Revoke, g) })
	if err := t.removeRevisions(&s, c.Remove); err != nil {
		return errors.Trace(err)
	}
	if len(s.Revisions) == 0 {
		return t.removeSecret(list, s.ID)
	}
	return t.put(secretKey(s.ID), s)
}

func (t *txn) makeSecret(c model.SecretChange) (model.SecretInfo, error) {
	s := model.SecretInfo{ID: c.ID, Owner: *c.Make, Rotate: model.RotateNever, Created: t.now(), Updated: t.now()}
	list, err := t.listOf(s.Owner, s.ID)
	if err != nil {
		return s, errors.Trace(err)
	}
	return s, t.put(secretsOwnedBy(list)+string(s.ID), struct{}{})
}

// describeSecret changes all but the content. Labels are an owner's own: there
// is one secret at most with each.
func (t *txn) describeSecret(s *model.SecretInfo, list string, c model.SecretChange) error {
	if c.Label != nil && *c.Label != s.Label {
		if *c.Label != "" {
			others, err := t.secretsUnder(list)
			if err != nil {
				return errors.Trace(err)
			}
			if slices.ContainsFunc(others, func(o model.SecretInfo) bool { return o.Label == *c.Label && o.ID != s.ID }) {
				return errors.NewAlreadyExists(nil, fmt.Sprintf("secret with label %q already exists", *c.Label))
			}
		}
		s.Label, s.Updated = *c.Label, t.now()
	}
	if c.Description != nil && *c.Description != s.Description {
		s.Description, s.Updated = *c.Description, t.now()
	}
	if c.AutoPrune != nil {
		s.AutoPrune = *c.AutoPrune
	}
	if c.Rotate != nil && *c.Rotate != s.Rotate {
		s.Rotate, s.NextRotate, s.Updated = *c.Rotate, c.Rotate.Next(t.now()), t.now()
	}
	return nil
}

// addRevision seals new content. The same content again makes no revision, so
// that nobody is told of nothing.
func (t *txn) addRevision(s *model.SecretInfo, c model.SecretChange) error {
	same := false
	if len(s.Revisions) > 0 && c.Content != nil {
		latest, err := t.secretContent(s.ID, s.Latest().Revision)
		if err != nil && !errors.Is(err, ErrSealed) {
			return errors.Trace(err)
		}
		same = err == nil && maps.Equal(latest, c.Content)
	}
	if c.Content != nil && !same {
		if err := c.Content.Check(); err != nil {
			return err
		}
		next := s.Next()
		if err := t.putSecretContent(s.ID, next, c.Content); err != nil {
			return errors.Trace(err)
		}
		s.Made = next
		s.Revisions = append(s.Revisions, model.SecretRevision{Revision: next, Created: t.now(), By: t.by})
		s.Updated = t.now()
	}
	if len(s.Revisions) == 0 {
		return errors.NewNotValid(nil, "it has no content")
	}
	if c.Expires != nil {
		s.Revisions[len(s.Revisions)-1].Expires = *c.Expires
		s.Updated = t.now()
	}
	return nil
}

// removeRevisions removes revisions; the caller puts, or removes, the secret.
func (t *txn) removeRevisions(s *model.SecretInfo, revisions []int) error {
	var kept []model.SecretRevision
	for _, r := range s.Revisions {
		if !slices.Contains(revisions, r.Revision) {
			kept = append(kept, r)
			continue
		}
		if err := t.delete(secretContentKey(s.ID, r.Revision)); err != nil {
			return errors.Trace(err)
		}
	}
	s.Revisions = kept
	return nil
}

// removeSecret takes a secret away that is in a list. Nobody reads it from now
// on; the mass of its documents goes by the cleanup queue.
func (t *txn) removeSecret(list string, id model.SecretID) error {
	if err := t.delete(secretKey(id), secretsOwnedBy(list)+string(id)); err != nil {
		return errors.Trace(err)
	}
	if err := t.endAbroad(id); err != nil {
		return errors.Trace(err)
	}
	if err := t.cleanup(secretContents(id)); err != nil {
		return errors.Trace(err)
	}
	if err := t.cleanup(secretAbroad(id)); err != nil {
		return errors.Trace(err)
	}
	return t.cleanup(secretReaders(id))
}

// rotated takes note that the secret-rotate hook of a secret has run; before is
// what the secret was before it, nil if there was none.
func (t *txn) rotated(before *model.SecretInfo) error {
	if before == nil {
		return nil
	}
	s, err := t.secret(before.ID)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	return t.put(secretKey(s.ID), s.Rotated(*before, t.now()))
}

// rotating is the secret whose secret-rotate hook has run, before what the hook
// wrote; nil: there is none.
func (t *txn) rotating(id model.SecretID) (*model.SecretInfo, error) {
	if id == "" {
		return nil, nil
	}
	s, err := t.secret(id)
	if errors.Is(err, errors.NotFound) {
		return nil, nil
	}
	return &s, errors.Trace(err)
}

// rotatedLate takes the rotations that have made no revision as made up for by
// changes with new content.
func (t *txn) rotatedLate(changes []model.SecretChange) error {
	for _, c := range changes {
		if c.Content == nil || c.Make != nil {
			continue
		}
		s, err := t.secret(c.ID)
		if errors.Is(err, errors.NotFound) { // it has been removed, too
			continue
		}
		if err != nil {
			return errors.Trace(err)
		}
		if !s.Unrotated {
			continue
		}
		s.NextRotate, s.Unrotated = s.Rotate.After(s.NextRotate.Add(-model.SecretRetry), t.now()), false
		if err := t.put(secretKey(s.ID), s); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
