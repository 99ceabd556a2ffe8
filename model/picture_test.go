package model_test

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
)

// pictured is a picture of these facts.
func pictured(facts ...model.Fact) model.Picture { return facts }

func bag(of string, id model.RelationID, key, value string) model.Fact {
	app, _, _ := strings.Cut(of, "/")
	return model.Fact{Kind: model.FactBag, Of: of, Relation: id, Endpoint: app + ":db", Key: key, Value: value}
}

func fact(kind model.FactKind, of, key, value string) model.Fact {
	return model.Fact{Kind: kind, Of: of, Relation: model.NoRelation, Key: key, Value: value}
}

func unit(name string) model.Fact {
	return model.There(model.FactUnit, name, model.NoRelation, model.Alive)
}

func related(id model.RelationID) model.Fact {
	return model.There(model.FactRelation, "shop:db ledger:db", id, model.Alive)
}

func TestPicturesAreCompared(t *testing.T) {
	t.Parallel()
	shop := unit("shop/0")
	for _, c := range []struct {
		name        string
		former, now model.Picture
		want        []string
	}{
		{"nothing has changed", pictured(shop, related(0), bag("shop/0", 0, "a", "1")), pictured(bag("shop/0", 0, "a", "1"), related(0), shop), nil},
		{
			"settings come, change and go",
			pictured(shop, related(0), bag("shop/0", 0, "old", "1"), bag("shop/0", 0, "same", "1"), bag("shop/0", 0, "port", "80")),
			pictured(shop, related(0), bag("shop/0", 0, "new", "2"), bag("shop/0", 0, "same", "1"), bag("shop/0", 0, "port", "81")),
			[]string{"shop:db shop/0  + new: 2", "shop:db shop/0  - old: 1", "shop:db shop/0  ~ port: 80 -> 81"},
		},
		{
			"the second of two relations by an endpoint makes them be told apart",
			pictured(shop, related(0), bag("shop/0", 0, "a", "1")),
			pictured(shop, related(0), related(1), bag("shop/0", 0, "a", "2"), bag("shop/0", 1, "a", "1")),
			[]string{"shop:db ledger:db  + relation: alive", "shop:db#0 shop/0  ~ a: 1 -> 2", "shop:db#1 shop/0  + a: 1"},
		},
		{
			"what a unit that has gone had, goes without a word",
			pictured(shop, unit("shop/1"), related(0), bag("shop/1", 0, "a", "1"), fact(model.FactPort, "shop/1", "80/tcp", ""), fact(model.FactState, "shop/1", "state", "1")),
			pictured(shop, related(0)),
			[]string{"shop/1  - unit: alive"},
		},
		{
			"and so does what was told in a relation that has gone",
			pictured(shop, related(0), bag("shop/0", 0, "a", "1"), fact(model.FactPort, "shop/0", "80/tcp", "")),
			pictured(shop),
			[]string{"shop/0 ports  - 80/tcp", "shop:db ledger:db  - relation: alive"},
		},
		{
			"units come by number, each before what it has",
			nil,
			pictured(unit("shop/10"), fact(model.FactUnit, "shop/10", "charm", "c"), unit("shop/2"), fact(model.FactUnit, "shop/2", "charm", "c")),
			[]string{"shop/2  + unit: alive", "shop/2  + charm: c", "shop/10  + unit: alive", "shop/10  + charm: c"},
		},
		{
			"ports by number, and the charm's state apart from the unit's own",
			pictured(shop, fact(model.FactState, "shop/0", "status", "x")),
			pictured(shop, fact(model.FactState, "shop/0", "status", ""), fact(model.FactUnit, "shop/0", "status", "active"),
				fact(model.FactPort, "shop/0", "443/tcp", ""), fact(model.FactPort, "shop/0", "80/tcp", "")),
			[]string{"shop/0  + status: active", "shop/0 ports  + 80/tcp", "shop/0 ports  + 443/tcp", `shop/0 state  ~ status: x -> ""`},
		},
		{
			"a value that would break the line, or be taken for another, is quoted",
			pictured(shop, fact(model.FactState, "shop/0", "a", " x")),
			pictured(shop, fact(model.FactState, "shop/0", "a", "1 -> 2"), fact(model.FactState, "shop/0", "b", "two\nlines")),
			[]string{`shop/0 state  ~ a: " x" -> "1 -> 2"`, `shop/0 state  + b: "two\nlines"`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, d := range c.now.Since(c.former) {
				got = append(got, d.String())
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
