package external_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/juju/clock"
	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/external"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/statetest"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/memory"
)

// pair are two models in two stores, of which the first has consumed what the second one offers.
type pair struct {
	rapidTB
	ctx    context.Context
	stores [2]store.Store
	models [2]*state.Model // coast, harbour
}

// rapidTB is what tests and checks of rapid have in common.
type rapidTB interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

var apps = [2]string{"shop", "ledger"}

var charms = [2]model.Charm{
	{Name: "shop", Endpoints: map[string]model.CharmRel{
		"store": {Role: model.Requirer, Interface: "kv", Scope: model.Global},
		"one":   {Role: model.Requirer, Interface: "kv", Scope: model.Global, Limit: 1},
	}},
	{Name: "ledger", Endpoints: map[string]model.CharmRel{
		"db":    {Role: model.Provider, Interface: "kv", Scope: model.Global},
		"audit": {Role: model.Provider, Interface: "log", Scope: model.Global, Limit: 1},
	}},
}

func newPair(t rapidTB) *pair {
	return newPairIn(t, func(string) (store.Store, error) { return memory.New(clock.WallClock), nil })
}

// newPairIn is newPair in stores that are opened by names.
func newPairIn(t rapidTB, open func(name string) (store.Store, error)) *pair {
	p := &pair{rapidTB: t, ctx: context.Background()}
	for i, name := range []string{"coast", "harbour"} {
		s, err := open(name)
		p.ok(err)
		p.stores[i] = s
		m, err := state.NewController(p.stores[i], clock.WallClock).AddModel(p.ctx, name)
		p.done(err)
		sum := sha256.Sum256([]byte(apps[i]))
		url, err := m.AddCharm(p.ctx, charms[i], hex.EncodeToString(sum[:]), strings.NewReader(apps[i]))
		p.done(err)
		p.done(m.Deploy(p.ctx, state.DeployArgs{Application: apps[i], Charm: url, Units: 2}))
		p.models[i] = m
	}
	return p
}

// done ends the test on an error that isn't a refusal.
func (p *pair) done(err error) {
	p.Helper()
	for _, refused := range []error{errors.NotFound, errors.NotValid, errors.AlreadyExists, errors.QuotaLimitExceeded, state.ErrCannotEnterScope} {
		if errors.Is(err, refused) {
			return
		}
	}
	if err != nil {
		p.Fatal(errors.ErrorStack(err))
	}
}

// ok ends the test on any error.
func (p *pair) ok(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(errors.ErrorStack(err))
	}
}

