package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// imageHelp is what the help of several commands says of images.
const imageHelp = `
An image is a file with its registrypath, username and password in YAML or JSON, an
archive of one, or a reference: docker.io/library/nginx:1.27.`

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

// imageReference is a reference to an image in a registry, in so far as can be
// told without one.
var imageReference = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._/:-]*(?:@sha256:[0-9a-f]{64})?$`)

// resolveImage is the imageDoor that looks at nothing but the value.
func resolveImage(_ context.Context, value string) (model.Image, error) {
	if st, err := os.Stat(value); err == nil && st.Mode().IsRegular() {
		return imageDetails(value)
	}
	if !imageReference.MatchString(value) || strings.Contains(value, "::") {
		return model.Image{}, errors.NewNotValid(nil, fmt.Sprintf("filepath or registry path: %s not valid", value))
	}
	return model.Image{Reference: value}, nil
}

// imageDetails reads the file in which an image's registry is told.
func imageDetails(path string) (model.Image, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return model.Image{}, err
	}
	var details struct {
		RegistryPath string `yaml:"registrypath"`
		ImageName    string `yaml:"ImageName"`
		Username     string `yaml:"username"`
		Password     string `yaml:"password"`
	}
	if yaml.Unmarshal(b, &details) != nil || details.RegistryPath+details.ImageName == "" {
		return model.Image{}, errors.NewNotValid(nil, "expected json or yaml file containing oci-image registry details")
	}
	image := model.Image{Reference: details.RegistryPath + details.ImageName, Username: details.Username, Password: details.Password}
	if !imageReference.MatchString(image.Reference) {
		return model.Image{}, errors.NewNotValid(nil, fmt.Sprintf("docker image path %q not valid", image.Reference))
	}
	return image, nil
}
