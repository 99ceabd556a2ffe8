package external_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// What is stored has its quotes and line ends escaped: it takes more bytes than it has.
func TestDatabagsAreBroughtHoweverLargeTheyAreStored(t *testing.T) {
	t.Parallel()
	p, ids := entered(t)
	p.ok(p.models[0].EnterScope(p.ctx, "shop/1", ids[0], nil))
	lease, err := p.stores[0].Grant(p.ctx, time.Hour)
	p.ok(err)
	_, err = p.models[0].ClaimLeadership(p.ctx, "shop/0", lease)
	p.ok(err)
	large := model.Settings{"text": strings.Repeat("\"", 400<<10)}
	for _, change := range []model.RelationChange{{Application: large}, {Unit: large}} {
		p.ok(p.models[0].Apply(p.ctx, "shop/0", model.Changes{Relations: map[model.RelationID]model.RelationChange{ids[0]: change}}))
	}
	p.ok(p.models[0].Apply(p.ctx, "shop/1", model.Changes{Relations: map[model.RelationID]model.RelationChange{ids[0]: {Unit: large}}}))
	p.settle()
	p.agree()
}

// refusing is a store that writes no key which begins so.
type refusing struct {
	store.Store
	prefix string
}

type refusingTx struct {
	store.Tx
	prefix string
}

var errRefused = errors.New("it isn't written")

func (r refusing) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	return r.Store.Update(ctx, func(tx store.Tx) error { return fn(refusingTx{tx, r.prefix}) }, opts...)
}

func (r refusingTx) Put(key string, value []byte) error {
	if strings.HasPrefix(key, r.prefix) {
		return errRefused
	}
	return r.Tx.Put(key, value)
}

func TestARelationThatCantBeBroughtKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	p, ids := entered(t)
	other, err := p.models[0].AddRelation(p.ctx, "shop:one", "dbalias:db")
	p.ok(err)
	p.settle()
	for _, id := range []model.RelationID{ids[0], other.ID} {
		p.ok(p.models[0].EnterScope(p.ctx, "shop/1", id, nil))
	}
	l := p.link()
	l.There = l.There.Through(refusing{p.stores[1], fmt.Sprintf("m/%s/settings/%d/", p.models[1].UUID(), ids[1])})
	want := fmt.Sprintf("relation %d: ", ids[0])
	if err := l.Round(p.ctx); !errors.Is(err, errRefused) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("it goes round with %v, not %s", err, want)
	}
	there, err := p.models[0].Relation(p.ctx, other.ID)
	p.ok(err)
	if !p.in(1, there.Across.Relation, 1) || p.in(1, ids[1], 1) {
		t.Errorf("the second one isn't brought, or the first one is")
	}
}
