package state

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// SetCharm says that the application's units should have another charm; with
// force even those in error. A charm that lacks an endpoint in use is refused,
// as is one of the other kind (principal or subordinate). Options that the new
// charm doesn't have, or has with another type, lose their value; new peer
// relations are made.
func (m *Model) SetCharm(ctx context.Context, name, url string, force bool) error {
	return m.SetCharmAndResources(ctx, name, url, force, nil)
}

// SetCharmAndResources is SetCharm and SetResources as one upgrade; given is by
// the names of resources of the new charm.
func (m *Model) SetCharmAndResources(ctx context.Context, name, url string, force bool, given map[string]Content) error {
	return m.Refresh(ctx, name, Refresh{URL: url, Force: force, Resources: given})
}

// storageWith are an application's directives with others over them, for a charm.
func (d docs) storageWith(app ApplicationDoc, charm model.Charm, directives map[string]model.StorageDirective) (map[string]model.StorageDirective, error) {
	all := maps.Clone(directives)
	for name, former := range app.Storage {
		_, has := charm.Storage[name]
		if _, anew := directives[name]; has && !anew {
			all[name] = former
		}
	}
	if err := d.checkStorageOf(all, charm); err != nil {
		return nil, errors.Trace(err)
	}
	return all, errors.Trace(charm.CheckMounts(app.Name, all))
}

// CheckRefresh is the error that Refresh would give for directives of storage and bindings
// with a charm that the application is yet to have.
func (m *Model) CheckRefresh(ctx context.Context, name string, charm model.Charm, directives map[string]model.StorageDirective, others model.Bindings) error {
	_, err := m.view(ctx, func(r docs) error {
		app, err := r.application(name)
		if err != nil {
			return errors.Trace(err)
		}
		if len(directives) > 0 {
			if _, err := r.storageWith(app, charm, directives); err != nil {
				return errors.Trace(err)
			}
		}
		_, err = r.bound(app.Bindings, others, charm)
		return errors.Trace(err)
	})
	return errors.Trace(err)
}

func (t *txn) setCharm(app *ApplicationDoc, url string, force bool) error {
	charm, err := t.charm(url)
	if err != nil {
		return errors.Trace(err)
	}
	if err := t.checkCharm(*app, charm.Charm); err != nil {
		return errors.Trace(err)
	}
	if err := t.newPeers(app, charm); err != nil {
		return errors.Trace(err)
	}
	if err := t.newStorage(app, charm.Charm); err != nil {
		return errors.Trace(err)
	}
	var conf configDoc
	if _, err := t.find(configKey(app.Name), &conf); err != nil {
		return errors.Trace(err)
	}
	for k, v := range conf.Values {
		o, ok := charm.Charm.Options[k]
		if _, err := o.Coerce(k, v); !ok || err != nil {
			delete(conf.Values, k)
		}
	}
	if err := t.take(url); err != nil {
		return errors.Trace(err)
	}
	app.Charm, app.Forced = url, force
	if app.Sidecar {
		// A charm that no unit could be made of may have become one.
		if err := t.queue(cleanupDoc{ScaleOf: app.Name}); err != nil {
			return errors.Trace(err)
		}
	}
	return t.put(configKey(app.Name), conf)
}

// CheckCharm is the error that SetCharm would give for that charm, which the
// model need not have: so a charm is stored only if it is going to be used.
func (m *Model) CheckCharm(ctx context.Context, application string, charm model.Charm) error {
	_, err := m.view(ctx, func(r docs) error {
		app, err := r.application(application)
		if err != nil {
			return errors.Trace(err)
		}
		if app.Life != model.Alive {
			return errors.NewNotValid(nil, fmt.Sprintf("application %q is not alive", application))
		}
		return r.checkCharm(app, charm)
	})
	return errors.Trace(err)
}

// checkCharm refuses a charm of the other kind, and one that lacks an endpoint
// that has a relation or is offered.
func (d docs) checkCharm(app ApplicationDoc, charm model.Charm) error {
	if charm.Subordinate != app.Subordinate {
		return errors.NewNotValid(nil, fmt.Sprintf("cannot upgrade application %q to charm %q: cannot change an application's subordinacy", app.Name, charm.Name))
	}
	if err := d.checkContainerCharm(app, charm); err != nil {
		return errors.Trace(err)
	}
	rels, err := d.relationsOf(app.Name)
	if err != nil {
		return errors.Trace(err)
	}
	have := charm.EndpointsOf(app.Name)
	for _, r := range rels {
		own, _, _ := r.Endpoint(app.Name)
		if !slices.ContainsFunc(have, own.Same) {
			return errors.NewNotValid(nil, fmt.Sprintf("cannot upgrade application %q to charm %q: would break relation %q", app.Name, charm.Name, r.Key))
		}
	}
	if err := d.checkOffered(app, charm, have); err != nil {
		return errors.Trace(err)
	}
	return d.checkStorageInUse(app, charm)
}

// checkOffered refuses a charm that lacks an endpoint of an offer, whether anybody has
// consumed that or not: they could do so at any time.
func (d docs) checkOffered(app ApplicationDoc, charm model.Charm, have []model.Endpoint) error {
	if app.Offers == 0 {
		return nil
	}
	offers, err := list[OfferDoc](d, offerPrefix)
	if err != nil {
		return errors.Trace(err)
	}
	for _, o := range offers {
		if o.Application != app.Name {
			continue
		}
		for _, e := range o.Endpoints {
			if !slices.ContainsFunc(have, e.Same) {
				return errors.NewNotValid(nil, fmt.Sprintf("cannot upgrade application %q to charm %q: it lacks endpoint %q (%s of %s), which offer %q has: "+
					"offer others by that name, or remove the offer", app.Name, charm.Name, e.Name, e.Role, e.Interface, o.Name))
			}
		}
	}
	return nil
}

// checkContainerCharm refuses to make a machine's application a container's, or the
// other way round, and other storage for one. Source: docs/spec/containers.md §7.1,
// K-112.
func (d docs) checkContainerCharm(app ApplicationDoc, charm model.Charm) error {
	if app.Subordinate {
		return nil
	}
	if charm.Sidecar() != app.Sidecar {
		return errors.NewNotValid(nil, fmt.Sprintf("cannot upgrade application %q to charm %q: cannot change between machines and containers", app.Name, charm.Name))
	}
	old, err := d.charm(app.Charm)
	if err != nil || !app.Sidecar || reflect.DeepEqual(storageNeeds(old.Charm), storageNeeds(charm)) {
		return errors.Trace(err)
	}
	return errors.NewNotSupported(nil, "Juju on containers does not support updating storage on a statefulset. "+
		"The new charm has other storage: deploy it as another application: not supported")
}

// storageNeeds is what a charm says of storage that its units depend on.
func storageNeeds(charm model.Charm) map[string]model.StorageSpec {
	all := map[string]model.StorageSpec{}
	for name, spec := range charm.Storage {
		spec.Description = ""
		all[name] = spec
	}
	return all
}

// newPeers makes the peer relations of a charm that aren't there already.
func (t *txn) newPeers(app *ApplicationDoc, charm CharmDoc) error {
	for _, ep := range charm.Charm.EndpointsOf(app.Name) {
		if ep.Role != model.Peer {
			continue
		}
		id := 0
		found, err := t.find(relationNameKey(model.RelationKey([]model.Endpoint{ep})), &id)
		if err != nil {
			return errors.Trace(err)
		}
		if found {
			continue
		}
		if err := t.addPeers(ep); err != nil {
			return errors.Trace(err)
		}
		app.Relations++
	}
	return nil
}
