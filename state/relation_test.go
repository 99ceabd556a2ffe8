package state_test

import (
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

func TestAddRelation(t *testing.T) {
	t.Parallel()
	charms := []string{
		wordpress, mysql, logging, monitor,
		"pair one=provider:mysql two=provider:mysql",
		"replica source=requirer:mysql sink=provider:mysql",
		"single db=requirer:mysql#1",
		"collector logs=requirer:logs",
		"local near=requirer:mysql@container",
		"host info=provider:juju-info",
		"plain",
	}
	for _, tt := range []struct {
		name, a, b  string
		want, fails string // the relation's key
		scope       model.Scope
		is          error
	}{
		{name: "the one pair of the same interface is found", a: "wordpress", b: "mysql",
			want: "wordpress:db mysql:server", scope: model.Global},
		{name: "the order of the arguments doesn't matter", a: "mysql", b: "wordpress",
			want: "wordpress:db mysql:server", scope: model.Global},
		{name: "endpoints can be named", a: "mysql:server", b: "wordpress:db",
			want: "wordpress:db mysql:server", scope: model.Global},
		{name: "naming one endpoint is enough to choose", a: "wordpress", b: "pair:two",
			want: "wordpress:db pair:two", scope: model.Global},
		{name: "several candidates are listed", a: "wordpress", b: "pair", is: errors.NotValid,
			fails: `ambiguous relation: "wordpress pair" could refer to "wordpress:db pair:one"; "wordpress:db pair:two"`},
		{name: "both directions are candidates", a: "replica", b: "mysql", want: "replica:source mysql:server", scope: model.Global},
		{name: "two providers don't fit", a: "mysql", b: "pair", is: errors.NotFound, fails: "no relations found"},
		{name: "two requirers don't fit", a: "wordpress", b: "single", is: errors.NotFound, fails: "no relations found"},
		{name: "named endpoints have to fit too", a: "wordpress:cache", b: "mysql:server", is: errors.NotFound, fails: "no relations found"},
		{name: "a peer endpoint is related to nobody", a: "wordpress", b: "mysql:cluster", is: errors.NotFound, fails: "no relations found"},
		{name: "an application isn't related to itself", a: "replica", b: "replica", is: errors.NotFound, fails: "no relations found"},
		{name: "nothing in common", a: "plain", b: "wordpress", is: errors.NotFound, fails: "no relations found"},
		{name: "every application provides juju-info", a: "plain", b: "logging",
			want: "logging:info plain:juju-info", scope: model.Container},
		{name: "a declared endpoint goes before the implicit juju-info", a: "monitor", b: "mysql",
			want: "monitor:db mysql:server", scope: model.Global},
		{name: "the implicit juju-info can be named", a: "monitor", b: "mysql:juju-info",
			want: "monitor:watch mysql:juju-info", scope: model.Container},
		{name: "a declared endpoint of the interface juju-info goes before the implicit one", a: "host", b: "logging",
			want: "logging:info host:info", scope: model.Container},
		{name: "the scope is container if either endpoint says so", a: "logging:info", b: "wordpress",
			want: "logging:info wordpress:juju-info", scope: model.Container},
		{name: "a subordinate can have a global relation", a: "logging", b: "collector",
			want: "collector:logs logging:logs", scope: model.Global},
		{name: "a container relation needs a subordinate", a: "local", b: "mysql", is: errors.NotFound, fails: "no relations found"},
		{name: "an application that isn't there", a: "nope", b: "mysql", is: errors.NotFound, fails: `application "nope" not found`},
		{name: "the second that isn't there", a: "mysql", b: "nope:x", is: errors.NotFound, fails: `application "nope" not found`},
		{name: "an endpoint that isn't there", a: "mysql:nope", b: "wordpress", is: errors.NotFound,
			fails: `application "mysql" has no "nope" relation`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, c := range charms {
				w.deploy(c, 0)
			}
			r, err := w.AddRelation(w.ctx, tt.a, tt.b)
			if tt.fails != "" {
				w.fails(err, tt.fails)
				if !errors.Is(err, tt.is) {
					t.Errorf("error is not %v", tt.is)
				}
				return
			}
			w.ok(err)
			w.is("relation", r.Key, tt.want)
			w.is("scope", string(r.Scope()), string(tt.scope))
			w.is("life", w.relationLife(r.ID), "alive")
		})
	}
}

func TestAddRelationTwice(t *testing.T) {
	t.Parallel()

	t.Run("a relation that is there already is refused", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 0)
		w.deploy(mysql, 0)
		w.relate("wordpress", "mysql")
		_, err := w.AddRelation(w.ctx, "mysql", "wordpress")
		w.fails(err, `cannot add relation "wordpress:db mysql:server": relation wordpress:db mysql:server already exists`)
		if !errors.Is(err, errors.AlreadyExists) {
			t.Error("error is not AlreadyExists")
		}
	})

	t.Run("while one is dying its like can't be added, and then it can, with a new id", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 0)
		id := w.relate("wordpress", "mysql")
		w.enter("wordpress/0", id)
		w.ok(w.DestroyRelation(w.ctx, "wordpress", "mysql"))
		_, err := w.AddRelation(w.ctx, "wordpress", "mysql")
		w.fails(err, `cannot add relation "wordpress:db mysql:server": the one of the same name is still being removed`)
		w.leave("wordpress/0", id)
		if again := w.relate("wordpress", "mysql"); again <= id {
			t.Errorf("the new relation has id %d, the old one had %d", again, id)
		}
	})

	t.Run("an endpoint takes no more relations than its limit", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy("single db=requirer:mysql#1", 0)
		w.deploy("pair one=provider:mysql two=provider:mysql", 0)
		w.relate("single", "pair:one")
		_, err := w.AddRelation(w.ctx, "single", "pair:two")
		w.fails(err, `cannot add relation: establishing a new relation for single:db would exceed its maximum relation limit of 1`)
		if !errors.Is(err, errors.QuotaLimitExceeded) {
			t.Error("error is not QuotaLimitExceeded")
		}
		w.ok(w.DestroyRelation(w.ctx, "single", "pair"))
		w.relate("single", "pair:two")
	})

	t.Run("relations are only added between alive applications", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 1)
		w.enter("mysql/0")
		_, err := w.DestroyApplication(w.ctx, "mysql")
		w.ok(err)
		_, err = w.AddRelation(w.ctx, "wordpress", "mysql")
		w.fails(err, `cannot add relation: application "mysql" is not alive`)
		app, err := w.Application(w.ctx, "wordpress")
		w.ok(err)
		if app.Relations != 0 {
			t.Errorf("the other application counts %d relations", app.Relations)
		}
	})
}