func (p *pair) link() *external.Link {
	doc, err := p.models[0].External(p.ctx, p.models[1].UUID())
	p.done(err)
	return &external.Link{Here: p.models[0], There: p.models[1], Doc: doc, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

func (p *pair) offer() error {
	_, err := p.models[1].Offer(p.ctx, "ledger", []string{"db", "audit"}, "ledgerdb")
	return err
}

func (p *pair) consume() error {
	_, err := p.models[0].ConsumeExternal(p.ctx, p.models[1], state.ExternalDoc{Controller: "pier", Store: "etcd://pier"},
		model.OfferURL{Controller: "pier", Owner: "admin", Model: "harbour", Offer: "ledgerdb"}, "dbalias")
	return err
}

// settle has the link go round until neither store moves.
func (p *pair) settle() {
	p.Helper()
	l := p.link()
	for range 10 {
		before := p.revs()
		p.ok(l.Round(p.ctx))
		if p.revs() == before {
			return
		}
	}
	p.Fatal("the link goes round for ever")
}

func (p *pair) revs() (revs [2]int64) {
	p.Helper()
	for i, m := range p.models {
		var err error
		revs[i], err = m.Rev(p.ctx)
		p.ok(err)
	}
	return revs
}

// said is what a model's documents say of a half: who is in scope, with which settings, and what
// applications have set; by names that both sides understand.
func (p *pair) said(side int, r state.RelationDoc) string {
	p.Helper()
	stranger, _ := r.Stranger()
	alike := map[string]string{stranger.Application: r.Across.Theirs, r.Across.Own: r.Across.Own}
	lines := []string{fmt.Sprint(r.Suspended, r.SuspendedMessage)}
	in := map[string]bool{}
	versions := map[string]int{}
	_, err := p.stores[side].View(p.ctx, func(rd store.Reader) error {
		prefix := "m/" + p.models[side].UUID() + "/"
		kvs, err := rd.List(fmt.Sprintf("%sscope/%d/-/", prefix, r.ID))
		if err != nil {
			return err
		}
		for _, kv := range kvs {
			name := strings.TrimPrefix(kv.Key, fmt.Sprintf("%sscope/%d/-/", prefix, r.ID))
			in[name] = true
			var doc struct{ Version int }
			if err := json.NewDecoder(bytes.NewReader(kv.Value)).Decode(&doc); err != nil {
				return err
			}
			versions[name] = doc.Version
		}
		if kvs, err = rd.List(fmt.Sprintf("%ssettings/%d/", prefix, r.ID)); err != nil {
			return err
		}
		for _, kv := range kvs {
			kind, name, _ := strings.Cut(strings.TrimPrefix(kv.Key, fmt.Sprintf("%ssettings/%d/", prefix, r.ID)), "/")
			if kind == "left" || kind == "unit" && !in[name] {
				continue
			}
			var bag struct {
				Version int
				Values  map[string]string
			}
			if err := json.NewDecoder(bytes.NewReader(kv.Value)).Decode(&bag); err != nil {
				return err
			}
			if kind == "unit" && versions[name] != bag.Version { // by it units know that there is something new
				return errors.Errorf("%s is in scope with version %d of its settings, which are of version %d", name, versions[name], bag.Version)
			}
			app, number, _ := strings.Cut(name, "/")
			lines = append(lines, fmt.Sprint(kind, alike[app], "/", number, slices.Sorted(maps.Keys(bag.Values)), bag.Values))
		}
		return nil
	})
	p.ok(err)
	for name := range in {
		app, number, _ := strings.Cut(name, "/")
		lines = append(lines, "in "+alike[app]+"/"+number)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// agree: each relation has two halves that say the same, and the documents of each model don't
// contradict each other.
func (p *pair) agree() {
	p.Helper()
	ours, err := p.models[0].Halves(p.ctx, p.models[1].UUID(), false)
	p.ok(err)
	theirs, err := p.models[1].Halves(p.ctx, p.models[0].UUID(), true)
	p.ok(err)
	for _, o := range ours {
		i := slices.IndexFunc(theirs, func(t state.RelationDoc) bool { return t.ID == o.Across.Relation && t.Across.Relation == o.ID })
		switch {
		case o.Across.Relation == model.NoRelation && slices.ContainsFunc(theirs, func(t state.RelationDoc) bool { return t.Life != model.Alive }):
			// a former one is in the way, which its own units leave yet
		case i < 0 && o.Life == model.Alive:
			p.Fatalf("relation %d here has no other half: %+v", o.ID, o.Across)
		case i < 0: // its own units leave it yet
		case o.Life != theirs[i].Life:
			p.Fatalf("relation %d is %v here, and %v there", o.ID, o.Life, theirs[i].Life)
		case o.Life == model.Alive && p.said(0, o) != p.said(1, theirs[i]):
			p.Fatalf("here relation %d says\n%s\nthere\n%s", o.ID, p.said(0, o), p.said(1, theirs[i]))
		}
	}
	for _, t := range theirs {
		if t.Life == model.Alive && !slices.ContainsFunc(ours, func(o state.RelationDoc) bool { return o.ID == t.Across.Relation }) {
			p.Fatalf("relation %d there has no other half", t.ID)
		}
	}
	p.whole()
}

func (p *pair) whole() {
	p.Helper()
	for i, m := range p.models {
		problems, err := statetest.Problems(p.ctx, p.stores[i], m.UUID(), false)
		p.ok(err)
		if len(problems) > 0 {
			p.Fatalf("%s: %v", m.Name(), problems)
		}
	}
}

func TestARelationOfTwoStores(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	coast, harbour := p.models[0], p.models[1]
	p.ok(p.offer())
	p.ok(p.consume())
	rel, err := coast.AddRelation(p.ctx, "shop:store", "dbalias")
	p.ok(err)
	p.settle()
	p.agree()
	theirs, err := harbour.Halves(p.ctx, coast.UUID(), true)
	p.ok(err)
	if len(theirs) != 1 {
		t.Fatalf("there are %d halves", len(theirs))
	}
	there := theirs[0]
	stranger, _ := there.Stranger()

	p.ok(coast.EnterScope(p.ctx, "shop/1", rel.ID, model.Settings{"want": "a table"}))
	p.ok(harbour.EnterScope(p.ctx, "ledger/0", there.ID, model.Settings{"host": "10.0.0.1"}))
	p.settle()
	p.agree()
	bag, err := harbour.Settings(p.ctx, there.ID, model.NewUnitName(stranger.Application, 1))
	p.ok(err)
	if bag["want"] != "a table" {
		t.Errorf("there shop/1 says %v", bag)
	}
	if bag, err = coast.Settings(p.ctx, rel.ID, "dbalias/0"); err != nil || bag["host"] != "10.0.0.1" {
		t.Errorf("here ledger/0 says %v, %v", bag, err)
	}

	p.ok(coast.Apply(p.ctx, "shop/1", model.Changes{Relations: map[model.RelationID]model.RelationChange{rel.ID: {Unit: model.Settings{"want": "", "need": "two"}}}}))
	p.settle()
	if bag, err = harbour.Settings(p.ctx, there.ID, model.NewUnitName(stranger.Application, 1)); err != nil || len(bag) != 1 || bag["need"] != "two" {
		t.Errorf("there shop/1 says %v, %v", bag, err)
	}

	p.ok(harbour.Suspend(p.ctx, "rest", there.ID))
	p.settle()
	if r, err := coast.Relation(p.ctx, rel.ID); err != nil || !r.Suspended || r.SuspendedMessage != "rest" {
		t.Errorf("here it is %+v, %v", r, err)
	}
	p.ok(harbour.Resume(p.ctx, there.ID))

	p.ok(coast.DestroyRelationID(p.ctx, rel.ID))
	p.settle()
	if r, err := harbour.Relation(p.ctx, there.ID); err != nil || r.Life != model.Dying {
		t.Fatalf("there it is %v, %v", r.Life, err)
	}
	p.ok(harbour.LeaveScope(p.ctx, "ledger/0", there.ID))
	p.settle()
	p.ok(coast.LeaveScope(p.ctx, "shop/1", rel.ID))
	p.settle()
	for i, id := range []model.RelationID{rel.ID, there.ID} {
		if _, err := p.models[i].Relation(p.ctx, id); !errors.Is(err, errors.NotFound) {
			t.Errorf("%s has it: %v", p.models[i].Name(), err)
		}
	}
	if gone, err := coast.ForgetExternal(p.ctx, harbour.UUID()); err != nil || gone {
		t.Errorf("the other model is forgotten while something is consumed of it: %v", err)
	}
	p.ok(coast.RemoveSAAS(p.ctx, "dbalias", state.Orderly))
	if gone, err := coast.ForgetExternal(p.ctx, harbour.UUID()); err != nil || !gone {
		t.Errorf("the other model isn't forgotten: %v", err)
	}
}

// entered is a relation that a unit of either side is in, as both know; and its ids.
func entered(t *testing.T) (p *pair, ids [2]model.RelationID) {
	t.Helper()
	p = newPair(t)
	p.ok(p.offer())
	p.ok(p.consume())
	rel, err := p.models[0].AddRelation(p.ctx, "shop:store", "dbalias")
	p.ok(err)
	p.settle()
	rel, err = p.models[0].Relation(p.ctx, rel.ID)
	p.ok(err)
	ids = [2]model.RelationID{rel.ID, rel.Across.Relation}
	for side, id := range ids {
		p.ok(p.models[side].EnterScope(p.ctx, model.NewUnitName(apps[side], 0), id, model.Settings{"from": apps[side]}))
	}
	p.settle()
	p.agree()
	return p, ids
}

// in says whether a unit of the other side is in scope.
func (p *pair) in(side int, id model.RelationID, number int) bool {
	p.Helper()
	r, err := p.models[side].Relation(p.ctx, id)
	if errors.Is(err, errors.NotFound) {
		return false
	}
	p.ok(err)
	stranger, _ := r.Stranger()
	found := false
	_, err = p.stores[side].View(p.ctx, func(rd store.Reader) error {
		_, err := rd.Get(fmt.Sprintf("m/%s/scope/%d/-/%s", p.models[side].UUID(), id, model.NewUnitName(stranger.Application, number)))
		if found = err == nil; errors.Is(err, errors.NotFound) {
			err = nil
		}
		return err
	})
	p.ok(err)
	return found
}

func TestARelationGoesFromEitherSide(t *testing.T) {
	t.Parallel()
	for side, name := range []string{"here", "there"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ids := entered(t)
			other := 1 - side
			p.ok(p.models[side].DestroyRelationID(p.ctx, ids[side]))
			p.ok(p.models[other].EnterScope(p.ctx, model.NewUnitName(apps[other], 1), ids[other], nil))
			p.ok(p.models[side].RunCleanups(p.ctx))
			if !p.in(side, ids[side], 0) {
				t.Error("the other side's unit has left before it was told to")
			}
			p.settle()
			if p.in(side, ids[side], 1) {
				t.Error("a unit has come into a relation that goes")
			}
			for n := range 2 {
				p.ok(p.models[other].LeaveScope(p.ctx, model.NewUnitName(apps[other], n), ids[other]))
			}
			p.settle()
			p.ok(p.models[side].LeaveScope(p.ctx, model.NewUnitName(apps[side], 0), ids[side]))
			p.settle()
			for i, id := range ids {
				if _, err := p.models[i].Relation(p.ctx, id); !errors.Is(err, errors.NotFound) {
					t.Errorf("%s has it: %v", p.models[i].Name(), err)
				}
			}
		})
	}
}

func TestByForceARelationNeedsNoOtherStore(t *testing.T) {
	t.Parallel()
	for side, name := range []string{"here", "there"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ids := entered(t)
			other := 1 - side
			p.ok(p.models[side].ForceRelation(p.ctx, ids[side], state.SkipFailing, nil))
			p.ok(p.models[side].RunCleanups(p.ctx))
			if p.in(side, ids[side], 0) {
				t.Error("the other side's unit is waited for")
			}
			p.settle()
			if r, err := p.models[other].Relation(p.ctx, ids[other]); err != nil || r.Life != model.Dying || r.Force != state.SkipFailing {
				t.Errorf("on the other side it is %v, force %d, %v", r.Life, r.Force, err)
			}
			p.ok(p.models[side].ForceRelation(p.ctx, ids[side], state.Abandon, nil))
			if _, err := p.models[side].Relation(p.ctx, ids[side]); !errors.Is(err, errors.NotFound) {
				t.Errorf("it is there: %v", err)
			}
			p.settle()
			p.whole()
		})
	}
}

