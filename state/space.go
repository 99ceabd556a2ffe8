package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// SpaceDoc is the document of a space. It holds no subnet: the one network is in
// model.AlphaSpace. Source: docs/spec/juju-clients.md §8.
type SpaceDoc struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// spaces lists all spaces but model.AlphaSpace.
const spaces = "space/"

func spaceKey(name string) string { return spaces + name }

// Spaces are those of the model, model.AlphaSpace first, then by name.
func (m *Model) Spaces(ctx context.Context) ([]SpaceDoc, error) {
	var all []SpaceDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		all, err = list[SpaceDoc](r, spaces)
		return errors.Trace(err)
	})
	slices.SortFunc(all, func(a, b SpaceDoc) int { return strings.Compare(a.Name, b.Name) })
	return append([]SpaceDoc{{"0", model.AlphaSpace}}, all...), errors.Trace(err)
}

// AddSpace records a space. Errors: NotValid for its name, or for a model that is being
// destroyed; AlreadyExists.
func (m *Model) AddSpace(ctx context.Context, name string) error {
	if !model.ValidSpace(name) {
		return errors.NewNotValid(nil, fmt.Sprintf("%q is not a valid space name", name))
	}
	_, err := m.update(ctx, func(tx *txn) error {
		if err := tx.alive(); err != nil {
			return errors.Trace(err)
		}
		found, err := tx.hasSpace(name)
		if err != nil {
			return errors.Trace(err)
		}
		if found {
			return errors.NewAlreadyExists(nil, fmt.Sprintf("space %q already exists", name))
		}
		n, err := tx.next("space")
		if err != nil {
			return errors.Trace(err)
		}
		return tx.put(spaceKey(name), SpaceDoc{ID: fmt.Sprint(n + 1), Name: name})
	})
	return errors.Trace(err)
}

func (d docs) hasSpace(name string) (bool, error) {
	if name == model.AlphaSpace {
		return true, nil
	}
	var doc SpaceDoc
	found, err := d.find(spaceKey(name), &doc)
	return found, errors.Trace(err)
}

// bound are bindings with others over them, for a charm: NotFound for a space or an
// endpoint that there isn't.
func (d docs) bound(now, others model.Bindings, charm model.Charm) (model.Bindings, error) {
	next, err := now.With(others, charm.Bindable())
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, space := range others.Elsewhere() {
		found, err := d.hasSpace(space)
		if err != nil {
			return nil, errors.Trace(err)
		}
		if !found {
			return nil, errors.NewNotFound(nil, fmt.Sprintf("space %q not found", space))
		}
	}
	return next, nil
}

// Bind binds endpoints of an Alive application, and says line by line what has become
// of them all. Nothing else comes of it: there is one network. The error is NotFound
// for an application, an endpoint or a space that there isn't.
func (m *Model) Bind(ctx context.Context, application string, others model.Bindings) (log []string, err error) {
	err = m.changeApplication(ctx, application, func(tx *txn, app *ApplicationDoc) error {
		charm, err := tx.charm(app.Charm)
		if err != nil {
			return errors.Trace(err)
		}
		next, err := tx.bound(app.Bindings, others, charm.Charm)
		if err != nil {
			return errors.Trace(err)
		}
		ends := charm.Charm.Bindable()
		log = next.Log(app.Bindings, ends, ends)
		app.Bindings = next
		return nil
	})
	return log, errors.Trace(err)
}

// SetBase says on what base an Alive application's later units are, and those of its
// subordinates: nothing is done about units that are there. Source:
// docs/spec/juju-clients.md §7.4.
func (m *Model) SetBase(ctx context.Context, application string, base model.Base) error {
	err := m.changeApplication(ctx, application, func(tx *txn, app *ApplicationDoc) error { return tx.setBase(app, base) })
	return errors.Trace(err)
}

// setBase is SetBase within a transaction.
func (t *txn) setBase(app *ApplicationDoc, base model.Base) error {
	rels, err := t.relationsOf(app.Name)
	if err != nil {
		return errors.Trace(err)
	}
	for _, r := range rels {
		if _, other, _ := r.Endpoint(app.Name); r.Scope() == model.Container && !app.Subordinate {
			if err := t.setBaseBelow(other.Application, base); err != nil {
				return errors.Trace(err)
			}
		}
	}
	app.Base = base.String()
	return nil
}

// setBaseBelow is setBase for a subordinate. One that is going keeps its own, as it gets no
// units any more.
func (t *txn) setBaseBelow(subordinate string, base model.Base) error {
	app, err := t.application(subordinate)
	if errors.Is(err, errors.NotFound) || err == nil && app.Life != model.Alive {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	app.Base = base.String()
	return t.put(applicationKey(app.Name), app)
}
