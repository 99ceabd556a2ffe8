package state

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Faces says whether a unit of a machine is in a relation with units that are isolated
// and have a network of their own: what they are told of the machine's addresses is to
// be one that they reach. It is about the machine, as its units have their addresses in
// common. A machine that isn't there faces nobody.
func (m *Model) Faces(ctx context.Context, machine string) (faces bool, err error) {
	_, err = m.view(ctx, func(r docs) error {
		faces = false
		doc, err := r.machine(machine)
		if errors.Is(err, errors.NotFound) {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		asked := map[string]bool{}
		for _, principal := range doc.Units {
			u, err := r.unit(principal)
			if errors.Is(err, errors.NotFound) {
				continue
			}
			if err != nil {
				return errors.Trace(err)
			}
			for _, unit := range append(u.Subordinates, principal) {
				app := unit.Application()
				if faces || asked[app] {
					continue
				}
				asked[app] = true
				if faces, err = r.faces(app); err != nil {
					return errors.Trace(err)
				}
			}
		}
		return nil
	})
	return faces, errors.Trace(err)
}

// OwnNetwork says whether the units of a machine are all isolated and have, or may have,
// a network of their own: then the host's addresses aren't theirs. told are the addresses
// that the machine was last told to have. A machine without units has none.
func (m *Model) OwnNetwork(ctx context.Context, machine string) (own bool, told []string, err error) {
	_, err = m.view(ctx, func(r docs) error {
		own = false
		doc, err := r.machine(machine)
		if err != nil {
			return errors.Trace(err)
		}
		told = doc.Addresses
		for _, unit := range doc.Units {
			app, err := r.application(unit.Application())
			if err != nil {
				return errors.Trace(err)
			}
			if own = app.Isolation.OwnNetwork(); !own {
				return nil
			}
		}
		return nil
	})
	return own, told, errors.Trace(err)
}

// faces says whether an application has a relation with one whose units have a network
// of their own, or are in the machines of such units.
func (d docs) faces(app string) (bool, error) {
	others, err := d.others(app, model.Global)
	if err != nil {
		return false, errors.Trace(err)
	}
	for _, other := range others {
		behind := []ApplicationDoc{other}
		if other.Subordinate {
			if behind, err = d.others(other.Name, model.Container); err != nil {
				return false, errors.Trace(err)
			}
		}
		for _, one := range behind {
			if one.Isolation.OwnNetwork() {
				return true, nil
			}
		}
	}
	return false, nil
}

// others are the applications at the other ends of an application's relations of that
// scope.
func (d docs) others(app string, scope model.Scope) ([]ApplicationDoc, error) {
	rels, err := d.relationsOf(app)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var all []ApplicationDoc
	for _, rel := range rels {
		if rel.Scope() != scope || rel.IsPeer() {
			continue
		}
		_, other, ok := rel.Endpoint(app)
		if !ok {
			continue
		}
		of, name := d, other.Application
		if rel.Across != nil {
			of, name = d.at(rel.Across.Model, ""), rel.Across.Theirs
		}
		doc, err := of.application(name)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return nil, errors.Trace(err)
		}
		all = append(all, doc)
	}
	return all, nil
}
