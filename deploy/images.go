package deploy

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
	"github.com/unitd/unitd/workload"
)

// imageDoor fixes what a person has given for a resource that is an image: which
// one it is from now on, whoever fetches it and however often. The error is
// NotValid for what can't be one.
type imageDoor func(ctx context.Context, value string) (model.Image, error)

// resolveImages resolves those of values that are for images of the charm.
func (d *Deployer) resolveImages(charm model.Charm, values map[string]string) (map[string]state.Content, error) {
	given := map[string]state.Content{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if charm.Resources[name].Type != model.OCIImage {
			continue
		}
		image, err := d.image(d.Context(), values[name])
		if err != nil {
			return nil, errors.Annotatef(err, "resource %q", name)
		}
		given[name] = state.Content{Image: &image}
	}
	return given, nil
}

// WithUpstream adds to values what is taken for images of a container charm that
// nobody gives and that the application hasn't: those that the charm names, and
// says so. The error names those that it doesn't.
func (d *Deployer) WithUpstream(charm model.Charm, values map[string]string, has map[string]state.Resource) (map[string]string, error) {
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
		d.Note("Taking %s for resource %q, as the charm's upstream-source says", all[name], name)
	}
	return all, nil
}

// resolveImage is the imageDoor of package oci. What it resolves stays in the cache
// until the command ends, and then because the model uses it.
func (d *Deployer) resolveImage(ctx context.Context, value string) (model.Image, error) {
	source, err := oci.ReadSource(value)
	if err != nil {
		return model.Image{}, err
	}
	dir, err := agent.DataDir()
	if err != nil {
		return model.Image{}, err
	}
	cache, end := ImageCache(dir)
	defer end()
	if line := terminal.NewLine(d.stderr); line != nil {
		defer line.Clear()
		cache.Progress = func(p oci.Progress) { line.Show(render.Harmless(p.Reference), p.Text()) }
	}
	resolved, err := cache.Resolve(ctx, source)
	if err != nil {
		return model.Image{}, err
	}
	d.held = append(d.held, resolved)
	return model.Image{Reference: resolved.Reference, Digest: resolved.Digest, Username: source.Username, Password: source.Password}, nil
}

// ImageCache is the cache of images of a data directory, as containers of this user's
// agent use it. It can remove what belongs to subordinate ids until end is called.
func ImageCache(dir string) (cache *oci.Cache, end func()) {
	cells := machine.NewCells(dir, "")
	ids, _ := cells.IDs() // none is one
	return workload.ImagesOf(&oci.Cache{Dir: machine.ImagesDir(dir)}, cells, ids), cells.Close
}
