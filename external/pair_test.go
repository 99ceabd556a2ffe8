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

// consumed is a pair whose first model has consumed what the second one offers.
func consumed(t rapidTB) *pair {
	p := newPair(t)
	p.ok(p.offer())
	p.ok(p.consume())
	return p
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

// entered is a relation that a unit of either side is in, as both know; and its ids.
func entered(t *testing.T) (p *pair, ids [2]model.RelationID) {
	t.Helper()
	p = consumed(t)
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
