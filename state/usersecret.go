package state

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// Secrets are all secrets of the model, in the order in which they were made.
func (m *Model) Secrets(ctx context.Context) ([]model.SecretInfo, error) {
	var all []model.SecretInfo
	_, err := m.view(ctx, func(r docs) (err error) {
		if all, err = list[model.SecretInfo](r, "secret/"); err != nil {
			return errors.Trace(err)
		}
		for i := range all {
			if err := r.leaveOutEnded(&all[i]); err != nil {
				return errors.Trace(err)
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b model.SecretInfo) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(string(a.ID), string(b.ID)))
	})
	return all, errors.Trace(err)
}

// FindSecret is the secret that a person names: by URI or id, or, of those that
// people have added, by name. The error is NotFound.
func (m *Model) FindSecret(ctx context.Context, ref string) (model.SecretInfo, error) {
	all, err := m.Secrets(ctx)
	if err != nil {
		return model.SecretInfo{}, errors.Trace(err)
	}
	id, uuid, bad := model.ParseSecretURI(ref)
	mine := bad == nil && (uuid == "" || uuid == m.UUID())
	for _, s := range all {
		if mine && s.ID == id || s.Owner.Kind == model.OwnedByModel && s.Label == ref {
			return s, nil
		}
	}
	return model.SecretInfo{}, errors.NewNotFound(nil, fmt.Sprintf("secret %q not found", ref))
}

// SecretContent is a revision's content, for people; 0: of the latest one.
func (m *Model) SecretContent(ctx context.Context, id model.SecretID, revision int) (model.SecretContent, error) {
	var content model.SecretContent
	_, err := m.view(ctx, func(r docs) error {
		s, err := r.secret(id)
		if err != nil {
			return errors.Trace(err)
		}
		content, err = r.secretContent(id, cmp.Or(revision, s.Latest().Revision))
		return errors.Trace(err)
	})
	return content, errors.Trace(err)
}

// ChangeUserSecret makes or changes a secret that belongs to the model. The
// error is NotValid for one of an application's or a unit's, which only its
// charm changes, and NotFound for a grant to an application that isn't there.
func (m *Model) ChangeUserSecret(ctx context.Context, c model.SecretChange) error {
	_, err := m.update(ctx, func(tx *txn) error {
		if c.Make == nil {
			s, err := tx.secret(c.ID)
			if err != nil {
				return errors.Trace(err)
			}
			if s.Owner.Kind != model.OwnedByModel {
				return errors.NewNotValid(nil, fmt.Sprintf("secret %q belongs to %s %s: only its charm can change it", c.ID, s.Owner.Kind, s.Owner.Name))
			}
		}
		for _, g := range append(slices.Clone(c.Grant), c.Revoke...) {
			if _, err := tx.application(g.Target); err != nil {
				return errors.Trace(err)
			}
		}
		if err := tx.changeSecret(c); err != nil {
			return errors.Trace(err)
		}
		return tx.prune(c.ID)
	})
	return errors.Trace(err)
}

// prune removes the revisions that nobody reads of a secret that is to be
// pruned.
func (t *txn) prune(id model.SecretID) error {
	s, err := t.secret(id)
	if errors.Is(err, errors.NotFound) || err == nil && (!s.AutoPrune || len(s.Revisions) < 2) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	read, err := list[int](t.docs, secretReaders(id))
	if err != nil {
		return errors.Trace(err)
	}
	var obsolete []int
	for _, r := range s.Revisions[:len(s.Revisions)-1] {
		if !slices.Contains(read, r.Revision) {
			obsolete = append(obsolete, r.Revision)
		}
	}
	if err := t.removeRevisions(&s, obsolete); err != nil {
		return errors.Trace(err)
	}
	return t.put(secretKey(id), s)
}

// ungrant takes from an application that is removed what people have granted it:
// another one may come to have its name.
func (t *txn) ungrant(application string) error {
	all, err := t.secretsUnder(t.m.UUID())
	if err != nil {
		return errors.Trace(err)
	}
	for _, s := range all {
		kept := slices.DeleteFunc(slices.Clone(s.Grants), func(g model.SecretGrant) bool { return g.Target == application })
		if len(kept) == len(s.Grants) {
			continue
		}
		s.Grants = kept
		if err := t.put(secretKey(s.ID), s); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// removeSecretsOf removes the secrets listed under an owner that is gone, and,
// where that was a unit, what it has read.
func (m *Model) removeSecretsOf(ctx context.Context, listed string) error {
	for {
		var some []model.SecretInfo
		_, err := m.view(ctx, func(r docs) (err error) {
			some, err = r.secretsUnder(listed)
			return errors.Trace(err)
		})
		if err != nil {
			return errors.Trace(err)
		}
		if len(some) == 0 {
			break
		}
		for _, s := range some {
			if _, err := m.update(ctx, func(tx *txn) error { return tx.removeSecret(listed, s.ID) }); err != nil {
				return errors.Trace(err)
			}
		}
	}
	var read []store.KV
	_, err := m.view(ctx, func(r docs) (err error) {
		read, err = r.Keys(m.prefix()+secretsReadBy(listed), "", maxListed)
		return errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	for _, kv := range read {
		id := model.SecretID(kv.Key[strings.LastIndexByte(kv.Key, '/')+1:])
		_, err := m.update(ctx, func(tx *txn) error {
			if err := tx.delete(secretsReadBy(listed) + string(id)); err != nil {
				return errors.Trace(err)
			}
			if uuid, _ := id.Split(); uuid != "" {
				return tx.readNoMore(id, listed)
			}
			if err := tx.delete(secretReaders(id) + listed); err != nil {
				return errors.Trace(err)
			}
			return tx.prune(id)
		})
		if err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// SealAnew seals the content of all the model's secrets, the passwords of its
// images, and its objects of the Kubernetes API, with the newest key, and says how
// many there are; UseNewestKey comes before. It can be cut off and run again. What can't be
// opened stays as it is, and the error is ErrSealed in the end.
func (m *Model) SealAnew(ctx context.Context) (int, error) {
	var all []model.SecretInfo
	var apps []ApplicationDoc
	_, err := m.update(ctx, func(tx *txn) (err error) {
		if all, err = list[model.SecretInfo](tx.docs, "secret/"); err != nil {
			return errors.Trace(err)
		}
		apps, err = list[ApplicationDoc](tx.docs, "app/")
		return errors.Trace(err)
	})
	if err != nil {
		return 0, errors.Trace(err)
	}
	var unopened error
	skip := func(err error) error {
		if unopened == nil && errors.Is(err, ErrSealed) {
			unopened = err
		}
		if errors.Is(err, ErrSealed) {
			return nil
		}
		return errors.Trace(err)
	}
	n, err := m.sealObjects(ctx, skip)
	if err != nil {
		return n, errors.Trace(err)
	}
	for _, app := range apps {
		images := 0
		_, err := m.update(ctx, func(tx *txn) (err error) {
			images, err = tx.sealImages(app.Name)
			return err
		})
		if err := skip(err); err != nil {
			return n, err
		}
		if err == nil {
			n += images
		}
	}
	for _, s := range all {
		for _, r := range s.Revisions {
			_, err := m.update(ctx, func(tx *txn) error {
				content, err := tx.secretContent(s.ID, r.Revision)
				if errors.Is(err, errors.NotFound) {
					return nil
				}
				if err != nil {
					return errors.Trace(err)
				}
				return tx.putSecretContent(s.ID, r.Revision, content)
			})
			if err := skip(err); err != nil {
				return n, err
			}
			if err == nil {
				n++
			}
		}
	}
	return n, errors.Trace(unopened)
}
