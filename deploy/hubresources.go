package deploy

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/state"
)

// ResourcesFor is what an application is given for resources of a charm: values, and of
// a hub the revisions that are named and what its channel has. has is what the
// application has.
func (d *Deployer) ResourcesFor(m *state.Model, charm Charm, values map[string]string, revisions map[string]int, has map[string]state.Resource) (map[string]state.Content, error) {
	var wanted []charmhub.Resource
	there := maps.Clone(has)
	if there == nil {
		there = map[string]state.Resource{}
	}
	if charm.Release != nil {
		var err error
		if wanted, err = d.HubResources(charm, revisions, values, has); err != nil {
			return nil, err
		}
		for _, r := range wanted {
			there[r.Name] = state.Resource{}
		}
	}
	values, err := d.WithUpstream(charm.Charm.Charm, values, there)
	if err != nil {
		return nil, err
	}
	given, err := d.StoreResources(m, charm.Charm.Charm, values)
	if err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		return given, nil
	}
	stored, err := d.StoreHubResources(m, charm, wanted)
	if err != nil {
		return nil, err
	}
	maps.Copy(given, stored)
	return given, nil
}

// HubResources are what a hub has for the resources of a charm: the revisions that are
// named, and of others that aren't given in another way what the charm's channel has. What
// an application has that somebody has given it stays, and so does what is the same; has
// is nil for a new one. Source: docs/spec/juju-clients.md §12.4.
func (d *Deployer) HubResources(charm Charm, revisions map[string]int, given map[string]string, has map[string]state.Resource) ([]charmhub.Resource, error) {
	hub, err := d.Hub()
	if err != nil {
		return nil, err
	}
	var wanted []charmhub.Resource
	for _, name := range slices.Sorted(maps.Keys(revisions)) {
		if _, declared := charm.Resources[name]; !declared {
			return nil, state.UnknownResource(charm.Charm.Charm, name)
		}
		r, err := hub.ResourceRevision(d.Context(), charm.Release.Name, name, revisions[name])
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, r)
	}
	left := false
	for name := range charm.Resources {
		_, named := revisions[name]
		_, byHand := given[name]
		left = left || !named && !byHand
	}
	if !left {
		return wanted, nil
	}
	all, err := d.resourcesOfChannel(hub, *charm.Release)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		_, named := revisions[r.Name]
		_, byHand := given[r.Name]
		_, declared := charm.Resources[r.Name]
		old, there := has[r.Name]
		if !named && !byHand && declared && !(there && (old.Hub == nil || *old.Hub == r.Revision)) {
			wanted = append(wanted, r)
		}
	}
	return wanted, nil
}

// resourcesOfChannel are those of the channel that a release is followed in: the answer to
// who asks for a revision has none.
func (d *Deployer) resourcesOfChannel(hub *charmhub.Client, r charmhub.Release) ([]charmhub.Resource, error) {
	if len(r.Resources) > 0 {
		return r.Resources, nil
	}
	look, err := hub.Look(d.Context(), charmhub.Want{Name: r.Name, Channel: r.Channel, Revision: charmhub.Latest, Base: r.Base, Prefer: hubBase(d.preferred)})
	if errors.Is(err, errors.NotFound) {
		return nil, nil // the channel has nothing, so the revision is all there is
	}
	return look.Resources, err
}

// StoreHubResources has resources of a hub here, and stores them: files, and the images
// that they name.
func (d *Deployer) StoreHubResources(m *state.Model, charm Charm, wanted []charmhub.Resource) (map[string]state.Content, error) {
	hub, err := d.Hub()
	if err != nil {
		return nil, err
	}
	given := map[string]state.Content{}
	for _, r := range wanted {
		path, err := hub.FetchResource(d.Context(), charm.Release.Name, r)
		if err != nil {
			return nil, err
		}
		content := state.Content{Hub: &r.Revision}
		if charm.Resources[r.Name].Type == model.OCIImage {
			content.Image, err = d.imageOfHub(path)
		} else {
			content.File, err = d.storeResource(m, path)
		}
		if err != nil {
			return nil, errors.Annotatef(err, "resource %q of charm %q, revision %d", r.Name, charm.Release.Name, r.Revision)
		}
		given[r.Name] = content
	}
	return given, nil
}

// imageOfHub is the image that a file of a hub names. It is one of a registry: a hub
// doesn't say which files of this host a charm gets.
func (d *Deployer) imageOfHub(path string) (*model.Image, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Trace(err)
	}
	source, err := oci.ParseDetails(b)
	if err != nil {
		return nil, err
	}
	if source.Reference.Kind != oci.Registry {
		return nil, errors.NewNotValid(nil, fmt.Sprintf("it names %s, which is no image of a registry", source))
	}
	image, err := d.image(d.Context(), path)
	return &image, err
}
