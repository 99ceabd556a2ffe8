package hookcontext_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

// vault is a View of app/0's secrets: that of its application, secretOne, and
// one of its own, secretTwo.
type vault struct {
	*changing
	own    []model.SecretInfo
	asked  []hookcontext.SecretRef
	hidden int
	made   int
	unread bool // the unit has read none so far
}

const (
	secretOne  = model.SecretID("9m4e2mr0ui3e8a215n4g")
	secretTwo  = model.SecretID("9m4e2mr0ui3e8a215n50")
	secretElse = model.SecretID("9m4e2mr0ui3e8a215n60")
)

func newVault() *vault {
	revisions := []model.SecretRevision{{Revision: 1}, {Revision: 2}}
	return &vault{changing: newChanging(), own: []model.SecretInfo{
		{ID: secretOne, Owner: model.SecretOwner{Kind: model.OwnedByApplication, Name: "app"}, Label: "one", Revisions: revisions, Made: 4},
		{ID: secretTwo, Owner: model.SecretOwner{Kind: model.OwnedByUnit, Name: "app/0"}, Label: "two", Revisions: revisions[:1]},
	}}
}

func (v *vault) OwnSecrets() ([]model.SecretInfo, error) { return slices.Clone(v.own), nil }

func (v *vault) Secret(ref hookcontext.SecretRef) (model.SecretContent, error) {
	v.asked = append(v.asked, ref)
	return model.SecretContent{"token": "stored"}, nil
}

func (v *vault) SecretPinned(model.SecretID) (int, error) {
	if v.unread {
		return 0, nil
	}
	return 1, nil
}

func (v *vault) Hide(model.SecretContent) { v.hidden++ }

func (v *vault) NewSecretID() (model.SecretID, error) {
	v.made++
	return model.SecretID(fmt.Sprintf("9m4e2mr0ui3e8a2150%d0", 10-v.made)), nil
}

func text(s string) *string { return &s }

func token(s string) model.SecretContent { return model.SecretContent{"token": s} }

// listed are the labels, revisions and grants of the secrets that the hook sees.
func listed(t *testing.T, c *hookcontext.Context) string {
	t.Helper()
	all, err := c.Secrets()
	must(t, err)
	var out []string
	for _, s := range all {
		line := fmt.Sprintf("%s@%d", s.Label, s.Latest().Revision)
		for _, g := range s.Grants {
			line += fmt.Sprintf("+%s:%d", g.Target, g.Relation)
		}
		out = append(out, line)
	}
	return strings.Join(out, " ")
}

func readToken(t *testing.T, c *hookcontext.Context, ref hookcontext.SecretRef) string {
	t.Helper()
	content, err := c.Secret(ref)
	if err != nil {
		return err.Error()
	}
	return content["token"]
}

func TestAHookReadsWhatItHasWrittenToASecret(t *testing.T) {
	t.Parallel()
	v := newVault()
	c := newContext(v)
	must(t, c.SetSecret(model.SecretChange{ID: secretOne, Content: token("new")}))
	for _, ref := range []hookcontext.SecretRef{{ID: secretOne}, {Label: "one"}} {
		mustBe(t, "without asking for the latest", readToken(t, c, ref), "stored")
		ref.Peek = true
		mustBe(t, "by peek", readToken(t, c, ref), "new")
	}
	mustBe(t, "tracked before it is asked for", c.Changes().Secrets[0].Track, false)
	mustBe(t, "by refresh", readToken(t, c, hookcontext.SecretRef{Label: "one", Refresh: true}), "new")
	mustBe(t, "tracked", c.Changes().Secrets[0].Track, true)
	mustBe(t, "after refresh", readToken(t, c, hookcontext.SecretRef{ID: secretOne}), "new")
	must(t, c.SetSecret(model.SecretChange{ID: secretOne, Content: token("newer")}))
	mustBe(t, "after refresh, and another call", readToken(t, c, hookcontext.SecretRef{Label: "one"}), "newer")
	for _, ref := range v.asked {
		if ref.Refresh || ref.Peek || ref.ID != "" && ref.Label != "" {
			t.Errorf("the model was asked for %+v", ref)
		}
	}

	id, err := c.AddSecret(model.OwnedByUnit, model.SecretChange{Content: token("made"), Label: text("three")})
	must(t, err)
	mustBe(t, "one that it has made", readToken(t, c, hookcontext.SecretRef{ID: id}), "made")
	mustBe(t, "by label", readToken(t, c, hookcontext.SecretRef{Label: "three"}), "made")

	must(t, c.RemoveSecret(secretOne, 0))
	mustBe(t, "removed", readToken(t, c, hookcontext.SecretRef{ID: secretOne}), `secret "9m4e2mr0ui3e8a215n4g" not found`)
	mustBe(t, "the list", listed(t, c), "two@1 three@1")
}

