package state_test

import (
	"fmt"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// relateAgain ends the relation of mysql and wordpress and makes another one.
func (s *secrets) relateAgain() {
	s.Helper()
	s.ok(s.DestroyRelation(s.ctx, "mysql", "wordpress"))
	for _, u := range []model.UnitName{"wordpress/0", "mysql/0", "mysql/1"} {
		s.ok(s.LeaveScope(s.ctx, u, s.relation))
	}
	r, err := s.AddRelation(s.ctx, "mysql", "wordpress")
	s.ok(err)
	s.relation = r.ID
}

func (s *secrets) info(id model.SecretID) model.SecretInfo {
	s.Helper()
	info, err := s.FindSecret(s.ctx, string(id))
	s.ok(err)
	return info
}

const secretTwo = model.SecretID("9m4e2mr0ui3e8a215n50")

func TestSecretsOverTime(t *testing.T) {
	t.Parallel()
	ref := state.SecretRef{ID: secretOne}

	t.Run("the number of a revision isn't used again", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.hook("mysql/0", made("one"), w.grant("wordpress")))
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Content: content("two")}))
		w.reads("wordpress/0", state.SecretRef{ID: secretOne, Refresh: true}, "two")
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Remove: []int{2}}))
		w.reads("wordpress/0", ref, fmt.Sprintf("(secret revision %q not found)", secretOne+"/2"))
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Content: content("three")}))
		if got := w.info(secretOne).Latest().Revision; got != 3 {
			t.Errorf("the latest revision is %d", got)
		}
		if read := w.snapshot("wordpress/0").ReadSecrets; len(read) != 1 || read[0].Seen != 2 || read[0].Latest().Revision != 3 {
			t.Errorf("the reader is told of %+v", read)
		}
	})

	t.Run("a grant is forgotten with its relation, and given again for the next", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.hook("mysql/0", made("one"), w.grant("wordpress")))
		w.relateAgain()
		own, err := w.OwnedSecrets(w.ctx, "mysql/0")
		w.ok(err)
		if len(own) != 1 || len(own[0].Grants) != 0 || len(w.info(secretOne).Grants) != 0 {
			t.Errorf("the hook sees %+v", own)
		}
		w.reads("wordpress/0", ref, "(permission denied)")
		w.ok(w.hook("mysql/0", w.grant("wordpress")))
		w.reads("wordpress/0", ref, "one")
		if got := w.info(secretOne).Grants; len(got) != 1 {
			t.Errorf("grants: %v", got)
		}
	})

	t.Run("labels change hands in one hook, whatever comes first", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		one, two := made("one"), made("two")
		one.Label, two.Label, two.ID = ptr("left"), ptr("right"), secretTwo
		w.ok(w.hook("mysql/0", one, two))
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Label: ptr("right")}, model.SecretChange{ID: secretTwo, Label: ptr("left")}))
		w.reads("mysql/0", state.SecretRef{Label: "left"}, "two")
		third := made("three")
		third.ID, third.Label = "9m4e2mr0ui3e8a215n60", ptr("left")
		w.ok(w.hook("mysql/0", third, model.SecretChange{ID: secretTwo, RemoveAll: true}))
		w.reads("mysql/0", state.SecretRef{Label: "left"}, "three")
	})

	t.Run("a reader has a label for one secret", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		two := made("two")
		two.ID = secretTwo
		grant := w.grant("wordpress")
		grantTwo := grant
		grantTwo.ID = secretTwo
		w.ok(w.hook("mysql/0", made("one"), two, grant, grantTwo))
		mine := state.SecretRef{ID: secretOne, Label: "mine"}
		w.reads("wordpress/0", mine, "one")
		w.reads("wordpress/0", mine, "one")
		w.reads("wordpress/0", state.SecretRef{ID: secretTwo, Label: "mine"}, `(secret with label "mine" already exists)`)
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Revoke: grant.Grant}))
		w.reads("wordpress/0", state.SecretRef{Label: "mine"}, "(permission denied)")
		w.reads("wordpress/0", state.SecretRef{ID: secretTwo, Label: "mine"}, "two")
		w.reads("wordpress/0", state.SecretRef{Label: "mine"}, "two")
	})

	t.Run("an owner that asked for what it wrote reads that from then on", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.hook("mysql/0", made("one")))
		w.reads("mysql/0", state.SecretRef{ID: secretOne, Label: "own"}, "one")
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Content: content("two"), Track: true}))
		w.reads("mysql/0", ref, "two")
		w.reads("mysql/0", state.SecretRef{Label: "own"}, "two")
		if own := w.snapshot("mysql/0").OwnedSecrets; fmt.Sprint(own[0].Obsolete) != "[1]" {
			t.Errorf("obsolete: %v", own[0].Obsolete)
		}
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Track: true, RemoveAll: true}))
	})
}

func TestSecretsThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	w := newSecrets(t)
	w.ok(w.hook("mysql/0", made("one")))
	lost := w.controller.WithSealer(state.Sealer{
		Seal: backwards().Seal,
		Open: func([]byte) ([]byte, error) { return nil, errors.New("no key fits") },
	}).Open(state.ModelInfo{Name: w.Name(), UUID: w.UUID()})
	_, err := lost.ReadSecret(w.ctx, "mysql/0", state.SecretRef{ID: secretOne})
	if want := fmt.Sprintf("cannot open secret %q: no key fits", secretOne); !errors.Is(err, state.ErrSealed) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	w.ok(lost.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 99, LeaveScope: model.NoRelation, Changes: model.Changes{
		Secrets: []model.SecretChange{{ID: secretOne, Content: content("two")}},
	}}))
	if got := w.secret(secretOne)["token"]; got != "two" {
		t.Errorf("it has %q", got)
	}
}

func TestUserSecrets(t *testing.T) {
	t.Parallel()
	user := func(w *secrets) model.SecretChange {
		return model.SecretChange{
			ID: secretOne, Make: &model.SecretOwner{Kind: model.OwnedByModel, Name: w.UUID()}, Label: ptr("db"),
			Content: content("one"), Grant: []model.SecretGrant{{Target: "wordpress", Relation: model.NoRelation}},
		}
	}
	ref := state.SecretRef{ID: secretOne}

	t.Run("a grant goes with the application, and its namesake has none", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.ChangeUserSecret(w.ctx, user(w)))
		w.reads("wordpress/0", ref, "one")
		w.reads("mysql/0", ref, "(permission denied)")
		w.removeWordpress()
		if got := w.info(secretOne).Grants; len(got) != 0 {
			t.Errorf("grants: %v", got)
		}
	})

	t.Run("a charm can't change one", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.ChangeUserSecret(w.ctx, user(w)))
		if err := w.hook("wordpress/0", model.SecretChange{ID: secretOne, RemoveAll: true}); !errors.Is(err, errors.NotFound) {
			t.Errorf("got %v", err)
		}
	})

	t.Run("people can't change a charm's", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.hook("mysql/0", made("one")))
		if err := w.ChangeUserSecret(w.ctx, model.SecretChange{ID: secretOne, RemoveAll: true}); !errors.Is(err, errors.NotValid) {
			t.Errorf("got %v", err)
		}
	})

	t.Run("one that is gone is not found, and one is gone with its last revision", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.ChangeUserSecret(w.ctx, user(w)))
		w.ok(w.ChangeUserSecret(w.ctx, model.SecretChange{ID: secretOne, Remove: []int{1}}))
		if err := w.ChangeUserSecret(w.ctx, model.SecretChange{ID: secretOne, Content: content("two")}); !errors.Is(err, errors.NotFound) {
			t.Errorf("got %v", err)
		}
		w.ok(w.ChangeUserSecret(w.ctx, func() model.SecretChange { c := user(w); c.ID = secretTwo; return c }()))
	})

	t.Run("old revisions are pruned when nobody reads them, also since a reader is gone", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		yes := true
		c := user(w)
		c.AutoPrune = &yes
		w.ok(w.ChangeUserSecret(w.ctx, c))
		w.reads("wordpress/0", ref, "one")
		w.ok(w.ChangeUserSecret(w.ctx, model.SecretChange{ID: secretOne, Content: content("two")}))
		if got := w.info(secretOne).Revisions; len(got) != 2 {
			t.Errorf("pruned while it is read: %v", got)
		}
		w.ok(w.ForceRemoveUnit(w.ctx, "wordpress/0"))
		w.ok(w.RunCleanups(w.ctx))
		if got := w.info(secretOne).Revisions; len(got) != 1 || got[0].Revision != 2 {
			t.Errorf("not pruned: %v", got)
		}
	})
}

func (s *secrets) removeWordpress() {
	s.Helper()
	_, err := s.DestroyApplication(s.ctx, "wordpress")
	s.ok(err)
	s.ok(s.ForceRemoveUnit(s.ctx, "wordpress/0"))
	s.ok(s.RunCleanups(s.ctx))
	s.ok(s.LeaveScope(s.ctx, "mysql/0", s.relation))
	s.ok(s.LeaveScope(s.ctx, "mysql/1", s.relation))
	s.ok(s.RunCleanups(s.ctx))
	if _, err := s.Application(s.ctx, "wordpress"); !errors.Is(err, errors.NotFound) {
		s.Errorf("wordpress is there: %v", err)
	}
}
