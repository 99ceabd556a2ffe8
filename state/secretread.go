package state

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// SecretRef says which secret a unit reads, and how: by its id or by a label,
// which is the owner's, for the units that own it, or the reader's own. With
// both, the label is given to it by the reader.
type SecretRef struct {
	ID    model.SecretID
	Label string
	// Peek gets the latest revision once; Refresh gets it from now on. Else the
	// unit gets the revision that was the latest when it first read the secret,
	// also if that was by Peek.
	Peek, Refresh bool
	// Unnoticed: it isn't the unit that reads, and nothing is kept of it.
	Unnoticed bool
}

// ReadSecret is the content of a secret for a unit. Which revision a unit reads
// is kept, at once. Errors: NotFound with the contract's texts, ErrNotYours, and
// AlreadyExists for a label that the unit has for another secret.
// Source: docs/spec/hook-tools.md §6, "revision rule".
func (m *Model) ReadSecret(ctx context.Context, unit model.UnitName, ref SecretRef) (model.SecretContent, error) {
	var read secretRead
	_, err := m.view(ctx, func(r docs) (err error) {
		read, err = r.readSecret(unit, ref)
		return errors.Trace(err)
	})
	if err != nil || !read.changed {
		return read.content, errors.Trace(err)
	}
	_, err = m.update(ctx, func(tx *txn) (err error) {
		if read, err = tx.readSecret(unit, ref); err != nil {
			return errors.Trace(err)
		}
		if _, err := tx.usesSecrets(unit); err != nil {
			return errors.Trace(err)
		}
		if err := tx.put(secretsReadBy(read.unitID)+string(read.id), read.consumer); err != nil {
			return errors.Trace(err)
		}
		if uuid, _ := read.id.Split(); uuid != "" {
			return tx.readAbroad(read)
		}
		if err := tx.put(secretReaders(read.id)+read.unitID, read.consumer.Revision); err != nil {
			return errors.Trace(err)
		}
		return tx.prune(read.id)
	})
	return read.content, errors.Trace(err)
}

// SecretPinned is the revision of a secret that a unit reads; 0: it hasn't read
// it so far.
func (m *Model) SecretPinned(ctx context.Context, unit model.UnitName, id model.SecretID) (revision int, err error) {
	_, err = m.view(ctx, func(r docs) error {
		u, err := r.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		var reads consumerDoc
		_, err = r.find(secretsReadBy(u.ID)+string(id), &reads)
		revision = reads.Revision
		return errors.Trace(err)
	})
	return revision, errors.Trace(err)
}

// track has the unit read the latest revision of a secret from now on, where its
// hook has asked for that.
func (t *txn) track(u UnitDoc, c model.SecretChange) error {
	if !c.Track {
		return nil
	}
	s, err := t.secret(c.ID)
	if errors.Is(err, errors.NotFound) {
		return nil // the hook has removed it afterwards
	}
	if err != nil {
		return errors.Trace(err)
	}
	if _, err := t.usesSecrets(u.Name); err != nil {
		return errors.Trace(err)
	}
	var reads consumerDoc
	key, latest := secretsReadBy(u.ID)+string(s.ID), s.Latest().Revision
	if _, err := t.find(key, &reads); err != nil {
		return errors.Trace(err)
	}
	reads.Unit, reads.Revision, reads.Seen = u.Name, latest, latest
	if err := t.put(key, reads); err != nil {
		return errors.Trace(err)
	}
	return t.put(secretReaders(s.ID)+u.ID, latest)
}

// secretRead is what a unit reads, and what is to be remembered of it if that
// has changed.
type secretRead struct {
	id       model.SecretID
	unitID   string
	content  model.SecretContent
	consumer consumerDoc
	changed  bool
}