func TestTheFirstReadOfASecretIsOfWhatTheHookHasWritten(t *testing.T) {
	t.Parallel()
	v := newVault()
	v.unread = true
	c := newContext(v)
	must(t, c.SetSecret(model.SecretChange{ID: secretOne, Content: token("new")}))
	mustBe(t, "peeked", readToken(t, c, hookcontext.SecretRef{ID: secretOne, Peek: true}), "new")
	mustBe(t, "pinned by a look", c.Changes().Secrets[0].Track, false)
	mustBe(t, "read", readToken(t, c, hookcontext.SecretRef{ID: secretOne}), "new")
	mustBe(t, "pinned", c.Changes().Secrets[0].Track, true)
}

func TestALabelIsWhatTheHookHasMadeOfIt(t *testing.T) {
	t.Parallel()
	c := newContext(newVault())
	must(t, c.SetSecret(model.SecretChange{ID: secretOne, Label: text("uno")}))
	mustBe(t, "by the old one", readToken(t, c, hookcontext.SecretRef{Label: "one"}), `consumer label "one" not found`)
	mustBe(t, "by the new one", readToken(t, c, hookcontext.SecretRef{Label: "uno"}), "stored")
	must(t, c.SetSecret(model.SecretChange{ID: secretTwo, Label: text("one"), Content: token("x")}))
	mustBe(t, "by one that is another's now", readToken(t, c, hookcontext.SecretRef{Label: "one", Peek: true}), "x")
}

func TestASecretIsGoneWithItsLastRevision(t *testing.T) {
	t.Parallel()
	gone := fmt.Sprintf("secret %q not found", secretOne)
	c := newContext(newVault())
	must(t, c.RemoveSecret(secretOne, 2))
	mustBe(t, "with one left", listed(t, c), "one@1 two@1")
	must(t, c.RemoveSecret(secretOne, 1))
	mustBe(t, "with none", listed(t, c), "two@1")
	mustBe(t, "read", readToken(t, c, hookcontext.SecretRef{ID: secretOne}), gone)
	mustBe(t, "read by label", readToken(t, c, hookcontext.SecretRef{Label: "one"}), gone)
	mustFail(t, "to set", c.SetSecret(model.SecretChange{ID: secretOne, Content: token("x")}), errors.NotFound, gone)
	must(t, c.RemoveSecret(secretOne, 1)) // it is, already
	must(t, c.RemoveSecret(secretOne, 0))
	mustFail(t, "to grant", c.GrantSecret(secretOne, 3, ""), errors.NotFound, gone)
	mustBe(t, "the secret goes", c.Changes().Secrets[0].RemoveAll, true)

	c = newContext(newVault())
	must(t, c.SetSecret(model.SecretChange{ID: secretTwo, Content: token("x")}))
	must(t, c.RemoveSecret(secretTwo, 1))
	mustBe(t, "with a new one", listed(t, c), "one@2 two@2")
}

func TestTheSameContentAgainIsNoRevision(t *testing.T) {
	t.Parallel()
	c := newContext(newVault())
	must(t, c.SetSecret(model.SecretChange{ID: secretOne, Content: token("stored"), Label: text("uno")}))
	mustBe(t, "the same", listed(t, c), "uno@2 two@1")
	must(t, c.SetSecret(model.SecretChange{ID: secretOne, Content: token("other")}))
	mustBe(t, "another", listed(t, c), "uno@5 two@1")
}

