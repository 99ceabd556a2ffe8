package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// ExposedTo is to whom endpoints of an application are exposed: to the addresses of
// spaces and networks. Nothing of both is all the world.
type ExposedTo struct {
	Spaces []string `json:"spaces,omitempty"`
	CIDRs  []string `json:"cidrs,omitempty"`
}

// SetExposed says whether the application's ports are for the world. If not, none
// is published any more.
func (m *Model) SetExposed(ctx context.Context, name string, exposed bool) error {
	return m.changeApplication(ctx, name, func(_ *txn, app *ApplicationDoc) error {
		app.Exposed = exposed
		if !exposed {
			app.Published, app.ExposedEndpoints = nil, nil
		}
		return nil
	})
}

// ExposeEndpoints exposes an Alive application by those of its endpoints alone, "" for
// all of them, and records to whom. NotFound is for an endpoint that its charm
// doesn't have. Source: docs/spec/juju-clients.md §13.1.
func (m *Model) ExposeEndpoints(ctx context.Context, name string, to map[string]ExposedTo) error {
	return m.changeApplication(ctx, name, func(tx *txn, app *ApplicationDoc) error {
		charm, err := tx.charm(app.Charm)
		if err != nil {
			return errors.Trace(err)
		}
		known := charm.Charm.EndpointsOf(app.Name)
		for _, endpoint := range slices.Sorted(maps.Keys(to)) {
			if endpoint != "" && !slices.ContainsFunc(known, func(e model.Endpoint) bool { return e.Name == endpoint }) {
				return errors.NewNotFound(nil, fmt.Sprintf("application %q has no endpoint %q to be exposed", app.Name, endpoint))
			}
		}
		app.Exposed, app.ExposedEndpoints = true, maps.Clone(to)
		return nil
	})
}

// AnnotateApplication puts people's own words on an Alive application, by their keys;
// an empty one takes away what was there.
func (m *Model) AnnotateApplication(ctx context.Context, name string, set map[string]string) error {
	return m.changeApplication(ctx, name, func(_ *txn, app *ApplicationDoc) error {
		app.Annotations = annotated(app.Annotations, set)
		return nil
	})
}

// AnnotateMachine is AnnotateApplication for a machine.
func (m *Model) AnnotateMachine(ctx context.Context, id string, set map[string]string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		doc, err := tx.seenMachine(id)
		if err != nil {
			return errors.Trace(err)
		}
		doc.Annotations = annotated(doc.Annotations, set)
		return tx.put(machineKey(id), doc)
	})
	return errors.Trace(err)
}

// annotated are words with others laid over them.
func annotated(was, set map[string]string) map[string]string {
	all := maps.Clone(was)
	for k, v := range set {
		switch {
		case v == "":
			delete(all, k)
		case all == nil:
			all = map[string]string{k: v}
		default:
			all[k] = v
		}
	}
	return all
}