// Seed 000, "remove-relation".
func TestDestroyRelation(t *testing.T) {
	t.Parallel()

	t.Run("a relation that nobody is in is removed at once", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 1)
		id := w.relate("wordpress", "mysql")
		w.ok(w.DestroyRelation(w.ctx, "mysql", "wordpress"))
		w.is("relation", w.relationLife(id), "gone")
		w.is("applications", w.appLife("wordpress")+" "+w.appLife("mysql"), "alive alive")
	})

	t.Run("a relation with a unit in scope is dying until the last one leaves", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 2)
		id := w.relate("wordpress", "mysql")
		w.enter("wordpress/0", id)
		w.enter("mysql/0", id)
		w.ok(w.DestroyRelation(w.ctx, "wordpress:db", "mysql:server"))
		w.is("relation", w.relationLife(id), "dying")
		w.ok(w.DestroyRelation(w.ctx, "wordpress:db", "mysql:server")) // no-op
		w.is("relation", w.relationLife(id), "dying")
		w.leave("wordpress/0", id)
		w.is("relation", w.relationLife(id), "dying")
		w.leave("mysql/0", id)
		w.is("relation", w.relationLife(id), "gone")
	})

	t.Run("the settings of a removed relation go with the cleanup queue", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(mysql, 130)
		keep := w.relate("wordpress:juju-info", w.deployed(logging))
		id := w.relate("wordpress", "mysql")
		w.enter("wordpress/0", keep, id)
		units, err := w.Units(w.ctx)
		w.ok(err)
		for _, u := range units {
			if u.Name.Application() == "mysql" {
				w.ok(w.EnterScope(w.ctx, u.Name, id, model.Settings{"a": "b"}))
			}
		}
		w.ok(w.DestroyRelation(w.ctx, "wordpress", "mysql"))
		w.leave("wordpress/0", id)
		for _, u := range units {
			w.leave(u.Name, id)
		}
		prefix := "m/" + w.UUID() + "/settings/"
		// And for all but the last to leave, that they have.
		if n := len(w.keys(prefix)); n != 132+130 {
			t.Errorf("%d settings before the queue is run, want 262", n)
		}
		w.ok(w.RunCleanups(w.ctx))
		w.ok(w.RunCleanups(w.ctx))
		if keys := w.keys(prefix); len(keys) != 1 {
			t.Errorf("%d settings after it, want only those of the relation that is left", len(keys))
		}
		if keys := w.keys("m/" + w.UUID() + "/cleanup/"); len(keys) > 0 {
			t.Errorf("work left in the queue: %v", keys)
		}
	})

	for _, tt := range []struct{ name, a, b, fails string }{
		{"a relation that isn't there", "mysql", "logging", `relation matching "mysql logging" not found (not found)`},
		{"other endpoints than the relation's", "wordpress:cache", "pair", `relation matching "wordpress:cache pair" not found (not found)`},
		{"two relations between the applications", "wordpress", "pair",
			`ambiguous relation: "wordpress pair" could refer to "wordpress:db pair:one"; "wordpress:db pair:two"`},
		{"an application that isn't there", "nope", "mysql", `application "nope" not found`},
		{"the peer relation of an application", "mysql", "mysql", `relation matching "mysql mysql" not found (not found)`},
	} {
		t.Run(tt.name+" is refused", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, c := range []string{wordpress, mysql, logging, "pair one=provider:mysql two=provider:mysql"} {
				w.deploy(c, 0)
			}
			w.relate("wordpress", "pair:one")
			w.relate("wordpress", "pair:two")
			w.fails(w.DestroyRelation(w.ctx, tt.a, tt.b), tt.fails)
			w.is("relations", w.relationKeys("wordpress"), "wordpress:db pair:one wordpress:db pair:two")
		})
	}
}

func TestDestroyRelationID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(wordpress, 0)
	w.deploy(mysql, 0)
	id := w.relate("wordpress", "mysql")
	w.ok(w.DestroyRelationID(w.ctx, id))
	w.is("relation", w.relationLife(id), "gone")
	w.fails(w.DestroyRelationID(w.ctx, id), `relation 1 not found (not found)`)
	w.fails(w.DestroyRelationID(w.ctx, 0),
		`cannot remove relation "mysql:cluster": it is a peer relation and goes with its application`)
}

// deployed deploys a charm without units and returns its name.
func (w *world) deployed(line string) string {
	w.Helper()
	w.deploy(line, 0)
	return charm(line).Name
}
