package state

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// ServiceDoc is what the agent that has the models tells of how an application is
// reached; that of the zero value isn't kept.
type ServiceDoc struct {
	// Address is the application's own; empty: it has none.
	Address string `json:"address,omitempty"`
	// Problems says why a port is not there, by model.Publication.Listen, or by the
	// port for one of the address.
	Problems map[string]string `json:"problems,omitempty"`
}

// Expose says that the application's ports are for the world, and has more of them
// published. Errors: NotFound, NotValid for an application whose units share the
// ports of their host, AlreadyExists for a port that another application of the
// model has, or that this one has for another port of its units.
func (m *Model) Expose(ctx context.Context, name string, publish []model.Publication) error {
	return m.changeApplication(ctx, name, func(tx *txn, app *ApplicationDoc) error {
		app.Exposed = true
		for _, p := range publish {
			if err := tx.mayPublish(*app, p); err != nil {
				return errors.Trace(err)
			}
			if !slices.Contains(app.Published, p) {
				app.Published = append(app.Published, p)
			}
		}
		return nil
	})
}

func (t *txn) mayPublish(app ApplicationDoc, p model.Publication) error {
	if !app.Isolation.OwnNetwork() {
		return errors.NewNotValid(nil, fmt.Sprintf("cannot publish ports of %q: its units have no network of their own, so their ports are the host's already", app.Name))
	}
	all, err := list[ApplicationDoc](t.docs, "app/")
	if err != nil {
		return errors.Trace(err)
	}
	for _, other := range append(all, app) {
		for _, q := range other.Published {
			if p.Conflicts(q) && (other.Name != app.Name || p != q) {
				return errors.NewAlreadyExists(nil, fmt.Sprintf("cannot publish %s: %s is published for %q", p, q, other.Name))
			}
		}
	}
	return nil
}

// SetService tells how an application is reached. The error is NotFound where there
// is no such application.
func (m *Model) SetService(ctx context.Context, name string, told ServiceDoc) error {
	_, err := m.update(ctx, func(tx *txn) error {
		if _, err := tx.application(name); err != nil {
			return errors.Trace(err)
		}
		var doc ServiceDoc
		found, err := tx.find(serviceKey(name), &doc)
		switch {
		case err != nil || reflect.DeepEqual(doc, told):
			return errors.Trace(err)
		case reflect.DeepEqual(told, ServiceDoc{}) && found:
			return tx.delete(serviceKey(name))
		}
		return tx.put(serviceKey(name), told)
	})
	return errors.Trace(err)
}

// Wires is what an agent needs to know of a model to have its units found.
type Wires struct {
	Applications []ApplicationDoc
	Units        []UnitDoc
	// Addresses are those of the machines, the preferred one, and Ports those that
	// units have opened.
	Addresses map[string]string
	Ports     map[model.UnitName]model.Ports
	Services  map[string]ServiceDoc // by application
	Pods      map[model.UnitName]PodDoc
	// Joined: there are agents of other hosts than the one that has the models.
	Joined bool
	// Tunnels are the hosts whose isolated units are on networks of theirs.
	Tunnels []TunnelDoc
}

// Wires reads all of it in one view.
func (m *Model) Wires(ctx context.Context) (w Wires, err error) {
	_, err = m.view(ctx, func(r docs) (err error) {
		w, err = r.wires()
		return errors.Trace(err)
	})
	return w, errors.Trace(err)
}

func (d docs) wires() (w Wires, err error) {
	w = Wires{Addresses: map[string]string{}, Ports: map[model.UnitName]model.Ports{}, Services: map[string]ServiceDoc{}}
	if w.Applications, err = list[ApplicationDoc](d, "app/"); err != nil {
		return w, errors.Trace(err)
	}
	if w.Units, err = list[UnitDoc](d, "unit/"); err != nil {
		return w, errors.Trace(err)
	}
	machines, err := list[MachineDoc](d, "machine/")
	if err != nil {
		return w, errors.Trace(err)
	}
	for _, machine := range machines {
		w.Joined = w.Joined || machine.Provider != LocalProvider && machine.Agent != ""
		if len(machine.Addresses) > 0 {
			w.Addresses[machine.ID] = machine.Addresses[0]
		}
	}
	if w.Tunnels, err = list[TunnelDoc](d, tunnelKind+"/"); err != nil {
		return w, errors.Trace(err)
	}
	ports, err := list[portsDoc](d, "ports/")
	if err != nil {
		return w, errors.Trace(err)
	}
	for _, doc := range ports {
		for unit, p := range doc.Units {
			w.Ports[unit] = p
		}
	}
	if w.Pods, err = d.podsBelow(""); err != nil {
		return w, errors.Trace(err)
	}
	for _, app := range w.Applications {
		var doc ServiceDoc
		found, err := d.find(serviceKey(app.Name), &doc)
		if err != nil {
			return w, errors.Trace(err)
		}
		if found {
			w.Services[app.Name] = doc
		}
	}
	return w, nil
}
