package bundle

import (
	"cmp"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// follow makes the deployer find charms as the model says, if the bundle names any.
func (b *Applier) follow(read *Bundle) error {
	if !slices.ContainsFunc(read.Applications, func(a Application) bool { return a.Charm.Name != "" }) {
		return nil
	}
	m, err := b.Model()
	if err != nil {
		return err
	}
	return b.Following(m)
}

// named finds the charm of an application that the bundle has by name: in a hub, or
// where the model's aliases say. An application that is there keeps its channel where
// the bundle says none. base is the bundle's own.
// Source: docs/spec/juju-clients.md §13.1.
func (b *Applier) named(app Application, base model.Base) (deploy.Charm, error) {
	// With ch: a file of that name is not meant: those are paths in a bundle.
	w := deploy.Wanted{Word: "ch:" + app.Charm.Name, Channel: app.Charm.Channel, Revision: app.Charm.Revision, Base: app.Base, Prefer: base}
	m, err := b.Model()
	if err != nil {
		return deploy.Charm{}, err
	}
	there, err := m.Application(b.Context(), app.Name)
	switch {
	case errors.Is(err, errors.NotFound):
	case err != nil:
		return deploy.Charm{}, err
	default:
		if there.Hub != nil && there.Hub.Name == app.Charm.Name {
			w.Channel = cmp.Or(w.Channel, there.Hub.Channel)
		}
		if on, err := model.ParseBase(there.Base); err == nil {
			w.Prefer = on
		}
	}
	charm, err := b.Find(w)
	if err == nil && charm.Release != nil {
		b.Note("Located %s", deploy.From(*charm.Release))
	}
	return charm, err
}

// hubCharm is the application's charm with the release that it is.
func (app PlannedApp) hubCharm() deploy.Charm {
	return deploy.Charm{Charm: app.Packed.Charm, Release: app.Release}
}

// isOf says whether an application that is there has the bundle's charm.
func (app PlannedApp) isOf(doc standing) bool {
	if app.Release == nil {
		return doc.sum == app.Sum
	}
	return state.FromHub(doc.Charm) && doc.Hub != nil && doc.Hub.Name == app.Release.Name && doc.revision == app.Release.Revision
}

// follows is the channel that an application with the bundle's charm is to follow, if it
// follows another one.
func (app PlannedApp) follows(doc standing) (channel string, other bool) {
	if app.Release == nil || doc.Hub == nil {
		return "", false
	}
	channel = app.Release.Channel.String()
	return channel, channel != doc.Hub.Channel
}

// newer are the resources of a hub that an application is to get, in other revisions than
// it has.
func (w *Work) newer(app PlannedApp, has map[string]state.Resource) ([]charmhub.Resource, error) {
	if app.Release == nil {
		return nil, nil
	}
	all, err := w.app.HubResources(app.hubCharm(), app.Revisions, app.given(app.Packed.Charm.Charm), has)
	return slices.DeleteFunc(all, func(r charmhub.Resource) bool {
		old, there := has[r.Name]
		return there && old.Hub != nil && *old.Hub == r.Revision
	}), err
}
