package state_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// backwards is a Sealer of which one sees whether it was used.
func backwards() state.Sealer {
	turn := func(b []byte) ([]byte, error) {
		out := bytes.Clone(b)
		slices.Reverse(out)
		return out, nil
	}
	return state.Sealer{
		Seal: func(b []byte, _ string) ([]byte, string, error) {
			sealed, err := turn(b)
			return sealed, "", err
		},
		Open: turn,
	}
}

// secret is what is in the latest revision of a secret; nil: there is none.
func (w *world) secret(id model.SecretID) model.SecretContent {
	w.Helper()
	content, err := w.SecretContent(w.ctx, id, 0)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	w.ok(err)
	return content
}

const secretOne = model.SecretID("9m4e2mr0ui3e8a215n4g")

// secrets is a world of mysql/0, which leads, and mysql/1, related to
// wordpress/0, with runs that are numbered by themselves.
type secrets struct {
	*world
	relation model.RelationID
	run      int64
}

func newSecrets(t *testing.T) *secrets {
	w, id := pair(t)
	return &secrets{world: w, relation: id, run: 10}
}

// hook commits a hook of the unit that did this to secrets.
func (s *secrets) hook(unit model.UnitName, changes ...model.SecretChange) error {
	s.run++
	return s.CommitHook(s.ctx, state.HookCommit{
		Unit: unit, Run: s.run, Changes: model.Changes{Secrets: changes}, LeaveScope: model.NoRelation,
	})
}

// made is the secret secretOne, made by the leader for its application.
func made(text string) model.SecretChange {
	return model.SecretChange{
		ID: secretOne, Make: &model.SecretOwner{Kind: model.OwnedByApplication, Name: "mysql"},
		Content: content(text),
	}
}

func content(text string) model.SecretContent { return model.SecretContent{"token": text} }

// read is what the unit reads, or the error in brackets.
func (s *secrets) read(unit model.UnitName, ref state.SecretRef) string {
	s.Helper()
	c, err := s.ReadSecret(s.ctx, unit, ref)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return c["token"]
}

func (s *secrets) reads(unit model.UnitName, ref state.SecretRef, want string) {
	s.Helper()
	if got := s.read(unit, ref); got != want {
		s.Errorf("%s reads %q, want %q", unit, got, want)
	}
}

