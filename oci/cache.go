package oci

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

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
	// Transport asks registries; nil: as the environment says.
	Transport http.RoundTripper
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
	o, ref, err := openOrigin(ctx, s, c.path(workDir), c.Transport)
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