// What is forced away on one side is gone there before the other one hears of it, which isn't to make it anew.
func TestARelationThatIsGoneIsntMadeAnew(t *testing.T) {
	t.Parallel()
	for side, name := range []string{"here", "there"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ids := entered(t)
			other := 1 - side
			p.ok(p.models[side].ForceRelation(p.ctx, ids[side], state.Abandon, nil))
			p.settle()
			r, err := p.models[other].Relation(p.ctx, ids[other])
			p.ok(err)
			if r.Life != model.Dying || p.in(other, ids[other], 0) {
				t.Errorf("on the other side it is %v, and its unit in scope %v", r.Life, p.in(other, ids[other], 0))
			}
			p.ok(p.models[other].LeaveScope(p.ctx, model.NewUnitName(apps[other], 0), ids[other]))
			p.settle()
			if all, err := p.models[side].Halves(p.ctx, p.models[other].UUID(), side == 1); err != nil || len(all) > 0 {
				t.Errorf("there are %v, %v", all, err)
			}
		})
	}
}

func TestAModelOfTheSameStoreIsntConsumedAsAnother(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.ok(p.offer())
	m, err := state.NewController(p.stores[1], clock.WallClock).AddModel(p.ctx, "bay")
	p.ok(err)
	_, err = m.ConsumeExternal(p.ctx, p.models[1], state.ExternalDoc{}, model.OfferURL{Controller: "pier", Model: "harbour", Offer: "ledgerdb"}, "")
	if !errors.Is(err, errors.NotValid) || !strings.Contains(err.Error(), "is in this store") {
		t.Errorf("it is consumed with %v", err)
	}
}