func (s *secrets) grant(target string) model.SecretChange {
	return model.SecretChange{ID: secretOne, Grant: []model.SecretGrant{{Target: target, Relation: s.relation}}}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	ref := state.SecretRef{ID: secretOne}
	peek, refresh := state.SecretRef{ID: secretOne, Peek: true}, state.SecretRef{ID: secretOne, Refresh: true}

	t.Run("a secret is read by its application's units, and by others once it is granted", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.hook("mysql/0", made("one")))
		w.reads("mysql/0", ref, "one")
		w.reads("mysql/1", ref, "one")
		w.reads("wordpress/0", ref, "(permission denied)")
		w.ok(w.hook("mysql/0", w.grant("wordpress")))
		w.reads("wordpress/0", ref, "one")
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Revoke: w.grant("wordpress").Grant}))
		w.reads("wordpress/0", ref, "(permission denied)")
	})

	t.Run("what a unit may know is all of its own, and what it reads", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		known := func(unit model.UnitName) (tokens string) {
			all, whole, err := w.KnownSecrets(w.ctx, unit)
			w.ok(err)
			if !whole {
				t.Errorf("something of %s can't be opened", unit)
			}
			for _, c := range all {
				tokens += c["token"] + " "
			}
			return tokens
		}
		w.is("of no secret", known("mysql/0"), "")
		w.ok(w.hook("mysql/0", made("one"), w.grant("wordpress/0")))
		w.is("who hasn't read it", known("wordpress/0"), "")
		w.reads("wordpress/0", ref, "one")
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Content: content("two")}))
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Content: content("three")}))
		w.is("the owner", known("mysql/0"), "one two three ")
		w.is("the owner's other unit", known("mysql/1"), "one two three ")
		w.is("who reads it", known("wordpress/0"), "one three ")
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Revoke: w.grant("wordpress/0").Grant}))
		w.is("who may no more", known("wordpress/0"), "one three ")
	})

	t.Run("a reader keeps its revision until it refreshes", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.hook("mysql/0", made("one"), w.grant("wordpress/0")))
		w.reads("wordpress/0", ref, "one")
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Content: content("two")}))
		w.reads("wordpress/0", ref, "one")
		w.reads("wordpress/0", peek, "two")
		w.reads("wordpress/0", ref, "one")
		w.reads("wordpress/0", refresh, "two")
		w.reads("wordpress/0", ref, "two")
	})

	t.Run("a reader's label is its own, and the owner's holds for all its units", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		c := made("one")
		c.Label = ptr("owners")
		w.ok(w.hook("mysql/0", c, w.grant("wordpress")))
		w.reads("mysql/1", state.SecretRef{Label: "owners"}, "one")
		w.reads("wordpress/0", state.SecretRef{Label: "owners"}, `(consumer label "owners" not found)`)
		w.reads("wordpress/0", state.SecretRef{ID: secretOne, Label: "mine"}, "one")
		w.reads("wordpress/0", state.SecretRef{Label: "mine"}, "one")
	})

	t.Run("the same content makes no revision", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.hook("mysql/0", made("one")))
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Content: content("one")}))
		s, err := w.FindSecret(w.ctx, "secret:"+string(secretOne))
		w.ok(err)
		if s.Latest().Revision != 1 {
			t.Errorf("revision %d", s.Latest().Revision)
		}
	})

	t.Run("a label is taken once by an owner", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		one, two := made("one"), made("two")
		one.Label, two.Label = ptr("same"), ptr("same")
		two.ID = "9m4e2mr0ui3e8a215n50"
		w.ok(w.hook("mysql/0", one))
		if err := w.hook("mysql/0", two); !errors.Is(err, errors.AlreadyExists) {
			t.Errorf("got %v", err)
		}
	})

	t.Run("only the leader writes its application's, and nobody another's", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		if err := w.hook("mysql/1", made("one")); !errors.Is(err, state.ErrNotLeader) {
			t.Errorf("got %v", err)
		}
		w.ok(w.hook("mysql/0", made("one")))
		if err := w.hook("wordpress/0", model.SecretChange{ID: secretOne, RemoveAll: true}); !errors.Is(err, errors.NotFound) {
			t.Errorf("got %v", err)
		}
		if w.secret(secretOne) == nil {
			t.Error("it is gone")
		}
	})

	t.Run("what is stored is sealed", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.hook("mysql/0", made("plain-text-of-it")))
		_, err := w.store.View(w.ctx, func(r store.Reader) error {
			kvs, err := r.List("m/")
			for _, kv := range kvs {
				if bytes.Contains(kv.Value, []byte("plain-text")) {
					t.Errorf("%s has it in clear", kv.Key)
				}
			}
			return err
		})
		w.ok(err)
		if s := fmt.Sprintf("%v %+v %#v", content("plain-text"), content("plain-text"), content("plain-text")); strings.Contains(s, "plain-text") {
			t.Errorf("it prints as %s", s)
		}
	})
}

func TestSecretsOfWhatIsGone(t *testing.T) {
	t.Parallel()
	ref := state.SecretRef{ID: secretOne}

	t.Run("a grant ends with its relation", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.hook("mysql/0", made("one"), w.grant("wordpress")))
		w.reads("wordpress/0", ref, "one")
		w.ok(w.DestroyRelation(w.ctx, "mysql", "wordpress"))
		for _, u := range []model.UnitName{"wordpress/0", "mysql/0", "mysql/1"} {
			w.ok(w.LeaveScope(w.ctx, u, w.relation))
		}
		w.reads("wordpress/0", ref, "(permission denied)")
	})

	t.Run("a removed secret is found by nobody, and nothing of it stays", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		w.ok(w.hook("mysql/0", made("one")))
		w.reads("mysql/1", ref, "one")
		w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, RemoveAll: true}))
		w.reads("mysql/1", ref, fmt.Sprintf("(secret %q not found)", secretOne))
		w.ok(w.RunCleanups(w.ctx))
		w.nothingOf(string(secretOne), "secret-read")
	})

	t.Run("a unit's secrets go with it", func(t *testing.T) {
		t.Parallel()
		w := newSecrets(t)
		c := made("one")
		c.Make = &model.SecretOwner{Kind: model.OwnedByUnit, Name: "mysql/1"}
		w.ok(w.hook("mysql/1", c, w.grant("wordpress")))
		w.reads("wordpress/0", ref, "one")
		w.ok(w.ForceRemoveUnit(w.ctx, "mysql/1"))
		w.ok(w.ForceRemoveUnit(w.ctx, "wordpress/0"))
		w.ok(w.RunCleanups(w.ctx))
		w.nothingOf(string(secretOne), "")
	})
}

// nothingOf fails the test for keys that have the text in them, but for those of
// a kind.
func (w *world) nothingOf(text, but string) {
	w.Helper()
	_, err := w.store.View(w.ctx, func(r store.Reader) error {
		kvs, err := r.List("m/")
		for _, kv := range kvs {
			if strings.Contains(kv.Key, text) && (but == "" || !strings.Contains(kv.Key, but)) {
				w.Errorf("%s is left", kv.Key)
			}
		}
		return err
	})
	w.ok(err)
}