func (d docs) readSecret(unit model.UnitName, ref SecretRef) (secretRead, error) {
	u, err := d.unit(unit)
	if err != nil {
		return secretRead{}, errors.Trace(err)
	}
	s, err := d.findSecret(u, ref)
	if err != nil {
		return secretRead{}, errors.Trace(err)
	}
	if ok, err := d.mayRead(u, s); err != nil || !ok {
		return secretRead{}, errors.Trace(cmp.Or(err, error(ErrNotYours)))
	}
	read := secretRead{id: s.ID, unitID: u.ID}
	known, err := d.find(secretsReadBy(u.ID)+string(s.ID), &read.consumer)
	if err != nil {
		return read, errors.Trace(err)
	}
	was, latest := read.consumer, s.Latest().Revision
	read.consumer.Unit = unit
	if !known || ref.Refresh {
		read.consumer.Revision, read.consumer.Seen = latest, latest
	}
	if ref.ID != "" && ref.Label != "" && ref.Label != was.Label {
		if err := d.freeLabel(u, s.ID, ref.Label); err != nil {
			return read, errors.Trace(err)
		}
		read.consumer.Label = ref.Label
	}
	revision := read.consumer.Revision
	if ref.Peek {
		revision = latest
	}
	if ref.Peek && known {
		read.consumer.Revision, read.consumer.Seen = was.Revision, was.Seen
	}
	read.changed = read.consumer != was && !ref.Unnoticed
	read.content, err = d.secretContent(s.ID, revision)
	return read, errors.Trace(err)
}

