package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/juju/errors"
	"golang.org/x/sync/errgroup"

	"github.com/unitd/unitd/durable"
)

// Cache is a directory with images. It is safe for use by many goroutines, and
// many processes may have one of the same directory.
type Cache struct {
	// Dir is the directory, which is made if it isn't there.
	Dir string
	// Form is how layers are unpacked; empty: FormHere.
	Form Form
	// Inside, where it is set, runs this program with arguments as root of the name
	// space of ids that Form is for, and is what it prints for the input: layers are
	// unpacked there, as this process can't give files away. Those are removed by
	// Disk.Beyond.
	Inside func(ctx context.Context, input []byte, args ...string) ([]byte, error)
	// Disk is that of package durable.
	Disk durable.Disk
	// Progress is told, if it isn't nil, how far Resolve and Fetch are; by one
	// goroutine at a time. A Fetch that fails is told of as done.
	Progress func(Progress)
}

// Progress is how far an image is.
type Progress struct {
	Reference string
	// Fetched and Total are the bytes of what had to be fetched; Total is 0 until
	// the image's manifest is there.
	Fetched, Total int64
	// Layers is how many layers the image has, Ready how many of them are unpacked, and
	// Unpack how many weren't before.
	Layers, Ready, Unpack int
}

// Text is how far an image is, in a few words; empty: nothing is to be done for it, or
// it is done.
func (p Progress) Text() string {
	const mb = 1_000_000
	switch {
	case p.Fetched < p.Total:
		return fmt.Sprintf("%d of %d MB", p.Fetched/mb, (p.Total+mb-1)/mb)
	case p.Unpack > 0 && p.Ready < p.Layers:
		return fmt.Sprintf("unpacked %d of %d layers", p.Ready, p.Layers)
	}
	return ""
}

// Resolved is an image that is fixed: the same on all hosts, and at all times.
type Resolved struct {
	// Reference is the source's, in full: Parse takes it, wherever the process is.
	Reference string
	// Digest is that of the manifest for this host's platform; empty for what
	// Reference.Directory says has none.
	Digest string
	hold   *lock
}

// Release lets Prune have the image. Resolve and Fetch hold it, so that it stays
// until the model says that it is in use.
func (r *Resolved) Release() { r.hold.release() }

// The parts of a cache.
const (
	blobsDir  = "blobs/sha256"
	layersDir = "layers"
	imagesDir = "images"
	locksDir  = "locks"
	workDir   = "work"

	cacheLock = "cache"
)

// maxLayers is how many layers an image may have: docker's limit too. Their names
// fit into the options of a mount, which are one page, see Image.Lower.
const maxLayers = 127

// record is what the cache knows of an image.
type record struct {
	References []string      `json:"references"`
	Config     string        `json:"config"`
	Layers     []recordLayer `json:"layers"`
}

type recordLayer struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	DiffID string `json:"diffID"`
}

// Resolve says which image a source means, at the moment: that of a registry is only
// looked up; that of an archive, a layout or the docker daemon is in the cache
// afterwards, so that it may go away, and unpacked, so that what its layers may not
// have is refused now. A directory must be there. Errors are
// NotFound, NotValid, NotSupported, Unauthorized and QuotaLimitExceeded, or the
// disk's and the network's.
func (c *Cache) Resolve(ctx context.Context, s Source) (_ Resolved, err error) {
	defer func() { err = printable(errors.Annotatef(err, "image %s", s)) }()
	if s.Reference.Directory() {
		image, err := asImage(s.Reference)
		if err != nil {
			return Resolved{}, errors.Trace(err)
		}
		return Resolved{Reference: image.Reference}, nil
	}
	busy, err := c.begin(ctx)
	if err != nil {
		return Resolved{}, errors.Trace(err)
	}
	defer busy.release()
	o, ref, err := openOrigin(ctx, s, c.path(workDir))
	if err != nil {
		return Resolved{}, errors.Trace(err)
	}
	defer o.Close()
	m, err := choose(ctx, o)
	if err != nil {
		return Resolved{}, errors.Trace(err)
	}
	ref.Digest = "" // it is that of an index, perhaps
	if ref.Kind == OCILayout {
		ref.Digest = m.digest
	}
	p := &work{Cache: c, ref: ref, manifest: m, origin: o, told: Progress{Reference: ref.String()}}
	if p.record, err = p.readConfig(ctx); err != nil {
		return Resolved{}, errors.Trace(err)
	}
	if ref.Kind != Registry {
		err = p.keep(ctx)
	}
	if err == nil {
		err = p.write(true)
	}
	if err != nil {
		return Resolved{}, errors.Trace(err)
	}
	hold, err := c.takeLock(ctx, holdName(m.digest), false)
	return Resolved{Reference: ref.String(), Digest: m.digest, hold: hold}, errors.Trace(err)
}

