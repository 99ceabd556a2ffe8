package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/juju/errors"
)

// origin is where an image comes from. Nothing that it gives is verified.
type origin interface {
	// root is what the reference names: a manifest, or an index of several.
	root(ctx context.Context) ([]byte, error)
	// open has the content of a digest.
	open(ctx context.Context, d v1.Descriptor) (io.ReadCloser, error)
	Close() error
}

// maxDocument is how long manifests, indexes and configurations may be.
const maxDocument = 4 << 20

// manifest is what an image consists of, and the text that has its digest.
type manifest struct {
	v1.Manifest
	raw    []byte
	digest string
}

// openOrigin opens what a source says, and tells its reference in full: with the
// kind of a file, and paths that don't depend on where the process is. Errors
// are NotFound and NotValid, or a registry's. work is for what isn't read as
// it is, and via asks registries; nil: as the environment says.
func openOrigin(ctx context.Context, s Source, work string, via http.RoundTripper) (origin, Reference, error) {
	ref := s.Reference
	if ref.Path != "" {
		path, err := filepath.Abs(ref.Path)
		if err != nil {
			return nil, ref, errors.Trace(err)
		}
		ref.Path = path
	}
	var o origin
	var err error
	switch ref.Kind {
	case Registry:
		o, err = openRegistry(ctx, s, via)
	case DockerDaemon:
		o, err = openDaemon(ctx, ref.Name, work)
	case OCILayout:
		o, err = openLayout(ref)
	case File, DockerArchive, OCIArchive:
		if st, statErr := os.Stat(ref.Path); statErr == nil && st.IsDir() {
			if ref.Kind != File {
				return nil, ref, errors.NewNotValid(nil, fmt.Sprintf("%s is a directory, and no archive", ref.Path))
			}
			ref.Kind = OCILayout
			o, err = openLayout(ref)
			break
		}
		o, ref.Kind, err = openArchive(ctx, ref, work)
	default:
		err = errors.NotValidf("an image of kind %q", ref.Kind)
	}
	return o, ref, errors.Trace(err)
}

// platform is what images are for on this host.
func platform() v1.Platform { return v1.Platform{OS: "linux", Architecture: runtime.GOARCH} }

// choose is the manifest for this host of what an origin has. Errors: NotFound,
// there is none; NotValid; NotSupported.
func choose(ctx context.Context, o origin) (manifest, error) {
	raw, err := o.root(ctx)
	if err != nil {
		return manifest{}, errors.Trace(err)
	}
	for range 4 { // indexes may be in indexes
		m, index, err := parseDocument(raw)
		if err != nil || index == nil {
			return m, errors.Trace(err)
		}
		d, err := pick(index.Manifests)
		if err != nil {
			return manifest{}, errors.Trace(err)
		}
		if raw, err = readDocument(ctx, o, d); err != nil {
			return manifest{}, errors.Trace(err)
		}
	}
	return manifest{}, errors.NewNotValid(nil, "the image's index has an index in an index in an index")
}

// parseDocument reads a manifest or an index, by what it has: one that has what is
// of both isn't taken, as others would read it otherwise.
func parseDocument(raw []byte) (manifest, *v1.IndexManifest, error) {
	var has struct {
		SchemaVersion int             `json:"schemaVersion"`
		Manifests     json.RawMessage `json:"manifests"`
		Config        json.RawMessage `json:"config"`
		Layers        json.RawMessage `json:"layers"`
	}
	if err := json.Unmarshal(raw, &has); err != nil {
		return manifest{}, nil, errors.NewNotValid(nil, "the image's manifest is not valid: "+oneLine(err))
	}
	switch {
	case has.SchemaVersion == 1:
		return manifest{}, nil, errors.NewNotSupported(nil, "the image's manifest is of schema 1, which was given up in 2017: push the image anew")
	case has.Manifests != nil && (has.Config != nil || has.Layers != nil):
		return manifest{}, nil, errors.NewNotValid(nil, "the image's manifest is an index as well")
	case has.Manifests != nil:
		index, err := v1.ParseIndexManifest(bytes.NewReader(raw))
		if err != nil {
			return manifest{}, nil, errors.NewNotValid(nil, "the image's index is not valid: "+oneLine(err))
		}
		return manifest{}, index, nil
	case has.Config == nil:
		return manifest{}, nil, errors.NewNotValid(nil, "this is no image: its manifest has no config")
	}
	m, err := v1.ParseManifest(bytes.NewReader(raw))
	if err != nil {
		return manifest{}, nil, errors.NewNotValid(nil, "the image's manifest is not valid: "+oneLine(err))
	}
	for _, d := range append(slices.Clone(m.Layers), m.Config) {
		if err := checkDescriptor(d); err != nil {
			return manifest{}, nil, errors.Trace(err)
		}
	}
	if len(m.Layers) > maxLayers {
		return manifest{}, nil, errors.NewNotSupported(nil, fmt.Sprintf("the image has %d layers: no more than %d can be mounted", len(m.Layers), maxLayers))
	}
	return manifest{Manifest: *m, raw: raw, digest: digestOf(raw)}, nil, nil
}

func checkDescriptor(d v1.Descriptor) error {
	switch {
	case !digestForm.MatchString(d.Digest.String()):
		return errors.NewNotSupported(nil, fmt.Sprintf("the image has a digest %q, which isn't sha256", d.Digest))
	case d.Size < 0:
		return errors.NewNotValid(nil, fmt.Sprintf("the image's %s has %d bytes", d.Digest, d.Size))
	}
	return nil
}

// pick is the one of an index that is for this host.
func pick(all []v1.Descriptor) (v1.Descriptor, error) {
	var good []v1.Descriptor
	var others []string
	for _, d := range all {
		switch {
		case !d.MediaType.IsImage() && !d.MediaType.IsIndex():
		case d.Platform == nil || d.Platform.OS == "" && d.Platform.Architecture == "" || matches(*d.Platform):
			good = append(good, d)
		case d.Platform.OS != "unknown": // what builders say of signatures and the like
			others = append(others, visibleText(d.Platform.String()))
		}
	}
	if len(good) == 0 {
		text := fmt.Sprintf("the image isn't there for %s", platform())
		if len(others) > 0 {
			slices.Sort(others)
			text += fmt.Sprintf(", but for %v", slices.Compact(others))
		}
		return v1.Descriptor{}, errors.NewNotFound(nil, text)
	}
	// One for every processor of the kind is better than one for the newest.
	slices.SortStableFunc(good, func(a, b v1.Descriptor) int { return rank(a.Platform) - rank(b.Platform) })
	return good[0], errors.Trace(checkDescriptor(good[0]))
}

func matches(p v1.Platform) bool {
	return p.OS == "linux" && p.Architecture == runtime.GOARCH
}

func rank(p *v1.Platform) int {
	switch {
	case p == nil:
		return 2
	case slices.Contains([]string{"", "v1", "v8"}, p.Variant):
		return 0
	}
	return 1
}

// readDocument is a manifest's or a configuration's text, which has its digest.
func readDocument(ctx context.Context, o origin, d v1.Descriptor) ([]byte, error) {
	r, err := o.open(ctx, d)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	switch {
	case err != nil:
		return nil, errors.Annotatef(err, "cannot read %s", d.Digest)
	case len(raw) > maxDocument:
		return nil, errors.NewNotValid(nil, fmt.Sprintf("%s is longer than %d bytes", d.Digest, maxDocument))
	case digestOf(raw) != d.Digest.String():
		return nil, errors.NewNotValid(nil, fmt.Sprintf("what should be %s is %s", d.Digest, digestOf(raw)))
	}
	return raw, nil
}