// A store that is being restored has none of its models yet, and that doesn't mean that they are gone.
func TestAModelThatIsntThereSaysNothing(t *testing.T) {
	t.Parallel()
	for side, name := range []string{"here", "there"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ids := entered(t)
			l := p.link()
			empty := memory.New(clock.WallClock)
			if side == 0 {
				l.Here = l.Here.Through(empty)
			} else {
				l.There = l.There.Through(empty)
			}
			if err := l.Round(p.ctx); !errors.Is(err, errors.NotFound) {
				t.Errorf("it goes round with %v", err)
			}
			p.agree()
			for i := range ids {
				if !p.in(i, ids[i], 0) {
					t.Errorf("%s has lost a unit", p.models[i].Name())
				}
			}
		})
	}
}

// before is a store in which something happens before its nth look.
type before struct {
	store.Store
	n  *int
	do func()
}

func (b before) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	if *b.n--; *b.n == 0 {
		b.do()
	}
	return b.Store.View(ctx, fn)
}

func TestARelationThatIsMadeMeanwhileStays(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 4; n++ {
		p := newPair(t)
		p.ok(p.offer())
		p.ok(p.consume())
		l := p.link()
		looks := n
		made := false
		l.There = l.There.Through(before{p.stores[1], &looks, func() {
			rel, err := p.models[0].AddRelation(p.ctx, "shop:store", "dbalias")
			p.ok(err)
			p.ok(p.link().Propose(p.ctx, rel))
			made = true
		}})
		p.ok(l.Round(p.ctx))
		p.settle()
		if all, err := p.models[0].Halves(p.ctx, p.models[1].UUID(), false); made && (err != nil || len(all) != 1) {
			t.Errorf("made before look %d, there are %v, %v", n, all, err)
		}
		p.agree()
	}
}