// Fetch has an image's layers as directories: those that the cache lacks are
// fetched and unpacked, side by side. The digest is that of Resolved; if the cache
// has the image whole, nobody else is asked. Errors are those of Resolve;
// NotFound is that an image, which was resolved on another host, can't be had
// from this one.
func (c *Cache) Fetch(ctx context.Context, s Source, digest string) (_ *Image, err error) {
	defer func() { err = printable(errors.Annotatef(err, "image %s", s)) }()
	if s.Reference.Directory() {
		return asImage(s.Reference)
	}
	if !digestForm.MatchString(digest) {
		return nil, errors.NotValidf("digest %q", digest)
	}
	busy, err := c.begin(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer busy.release()
	w, err := c.open(ctx, s, digest)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer w.close()
	defer func() {
		if err != nil {
			w.tell(func(p *Progress) { *p = Progress{Reference: p.Reference} })
		}
	}()
	form, err := c.form()
	if err != nil {
		return nil, errors.Trace(err)
	}
	layers, err := w.layers(ctx, form)
	if err != nil {
		return nil, errors.Trace(err)
	}
	image, err := w.image(ctx, form, layers)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := w.write(false); err != nil {
		return nil, errors.Trace(err)
	}
	image.hold, err = c.takeLock(ctx, holdName(digest), false)
	return image, errors.Trace(err)
}

// keep has the layers of an image in the cache, unpacked as Fetch wants them, where
// this host can.
func (w *work) keep(ctx context.Context) error {
	if err := w.fetchAll(ctx); err != nil || !unpacks {
		return errors.Trace(err)
	}
	form, err := w.form()
	if err == nil {
		_, err = w.layers(ctx, form)
	}
	return errors.Trace(err)
}

// form is how layers are unpacked.
func (c *Cache) form() (Form, error) {
	if c.Form != "" {
		return c.Form, nil
	}
	return FormHere()
}

func (c *Cache) path(parts ...string) string {
	return filepath.Join(append([]string{c.Dir}, parts...)...)
}

func hexOf(digest string) string { return strings.TrimPrefix(digest, "sha256:") }

func holdName(digest string) string { return "image-" + hexOf(digest) }

// begin makes the cache ready, and is the lock of all who work with it. Who works
// alone clears away what others, who were killed, have left.
func (c *Cache) begin(ctx context.Context) (*lock, error) {
	if !filepath.IsAbs(c.Dir) {
		return nil, errors.NotValidf("a cache whose directory is %q", c.Dir)
	}
	for _, dir := range []string{"", blobsDir, layersDir, imagesDir, locksDir, workDir} {
		if err := c.Disk.MkdirAll(c.path(dir), 0o700); err != nil {
			return nil, errors.Annotate(err, "cannot make the cache (UNITD_CACHE)")
		}
	}
	l, err := c.tryLock(cacheLock, true)
	if errors.Is(err, errHeld) {
		l, err = c.takeLock(ctx, cacheLock, false)
		return l, errors.Trace(err)
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err = c.clearWork(); err == nil {
		// In between another may come, who wants it alone.
		if err = l.change(false); errors.Is(err, errHeld) {
			l.release()
			l, err = c.takeLock(ctx, cacheLock, false)
			return l, errors.Trace(err)
		}
	}
	if err != nil {
		l.release()
		return nil, errors.Annotate(err, "cannot clear the cache")
	}
	return l, nil
}

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
	o, ref, err := openOrigin(ctx, w.source, w.path(workDir))
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