// freeLabel is AlreadyExists for a label by which the unit reads another secret.
func (d docs) freeLabel(u UnitDoc, id model.SecretID, label string) error {
	other, err := d.findSecret(u, SecretRef{Label: label})
	if errors.Is(err, errors.NotFound) || err == nil && other.ID == id {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	if ok, err := d.mayRead(u, other); err != nil || !ok {
		return errors.Trace(err)
	}
	return errors.NewAlreadyExists(nil, fmt.Sprintf("secret with label %q already exists", label))
}

// findSecret finds a secret by its id, or by a label of the unit's.
func (d docs) findSecret(u UnitDoc, ref SecretRef) (model.SecretInfo, error) {
	if ref.ID != "" {
		return d.secret(ref.ID)
	}
	app, err := d.application(u.Name.Application())
	if err != nil {
		return model.SecretInfo{}, errors.Trace(err)
	}
	for _, list := range []string{u.ID, app.Secrets} {
		own, err := d.secretsUnder(list)
		if err != nil {
			return model.SecretInfo{}, errors.Trace(err)
		}
		for _, s := range own {
			if s.Label == ref.Label {
				return s, nil
			}
		}
	}
	// One that the unit may not read any more is told apart from one that there
	// never was; but the label may be another one's by now.
	var denied model.SecretInfo
	readings, err := d.secretsOnceRead(u)
	if err != nil {
		return model.SecretInfo{}, errors.Trace(err)
	}
	for _, r := range readings {
		if r.Label == ref.Label && !r.denied {
			return r.SecretInfo, nil
		}
		if r.Label == ref.Label {
			denied = r.SecretInfo
		}
	}
	if denied.ID != "" {
		return denied, nil
	}
	return model.SecretInfo{}, errors.NewNotFound(nil, fmt.Sprintf("consumer label %q not found", ref.Label))
}

// mayRead says whether the unit owns the secret, with others or alone, or was
// granted it.
func (d docs) mayRead(u UnitDoc, s model.SecretInfo) (bool, error) {
	if uuid, _ := s.ID.Split(); uuid != "" {
		return d.mayReadAbroad(u, s)
	}
	app := u.Name.Application()
	if s.Owner.Name == string(u.Name) || s.Owner == (model.SecretOwner{Kind: model.OwnedByApplication, Name: app}) {
		return true, nil
	}
	for _, g := range s.Grants {
		if g.Target != app && g.Target != string(u.Name) {
			continue
		}
		if holds, err := d.holds(g); err != nil || holds {
			return holds, errors.Trace(err)
		}
	}
	return false, nil
}

// holds says whether a grant's relation is there. Ids of relations aren't used
// again.
func (d docs) holds(g model.SecretGrant) (bool, error) {
	if g.Relation == model.NoRelation {
		return true, nil
	}
	_, err := d.relation(g.Relation)
	if errors.Is(err, errors.NotFound) {
		return false, nil
	}
	return err == nil, errors.Trace(err)
}

// leaveOutEnded takes those grants from a secret that ended with their
// relations.
func (d docs) leaveOutEnded(s *model.SecretInfo) error {
	var grants []model.SecretGrant
	for _, g := range s.Grants {
		holds, err := d.holds(g)
		if err != nil {
			return errors.Trace(err)
		}
		if holds {
			grants = append(grants, g)
		}
	}
	s.Grants = grants
	return nil
}

// OwnedSecret is a secret as its owner's agent sees it.
type OwnedSecret struct {
	model.SecretInfo
	// Obsolete are the revisions but the latest that nobody reads.
	Obsolete []int
}

// ReadSecretView is a secret that a unit reads.
type ReadSecretView struct {
	model.SecretInfo
	Label string // the reader's
	// Seen is the latest revision that there was when it last asked for that.
	Seen int

	denied bool // the unit may not read it any more
}

// secretsRead are the secrets that the unit has read and still may.
func (d docs) secretsRead(u UnitDoc) ([]ReadSecretView, error) {
	found, err := d.secretsOnceRead(u)
	return slices.DeleteFunc(found, func(v ReadSecretView) bool { return v.denied }), errors.Trace(err)
}

// secretsOnceRead are the secrets that the unit has read, also those that it may
// not read any more.
func (d docs) secretsOnceRead(u UnitDoc) ([]ReadSecretView, error) {
	if !u.Secrets {
		return nil, nil
	}
	prefix := secretsReadBy(u.ID)
	kvs, err := d.Keys(d.m.prefix()+prefix, "", maxListed)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var found []ReadSecretView
	for _, kv := range kvs {
		id := model.SecretID(kv.Key[strings.LastIndexByte(kv.Key, '/')+1:])
		s, err := d.secret(id)
		if errors.Is(err, errors.NotFound) {
			continue
		}
		if err != nil {
			return nil, errors.Trace(err)
		}
		var c consumerDoc
		if _, err := d.find(prefix+string(id), &c); err != nil {
			return nil, errors.Trace(err)
		}
		ok, err := d.mayRead(u, s)
		if err != nil {
			return nil, errors.Trace(err)
		}
		found = append(found, ReadSecretView{SecretInfo: s, Label: cmp.Or(c.Label, ownLabel(u, s)), Seen: c.Seen, denied: !ok})
	}
	return found, nil
}

// ownLabel is the owner's label, for a unit that shares the secret.
func ownLabel(u UnitDoc, s model.SecretInfo) string {
	if uuid, _ := s.ID.Split(); uuid != "" {
		return ""
	}
	if s.Owner.Name == u.Name.Application() || s.Owner.Name == string(u.Name) {
		return s.Label
	}
	return ""
}

// ownedSecrets are those that the unit can change, with what is obsolete.
func (d docs) ownedSecrets(u UnitDoc, leads bool) ([]OwnedSecret, error) {
	infos, err := d.secretsOf(u, leads)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var found []OwnedSecret
	for _, s := range infos {
		o := OwnedSecret{SecretInfo: s}
		if len(s.Revisions) > 1 {
			read, err := list[int](d, secretReaders(s.ID))
			if err != nil {
				return nil, errors.Trace(err)
			}
			for _, r := range s.Revisions[:len(s.Revisions)-1] {
				if !slices.Contains(read, r.Revision) {
					o.Obsolete = append(o.Obsolete, r.Revision)
				}
			}
		}
		found = append(found, o)
	}
	return found, nil
}

// readSecrets fills in what the snapshot says of secrets. Of a secret that the
// unit can change it is not told as a reader.
func (s *Snapshot) readSecrets(r docs) (err error) {
	if s.OwnedSecrets, err = r.ownedSecrets(s.Unit, s.Leader); err != nil {
		return errors.Trace(err)
	}
	readings, err := r.secretsRead(s.Unit)
	if err != nil {
		return errors.Trace(err)
	}
	for _, v := range readings {
		if !slices.ContainsFunc(s.OwnedSecrets, func(o OwnedSecret) bool { return o.ID == v.ID }) {
			s.ReadSecrets = append(s.ReadSecrets, v)
		}
	}
	return nil
}

// OwnedSecrets are a unit's own secrets and its application's, which it can
// change if it leads.
func (m *Model) OwnedSecrets(ctx context.Context, unit model.UnitName) ([]model.SecretInfo, error) {
	var found []model.SecretInfo
	_, err := m.view(ctx, func(r docs) error {
		u, err := r.unit(unit)
		if err != nil {
			return errors.Trace(err)
		}
		if found, err = r.secretsOf(u, true); err != nil {
			return errors.Trace(err)
		}
		for i := range found {
			if err := r.leaveOutEnded(&found[i]); err != nil {
				return errors.Trace(err)
			}
		}
		return nil
	})
	return found, errors.Trace(err)
}