// What one commit says of an application and of its leader is one commit on the other side.
func TestWhatOneCommitSaysIsSeenTogether(t *testing.T) {
	t.Parallel()
	p, ids := entered(t)
	p.ok(p.models[0].Apply(p.ctx, "shop/0", model.Changes{Relations: map[model.RelationID]model.RelationChange{
		ids[0]: {Unit: model.Settings{"n": "1"}}}}))
	before := p.revs()[1]
	p.ok(p.link().Round(p.ctx))
	if after := p.revs()[1]; after != before+1 {
		t.Errorf("it takes %d transactions", after-before)
	}
}

func TestWhatTheOtherModelRefusesIsRemoved(t *testing.T) {
	t.Parallel()
	for about, between := range map[string]func(*pair) error{
		"the offer is gone": func(p *pair) error { return p.models[1].RemoveOffer(p.ctx, "ledgerdb", false) },
		"the application goes": func(p *pair) error {
			_, err := p.models[1].ForceApplication(p.ctx, "ledger", state.SkipFailing, nil)
			return err
		},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.ok(p.offer())
			p.ok(p.consume())
			rel, err := p.models[0].AddRelation(p.ctx, "shop:store", "dbalias")
			p.ok(err)
			p.ok(between(p))
			if err := p.link().Propose(p.ctx, rel); !external.Refused(err) {
				t.Errorf("it is proposed with %v", err)
			}
			p.settle()
			if _, err := p.models[0].Relation(p.ctx, rel.ID); !errors.Is(err, errors.NotFound) {
				t.Errorf("it is there: %v", err)
			}
			p.agree()
		})
	}
}