func TestSecretsAreListedAsTheHookLeavesThem(t *testing.T) {
	t.Parallel()
	c := newContext(newVault())
	must(t, c.SetSecret(model.SecretChange{ID: secretOne, Content: token("new"), Label: text("uno")}))
	must(t, c.RemoveSecret(secretOne, 1))
	mustBe(t, "with the number that it gets", listed(t, c), "uno@5 two@1")
	must(t, c.RemoveSecret(secretOne, 5))
	mustBe(t, "without the newest", listed(t, c), "uno@2 two@1")
	must(t, c.RemoveSecret(secretTwo, 1))
	mustBe(t, "without the last", listed(t, c), "uno@2")
}

func TestSeveralCallsAreOneChange(t *testing.T) {
	t.Parallel()
	c := newContext(newVault())
	never, expires := model.RotateNever, time.Unix(100, 0)
	for _, change := range []model.SecretChange{
		{Content: token("first")}, {Label: text("uno")}, {Rotate: &never}, {Description: text("it")},
		{Expires: &expires}, {Content: token("second")},
	} {
		change.ID = secretOne
		must(t, c.SetSecret(change))
	}
	changes := c.Changes().Secrets
	if len(changes) != 1 {
		t.Fatalf("%d changes", len(changes))
	}
	got := changes[0]
	if *got.Label != "uno" || *got.Rotate != never || *got.Description != "it" || !got.Expires.Equal(expires) || got.Content["token"] != "second" {
		t.Errorf("got %+v", got)
	}
}

func TestRemovingWhatTheHookHasMadeLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, revision := range []int{0, 1} {
		c := newContext(newVault())
		id, err := c.AddSecret(model.OwnedByApplication, model.SecretChange{Content: token("made"), Label: text("three")})
		must(t, err)
		must(t, c.GrantSecret(id, 3, ""))
		must(t, c.RemoveSecret(id, revision))
		mustBe(t, "changes", len(c.Changes().Secrets), 0)
		_, err = c.AddSecret(model.OwnedByApplication, model.SecretChange{Content: token("made"), Label: text("three")})
		must(t, err)
	}
}

func TestALabelIsForOneSecretOfAHook(t *testing.T) {
	t.Parallel()
	c := newContext(newVault())
	const taken = `secret with label "one" already exists`
	add := func(label string) error {
		_, err := c.AddSecret(model.OwnedByUnit, model.SecretChange{Content: token("x"), Label: &label})
		return err
	}
	mustFail(t, "that of another", add("one"), errors.AlreadyExists, taken)
	mustFail(t, "to set it", c.SetSecret(model.SecretChange{ID: secretTwo, Label: text("one")}), errors.AlreadyExists, taken)
	must(t, c.SetSecret(model.SecretChange{ID: secretOne, Label: text("one")}))
	must(t, c.SetSecret(model.SecretChange{ID: secretOne, Label: text("uno")}))
	must(t, add("one"))
	mustFail(t, "that of one just made", add("one"), errors.AlreadyExists, taken)
	must(t, add(""))
	must(t, add(""))
}

func TestSecretsAreTheirOwners(t *testing.T) {
	t.Parallel()
	v := newVault()
	v.leader = func() (int64, error) { return 0, nil }
	c := newContext(v)
	_, err := c.AddSecret(model.OwnedByApplication, model.SecretChange{Content: token("x")})
	mustFail(t, "to add", err, hookcontext.ErrNotLeader, hookcontext.ErrNotLeader.Error())
	mustBe(t, "hidden though it is refused", v.hidden, 1)
	for what, err := range map[string]error{
		"to set":    c.SetSecret(model.SecretChange{ID: secretOne, Content: token("x")}),
		"to remove": c.RemoveSecret(secretOne, 0),
		"to grant":  c.GrantSecret(secretOne, 3, ""),
		"to revoke": c.RevokeSecret(secretOne, "pg", model.NoRelation),
	} {
		mustFail(t, what, err, hookcontext.ErrNotLeader, hookcontext.ErrNotLeader.Error())
	}
	mustFail(t, "another's", c.SetSecret(model.SecretChange{ID: secretElse}), errors.NotFound, fmt.Sprintf("secret %q not found", secretElse))
	must(t, c.SetSecret(model.SecretChange{ID: secretTwo, Content: token("x")}))
	mustBe(t, "what it sees", listed(t, c), "two@2")
}