func TestSnapshotSaysWhatIsDueOfSecrets(t *testing.T) {
	t.Parallel()
	w := newSecrets(t)
	c := made("one")
	rotate := model.RotatePolicy("daily")
	expires := w.clock.Now().Add(time.Hour)
	c.Rotate, c.Expires = &rotate, &expires
	w.ok(w.hook("mysql/0", c, w.grant("wordpress")))
	w.reads("wordpress/0", state.SecretRef{ID: secretOne}, "one")
	w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Content: content("two")}))

	own := w.snapshot("mysql/0").OwnedSecrets
	if len(own) != 1 || !own[0].NextRotate.Equal(w.clock.Now().Add(24*time.Hour)) || len(own[0].Obsolete) != 0 ||
		!own[0].Revisions[0].Expires.Equal(w.clock.Now().Add(time.Hour)) {
		t.Errorf("the owner has %+v", own)
	}
	if others := w.snapshot("mysql/1"); len(others.OwnedSecrets) != 0 {
		t.Errorf("who doesn't lead cares for %v", others.OwnedSecrets)
	}
	read := w.snapshot("wordpress/0").ReadSecrets
	if len(read) != 1 || read[0].Seen != 1 || read[0].Latest().Revision != 2 {
		t.Errorf("the reader has %+v", read)
	}
	w.reads("wordpress/0", state.SecretRef{ID: secretOne, Refresh: true}, "two")
	if own := w.snapshot("mysql/0").OwnedSecrets; fmt.Sprint(own[0].Obsolete) != "[1]" {
		t.Errorf("obsolete: %v", own[0].Obsolete)
	}
}

// A secret-rotate that makes no revision comes again, and the schedule goes by when
// it was due.
func TestARotationWithoutARevisionComesAgain(t *testing.T) {
	t.Parallel()
	w := newSecrets(t)
	c, rotate := made("one"), model.RotatePolicy("hourly")
	c.Rotate = &rotate
	w.ok(w.hook("mysql/0", c))
	due := w.clock.Now().Add(time.Hour)
	rotates := func(late time.Duration, changes ...model.SecretChange) {
		w.run++
		w.clock.advance(due.Add(late).Sub(w.clock.Now()))
		w.ok(w.CommitHook(w.ctx, state.HookCommit{
			Unit: "mysql/0", Run: w.run, Changes: model.Changes{Secrets: changes}, LeaveScope: model.NoRelation, Rotated: secretOne,
		}))
	}
	wantNext := func(after time.Duration, unrotated bool) {
		t.Helper()
		own := w.snapshot("mysql/0").OwnedSecrets[0]
		if !own.NextRotate.Equal(due.Add(after)) || own.Unrotated != unrotated {
			t.Errorf("next after %s, unrotated: %v; want %s, %v", own.NextRotate.Sub(due), own.Unrotated, after, unrotated)
		}
	}
	rotates(time.Second)
	wantNext(5*time.Minute, true)
	rotates(6*time.Minute, model.SecretChange{ID: secretOne, Content: content("one")})
	wantNext(10*time.Minute, true)
	rotates(11*time.Minute, model.SecretChange{ID: secretOne, Content: content("two")})
	wantNext(70*time.Minute, false)
	rotates(70 * time.Minute)
	w.ok(w.ApplyAsLeader(w.ctx, "mysql/0", model.Changes{Secrets: []model.SecretChange{{ID: secretOne, Content: content("three")}}}))
	wantNext(130*time.Minute, false)
	rotates(130*time.Minute, model.SecretChange{ID: secretOne, RemoveAll: true})
}

// The first read makes the unit a reader of the revision that there is, by a peek
// too, and it has its label from then on.
func TestAPeekIsAFirstRead(t *testing.T) {
	t.Parallel()
	w := newSecrets(t)
	w.ok(w.hook("mysql/0", made("one"), w.grant("wordpress")))
	w.reads("wordpress/0", state.SecretRef{ID: secretOne, Peek: true, Unnoticed: true}, "one")
	if read := w.snapshot("wordpress/0").ReadSecrets; len(read) != 0 {
		t.Errorf("what somebody else has read: %+v", read)
	}
	w.reads("wordpress/0", state.SecretRef{ID: secretOne, Label: "mine", Peek: true}, "one")
	w.ok(w.hook("mysql/0", model.SecretChange{ID: secretOne, Content: content("two")}))
	if read := w.snapshot("wordpress/0").ReadSecrets; len(read) != 1 || read[0].Seen != 1 || read[0].Label != "mine" {
		t.Errorf("the reader has %+v", read)
	}
	w.reads("wordpress/0", state.SecretRef{Label: "mine", Peek: true}, "two")
	w.reads("wordpress/0", state.SecretRef{Label: "mine"}, "one")
}
