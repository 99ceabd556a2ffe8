package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/juju/errors"
	"golang.org/x/sync/errgroup"
)

// work is what is done for one image.
type work struct {
	*Cache
	ref      Reference
	manifest manifest
	record   record
	source   Source
	origin   origin // nil: the cache has needed none
	opening  sync.Mutex

	mu   sync.Mutex
	told Progress
}

func (w *work) close() {
	if w.origin != nil {
		w.origin.Close()
	}
}

// open has what the cache knows of an image, or what the source says.
func (c *Cache) open(ctx context.Context, s Source, digest string) (*work, error) {
	w := &work{Cache: c, ref: s.Reference, source: s, manifest: manifest{digest: digest}, told: Progress{Reference: s.Reference.String()}}
	raw, err := c.document(digest)
	if err != nil {
		raw, err = w.fromOrigin(ctx, digest)
	}
	if err == nil {
		w.manifest, _, err = parseDocument(raw)
	}
	if err == nil && w.manifest.digest != digest {
		err = errors.NewNotValid(nil, digest+" is no image's, but an index of several")
	}
	if err == nil {
		w.record, err = w.readConfig(ctx)
	}
	if err != nil {
		w.close()
		return nil, errors.Trace(err)
	}
	return w, nil
}

// fromOrigin is the manifest, from where the image comes from.
func (w *work) fromOrigin(ctx context.Context, digest string) ([]byte, error) {
	if err := w.openOrigin(ctx); err != nil {
		return nil, errors.Trace(err)
	}
	if w.source.Reference.Kind != Registry {
		m, err := choose(ctx, w.origin)
		if err == nil && m.digest != digest {
			err = errors.NewNotFound(nil, "it is another one by now, and the cache doesn't have the one that was deployed")
		}
		return m.raw, errors.Trace(err)
	}
	h, err := v1.NewHash(digest)
	if err != nil {
		return nil, errors.Trace(err)
	}
	raw, err := readDocument(ctx, w.origin, v1.Descriptor{Digest: h, MediaType: "application/vnd.oci.image.manifest.v1+json"})
	return raw, errors.Trace(err)
}

// openOrigin is for what the cache lacks; many may call it at once.
func (w *work) openOrigin(ctx context.Context) error {
	w.opening.Lock()
	defer w.opening.Unlock()
	if w.origin != nil {
		return nil
	}
	o, ref, err := openOrigin(ctx, w.source, w.path(workDir), w.Transport)
	if errors.Is(err, errors.NotFound) && ref.Kind != Registry {
		err = errors.NewNotFound(nil, oneLine(err)+", and this host's cache doesn't have it: it was deployed on another host, or was removed")
	}
	if err != nil {
		return errors.Trace(err)
	}
	w.origin, w.ref = o, ref
	return nil
}

// readConfig puts the manifest and the image's configuration into the cache, and
// compares the two.
func (w *work) readConfig(ctx context.Context) (record, error) {
	d := w.manifest.Config
	raw, err := w.document(d.Digest.String())
	if err != nil {
		if err := w.openOrigin(ctx); err != nil {
			return record{}, errors.Trace(err)
		}
		if raw, err = readDocument(ctx, w.origin, d); err != nil {
			return record{}, errors.Trace(err)
		}
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return record{}, errors.NewNotValid(nil, "the image's configuration is not valid: "+oneLine(err))
	}
	p := platform()
	switch {
	case config.OS != "" && config.OS != p.OS || config.Architecture != "" && config.Architecture != p.Architecture:
		return record{}, errors.NewNotFound(nil, fmt.Sprintf("the image isn't there for %s, but for %s/%s", p, visibleText(config.OS), visibleText(config.Architecture)))
	case len(config.RootFS.DiffIDs) != len(w.manifest.Layers):
		return record{}, errors.NewNotValid(nil, fmt.Sprintf("the image's manifest has %d layers, its configuration %d", len(w.manifest.Layers), len(config.RootFS.DiffIDs)))
	}
	r := record{Config: d.Digest.String(), Layers: []recordLayer{}}
	for i, l := range w.manifest.Layers {
		diff := config.RootFS.DiffIDs[i].String()
		if !digestForm.MatchString(diff) {
			return record{}, errors.NewNotSupported(nil, fmt.Sprintf("the image has a layer %q, which isn't sha256", visibleText(diff)))
		}
		r.Layers = append(r.Layers, recordLayer{Digest: l.Digest.String(), Size: l.Size, DiffID: diff})
	}
	for digest, raw := range map[string][]byte{w.manifest.digest: w.manifest.raw, r.Config: raw} {
		if err := w.putDocument(digest, raw); err != nil {
			return record{}, errors.Trace(err)
		}
	}
	return r, nil
}

// write stores the record, and says that the image was used now. The references are
// those by which it was resolved: others mean it only as long as nothing changes.
func (w *work) write(resolved bool) error {
	path := w.path(imagesDir, hexOf(w.manifest.digest)+".json")
	former := record{}
	if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &former) == nil && len(former.References) > 0 {
		if !resolved || slices.Contains(former.References, w.ref.String()) {
			now := time.Now()
			return errors.Trace(os.Chtimes(path, now, now))
		}
	}
	w.record.References = append(former.References, w.ref.String())
	slices.Sort(w.record.References)
	b, err := json.Marshal(w.record)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(w.put(path, b))
}

// tell adds to what was told.
func (w *work) tell(change func(*Progress)) {
	if w.Progress == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told.Layers = len(w.record.Layers)
	change(&w.told)
	w.Progress(w.told)
}

// side does something for each layer, with as many at once as there are
// processors.
func (w *work) side(ctx context.Context, do func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range w.record.Layers {
		g.Go(func() error { return do(ctx, i) })
	}
	return errors.Trace(g.Wait())
}