func TestContentThatIsTooMuchIsRefusedAtTheCall(t *testing.T) {
	t.Parallel()
	c := newContext(newVault())
	encoded := func(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }
	large := model.SecretContent{}
	for i := range 9 {
		large[fmt.Sprintf("key-%d", i)] = encoded(model.MaxSecretValue)
	}
	for what, content := range map[string]model.SecretContent{"all": large, "one": token(encoded(model.MaxSecretValue + 10))} {
		_, err := c.AddSecret(model.OwnedByUnit, model.SecretChange{Content: content})
		if !errors.Is(err, errors.QuotaLimitExceeded) || !errors.Is(c.SetSecret(model.SecretChange{ID: secretTwo, Content: content}), errors.QuotaLimitExceeded) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	delete(large, "key-8")
	_, err := c.AddSecret(model.OwnedByUnit, model.SecretChange{Content: large})
	must(t, err)
}

func TestGrantsAreOfOneRelation(t *testing.T) {
	t.Parallel()
	v := newVault()
	v.own[0].Grants = []model.SecretGrant{{Target: "pg", Relation: 9}}
	c := newContext(v)
	must(t, c.GrantSecret(secretOne, 3, ""))
	must(t, c.GrantSecret(secretOne, 3, ""))
	mustBe(t, "granted", listed(t, c), "one@2+pg:9+pg:3 two@1")
	must(t, c.RevokeSecret(secretOne, "", 3))
	mustBe(t, "revoked by relation", listed(t, c), "one@2+pg:9 two@1")
	must(t, c.GrantSecret(secretOne, 3, ""))
	must(t, c.RevokeSecret(secretOne, "pg", model.NoRelation))
	mustBe(t, "revoked", listed(t, c), "one@2 two@1")
	must(t, c.GrantSecret(secretOne, 3, "pg/0"))
	mustFail(t, "to all where one has it", c.GrantSecret(secretOne, 3, ""), errors.NotValid,
		"any unit level grants need to be revoked before granting access to the corresponding application")
	must(t, c.RevokeSecret(secretOne, "pg/0", model.NoRelation))
	must(t, c.GrantSecret(secretOne, 3, ""))
	mustBe(t, "granted again", listed(t, c), "one@2+pg:3 two@1")
}

// TestGrantsLeadToWhatTheHookSaw: the changes of any calls, applied, give the
// grants that the hook saw at its end.
func TestGrantsLeadToWhatTheHookSaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		v := newVault()
		v.own[0].Grants = rapid.SampledFrom([][]model.SecretGrant{nil, {{Target: "pg", Relation: 3}}, {{Target: "pg/0", Relation: 3}}}).Draw(rt, "before")
		c := newContext(v)
		for range rapid.IntRange(1, 6).Draw(rt, "calls") {
			target := rapid.SampledFrom([]string{"pg", "pg/0"}).Draw(rt, "target")
			if rapid.Bool().Draw(rt, "revoke") {
				must(t, c.RevokeSecret(secretOne, target, model.NoRelation))
				continue
			}
			unit := model.UnitName(target)
			if target == "pg" {
				unit = ""
			}
			_ = c.GrantSecret(secretOne, 3, unit) // which may be refused
		}
		seen, err := c.Secrets()
		must(t, err)
		after := slices.Clone(v.own[0].Grants)
		for _, p := range c.Changes().Secrets {
			for _, g := range p.Grant {
				if slices.Contains(p.Revoke, g) {
					rt.Errorf("%v is granted and revoked", g)
				}
			}
			after = append(after, p.Grant...)
			after = slices.DeleteFunc(after, func(g model.SecretGrant) bool { return slices.Contains(p.Revoke, g) })
		}
		if fmt.Sprint(after) != fmt.Sprint(seen[0].Grants) {
			rt.Errorf("the hook saw %v, and leaves %v", seen[0].Grants, after)
		}
	})
}

func TestSecretsAreWrittenByManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	c := newContext(newVault())
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			must(t, c.SetSecret(model.SecretChange{ID: secretOne, Content: token(fmt.Sprint(i))}))
			_, err := c.Secret(hookcontext.SecretRef{ID: secretOne, Refresh: true})
			must(t, err)
			must(t, c.GrantSecret(secretTwo, 3, ""))
			_, err = c.Secrets()
			must(t, err)
		})
	}
	calls.Wait()
	mustBe(t, "what there is", listed(t, c), "one@5 two@1+pg:3")
	mustBe(t, "changes", len(c.Changes().Secrets), 2)
}
