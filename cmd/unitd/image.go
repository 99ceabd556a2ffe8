package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/workload"
)

// imageHelp is what the help of several commands says of images.
const imageHelp = `
An image is a file with its registrypath, username and password in YAML or JSON; an
archive, as a .rock or docker-archive:FILE, oci-archive:FILE; oci-layout:DIR;
docker-daemon:NAME; rootfs:DIR; host, the host's own root; or what a registry calls
it: docker.io/library/nginx:1.27.`

// imageDoor fixes what a person has given for a resource that is an image: which
// one it is from now on, whoever fetches it and however often. The error is
// NotValid for what can't be one.
type imageDoor func(ctx context.Context, value string) (model.Image, error)

// resolveImages resolves those of values that are for images of the charm.
func (a *app) resolveImages(charm model.Charm, values map[string]string) (map[string]state.Content, error) {
	given := map[string]state.Content{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if charm.Resources[name].Type != model.OCIImage {
			continue
		}
		image, err := a.image(a.ctx, values[name])
		if err != nil {
			return nil, errors.Annotatef(err, "resource %q", name)
		}
		given[name] = state.Content{Image: &image}
	}
	return given, nil
}

// withUpstream adds to values what is taken for images of a container charm that
// nobody gives and that the application hasn't: those that the charm names, and
// says so. The error names those that it doesn't.
func (a *app) withUpstream(charm model.Charm, values map[string]string, has map[string]state.Resource) (map[string]string, error) {
	if !charm.Sidecar() {
		return values, nil
	}
	all := maps.Clone(values)
	var missing, taken []string
	for _, name := range charm.Images() {
		_, given := values[name]
		_, there := has[name]
		upstream := charm.Resources[name].Upstream
		switch {
		case given || there:
		case upstream == "":
			missing = append(missing, name)
		default:
			all[name] = upstream
			taken = append(taken, name)
		}
	}
	if len(missing) > 0 {
		return nil, errors.NewNotValid(nil, "local charm missing OCI images for: "+strings.Join(missing, ", "))
	}
	for _, name := range taken {
		a.note("Taking %s for resource %q, as the charm's upstream-source says", all[name], name)
	}
	return all, nil
}

// resolveImage is the imageDoor of package oci. What it resolves stays in the cache
// until the command ends, and then because the model uses it.
func (a *app) resolveImage(ctx context.Context, value string) (model.Image, error) {
	source, err := oci.ReadSource(value)
	if err != nil {
		return model.Image{}, err
	}
	dir, err := dataDir()
	if err != nil {
		return model.Image{}, err
	}
	cache, end := imageCache(dir)
	defer end()
	if line := a.imageProgress(); line != nil {
		defer line.clear()
		cache.Progress = line.image
	}
	resolved, err := cache.Resolve(ctx, source)
	if err != nil {
		return model.Image{}, err
	}
	a.held = append(a.held, resolved)
	return model.Image{Reference: resolved.Reference, Digest: resolved.Digest, Username: source.Username, Password: source.Password}, nil
}

// imageCache is the cache of images of a data directory, as containers of this user's
// agent use it. It can remove what belongs to subordinate ids until end is called.
func imageCache(dir string) (cache *oci.Cache, end func()) {
	cells := machine.NewCells(dir, "")
	ids, _ := cells.IDs() // none is one
	return workload.ImagesOf(&oci.Cache{Dir: machine.ImagesDir(dir)}, cells, ids), cells.Close
}