func TestARelationWaitsForTheFormerOne(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.ok(p.offer())
	p.ok(p.consume())
	related := func() (here state.RelationDoc, there []state.RelationDoc) {
		t.Helper()
		made, err := p.models[0].AddRelation(p.ctx, "shop:store", "dbalias")
		p.ok(err)
		p.settle()
		here, err = p.models[0].Relation(p.ctx, made.ID)
		p.ok(err)
		there, err = p.models[1].Halves(p.ctx, p.models[0].UUID(), true)
		p.ok(err)
		return here, there
	}
	first, there := related()
	p.ok(p.models[1].EnterScope(p.ctx, "ledger/0", there[0].ID, nil))
	p.ok(p.models[0].DestroyRelationID(p.ctx, first.ID))
	second, _ := related()
	if second.Across.Relation != model.NoRelation {
		t.Fatalf("the new one has the half of the former one: %+v", second.Across)
	}
	if err := p.link().Propose(p.ctx, second); !errors.Is(err, errors.AlreadyExists) {
		t.Errorf("it is proposed with %v", err)
	}
	p.ok(p.models[1].LeaveScope(p.ctx, "ledger/0", there[0].ID))
	p.settle()
	if second, err := p.models[0].Relation(p.ctx, second.ID); err != nil || second.Across.Relation == model.NoRelation {
		t.Errorf("it has no other half: %+v, %v", second.Across, err)
	}
	p.agree()
}

func TestTheStatusOfWhatIsOfferedIsSeen(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.ok(p.offer())
	p.ok(p.consume())
	is := func(want, message string) {
		t.Helper()
		s, err := p.models[0].Status(p.ctx)
		p.ok(err)
		if len(s.SAAS) != 1 || s.SAAS[0].Status.Status != want || !strings.Contains(s.SAAS[0].Status.Message, message) {
			t.Errorf("the status is %+v, want %s %q", s.SAAS, want, message)
		}
	}
	is(model.StatusUnknown, "")
	p.ok(p.link().See(p.ctx))
	is(model.StatusWaiting, "")
	before := p.revs()
	p.ok(p.link().See(p.ctx))
	if p.revs() != before {
		t.Error("a status that is as it was is written again")
	}
	p.ok(external.Fail(p.ctx, p.models[0], p.models[1].UUID(), errors.New("nobody answers")))
	is(model.StatusError, "nobody answers")
	p.ok(p.models[1].RemoveOffer(p.ctx, "ledgerdb", true))
	p.ok(p.link().See(p.ctx))
	is(model.StatusTerminated, "offer has been removed")
	if _, err := p.models[0].AddRelation(p.ctx, "shop:store", "dbalias"); !errors.Is(err, errors.NotValid) {
		t.Errorf("what is gone is related with: %v", err)
	}
	p.ok(p.offer())
	p.ok(p.consume())
	is(model.StatusUnknown, "")
}

// cut is a store that fails once so many transactions were committed.
type cut struct {
	store.Store
	left *int
}

const errCut = errors.ConstError("cut off")

func (c cut) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	if *c.left--; *c.left < 0 {
		return 0, errCut
	}
	return c.Store.Update(ctx, fn, opts...)
}

// cutOff is a link that is cut off after so many transactions.
func (p *pair) cutOff(after int) *external.Link {
	l := p.link()
	l.Here, l.There = l.Here.Through(cut{p.stores[0], &after}), l.There.Through(cut{p.stores[1], &after})
	return l
}

