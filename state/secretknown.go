package state

import (
	"context"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// knownRevisions is how many of a secret's revisions KnownSecrets has, the newest ones: a secret that is
// rotated for years may have thousands.
const knownRevisions = 20

// KnownSecrets are the contents of secrets that a unit may have read or written: the newest revisions of
// its own and of its application's, and of others the one that it reads and the latest, also if it
// may not read them any more. It doesn't wait for the keys. What can't be opened isn't among them, and
// they aren't whole where that may be otherwise later.
func (m *Model) KnownSecrets(ctx context.Context, unit model.UnitName) (known []model.SecretContent, whole bool, err error) {
	_, err = m.store.View(ctx, func(reader store.Reader) error {
		r := docs{reader, m}
		known, whole = nil, true
		u, err := r.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		own, err := r.secretsOf(u, true)
		if err != nil {
			return errors.Trace(err)
		}
		for _, s := range own {
			var revisions []int
			for _, rev := range s.Revisions[max(0, len(s.Revisions)-knownRevisions):] {
				revisions = append(revisions, rev.Revision)
			}
			known = r.addContents(known, s.ID, revisions, &whole)
		}
		read, err := r.secretsOnceRead(u)
		if err != nil {
			return errors.Trace(err)
		}
		for _, s := range read {
			if slices.ContainsFunc(own, func(o model.SecretInfo) bool { return o.ID == s.ID }) {
				continue
			}
			var c consumerDoc
			if _, err := r.find(secretsReadBy(u.ID)+string(s.ID), &c); err != nil {
				return errors.Trace(err)
			}
			known = r.addContents(known, s.ID, slices.Compact([]int{c.Revision, s.Latest().Revision}), &whole)
		}
		return nil
	})
	return known, whole, errors.Trace(err)
}

// addContents adds what can be opened of the revisions of a secret that are there; whole becomes false
// where one lacks its key. One that is damaged is for who reads it to tell of.
func (d docs) addContents(to []model.SecretContent, id model.SecretID, revisions []int, whole *bool) []model.SecretContent {
	for _, rev := range revisions {
		content, err := d.secretContent(id, rev)
		if err == nil {
			to = append(to, content)
		} else if errors.Is(err, ErrSealed) || errors.Is(err, ErrKeysAwaited) {
			*whole = false
		}
	}
	return to
}