// do does one thing on a side.
func (p *pair) do(rt *rapid.T, what string, side int) error {
	m, app := p.models[side], apps[side]
	unit := model.NewUnitName(app, rapid.IntRange(0, 2).Draw(rt, "number"))
	id := model.NoRelation
	if rels, err := m.RelationsOf(p.ctx, app); err == nil && len(rels) > 0 {
		id = rapid.SampledFrom(rels).Draw(rt, "relation").ID
	}
	how := rapid.SampledFrom([]state.Force{state.Orderly, state.SkipFailing, state.Abandon}).Draw(rt, "force")
	n := fmt.Sprint(rapid.IntRange(0, 2).Draw(rt, "n"))
	switch what {
	case "link":
		return p.link().Round(p.ctx)
	case "link that is cut off":
		err := p.cutOff(rapid.IntRange(0, 6).Draw(rt, "after")).Round(p.ctx)
		if errors.Is(err, errCut) {
			err = nil
		}
		return err
	case "offer":
		return p.offer()
	case "consume":
		return p.consume()
	case "integrate":
		ends := rapid.SampledFrom([]string{"shop:store", "shop:one"}).Draw(rt, "end")
		_, err := p.models[0].AddRelation(p.ctx, ends, "dbalias:db")
		return err
	case "enter":
		return m.EnterScope(p.ctx, unit, id, model.Settings{"hello": n})
	case "leave":
		return m.LeaveScope(p.ctx, unit, id)
	case "write":
		return m.Apply(p.ctx, unit, model.Changes{Relations: map[model.RelationID]model.RelationChange{id: {Unit: model.Settings{"n": n, "m": "1", "hello": ""}}}})
	case "suspend":
		return m.Suspend(p.ctx, "rest", id)
	case "resume":
		return m.Resume(p.ctx, id)
	case "see":
		return p.link().See(p.ctx)
	case "remove-relation":
		return m.ForceRelation(p.ctx, id, how, nil)
	case "remove-saas":
		return p.models[0].RemoveSAAS(p.ctx, "dbalias", how)
	case "remove-offer":
		return p.models[1].RemoveOffer(p.ctx, "ledgerdb", how > state.Orderly)
	case "remove-unit":
		return m.ForceUnit(p.ctx, unit, how)
	case "add-unit":
		_, err := m.AddUnits(p.ctx, app, 1)
		return err
	}
	return m.RunCleanups(p.ctx)
}

func TestBothSidesAgreeOnceALinkHasGoneRound(t *testing.T) {
	t.Parallel()
	steps := []string{
		"link", "link", "link that is cut off", "link that is cut off", "enter", "enter", "enter", "leave", "leave", "write", "write", "suspend", "resume",
		"integrate", "integrate", "consume", "offer", "see", "remove-relation", "remove-saas", "remove-offer", "remove-unit", "add-unit", "clean up",
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := newPair(rt)
		p.ok(p.offer())
		p.ok(p.consume())
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			step, side := rapid.SampledFrom(steps).Draw(rt, "step"), rapid.IntRange(0, 1).Draw(rt, "side")
			p.done(p.do(rt, step, side))
			p.whole()
		}
		p.settle()
		p.agree()
		for _, side := range rapid.Permutation([]int{0, 1}).Draw(rt, "order") {
			_, err := p.models[side].ForceApplication(p.ctx, apps[side], state.Abandon, nil)
			p.done(err)
			p.done(p.models[side].RunCleanups(p.ctx))
			p.settle()
			p.agree()
		}
		p.done(p.models[0].RemoveSAAS(p.ctx, "dbalias", state.Abandon))
		p.done(p.models[1].RemoveOffer(p.ctx, "ledgerdb", true))
		p.settle()
		gone, err := p.models[0].ForgetExternal(p.ctx, p.models[1].UUID())
		p.ok(err)
		for i, m := range p.models {
			p.done(m.RunCleanups(p.ctx))
			rows, err := statetest.Left(p.ctx, p.stores[i], m.UUID())
			p.ok(err)
			if len(rows) > 0 || !gone {
				p.Fatalf("%s: forgotten %v, and left are %v", m.Name(), gone, rows)
			}
		}
	})
}
