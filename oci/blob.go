package oci

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/juju/errors"
)

// document is a small blob of the cache, which has its digest: what a disk has
// damaged isn't there.
func (c *Cache) document(digest string) ([]byte, error) {
	f, err := os.Open(c.path(blobsDir, hexOf(digest)))
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err == nil && digestOf(b) != digest {
		err = errors.NotFoundf("%s, undamaged,", digest)
	}
	return b, errors.Trace(err)
}

func (c *Cache) putDocument(digest string, b []byte) error {
	if _, err := c.document(digest); err == nil {
		return nil
	}
	return errors.Trace(c.put(c.path(blobsDir, hexOf(digest)), b))
}

// put has a file there whole, whoever else does that at the same time.
func (c *Cache) put(path string, b []byte) error {
	return errors.Trace(c.store(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return errors.Trace(err)
	}))
}

// store has a file there that is written by a function, if that succeeds.
func (c *Cache) store(path string, write func(io.Writer) error) error {
	f, err := c.Disk.CreateTemp(c.path(workDir), "blob-")
	if err != nil {
		return errors.Trace(err)
	}
	err = write(f)
	if err == nil {
		err = f.SyncData()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = c.Disk.Rename(f.Name(), path)
	}
	if err != nil {
		_ = c.Disk.Remove(f.Name())
	}
	return errors.Trace(err)
}

// fetchAll has all layers' blobs in the cache.
func (w *work) fetchAll(ctx context.Context) error {
	w.tell(func(p *Progress) {
		for _, l := range w.record.Layers {
			if !w.hasBlob(l) {
				p.Total += l.Size
			}
		}
	})
	return errors.Trace(w.side(ctx, func(ctx context.Context, i int) error { return w.fetch(ctx, w.record.Layers[i]) }))
}

func (c *Cache) hasBlob(l recordLayer) bool {
	st, err := os.Stat(c.path(blobsDir, hexOf(l.Digest)))
	return err == nil && st.Size() == l.Size
}

// fetch has a layer's blob in the cache, compared with its digest.
func (w *work) fetch(ctx context.Context, l recordLayer) error {
	if w.hasBlob(l) {
		return nil
	}
	lock, err := w.takeLock(ctx, "blob-"+hexOf(l.Digest), true)
	if err != nil {
		return errors.Trace(err)
	}
	defer lock.release()
	if w.hasBlob(l) {
		w.tell(func(p *Progress) { p.Fetched += l.Size })
		return nil
	}
	if err := w.openOrigin(ctx); err != nil {
		return errors.Trace(err)
	}
	h, err := v1.NewHash(l.Digest)
	if err != nil {
		return errors.Trace(err)
	}
	in, err := w.origin.open(ctx, v1.Descriptor{Digest: h, Size: l.Size, MediaType: "application/vnd.oci.image.layer.v1.tar"})
	if err != nil {
		return errors.Annotatef(err, "cannot get layer %s", l.Digest)
	}
	defer in.Close()
	err = w.store(w.path(blobsDir, hexOf(l.Digest)), func(out io.Writer) error { return w.copyBlob(ctx, out, in, l) })
	if err == nil {
		err = w.Disk.SyncDir(w.path(blobsDir))
	}
	return errors.Annotatef(err, "cannot get layer %s", l.Digest)
}

// copyBlob copies what is to be a blob of that digest and size; that it isn't is an
// error.
func (w *work) copyBlob(ctx context.Context, out io.Writer, in io.Reader, l recordLayer) error {
	sum := sha256.New()
	from := &bounded{ctx: ctx, r: io.LimitReader(in, l.Size+1), left: defaultLimits.bytes, dir: w.path(workDir)}
	var n int64
	for buf, end := make([]byte, 1<<20), false; !end; {
		m, err := io.ReadFull(from, buf)
		end = err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !end {
			return errors.Trace(err)
		}
		sum.Write(buf[:m])
		if _, err := out.Write(buf[:m]); err != nil {
			return errors.Trace(err)
		}
		n += int64(m)
		w.tell(func(p *Progress) { p.Fetched += int64(m) })
	}
	switch {
	case n != l.Size:
		return errors.NewNotValid(nil, fmt.Sprintf("it has %d bytes or more, and should have %d", n, l.Size))
	case sumOf(sum) != l.Digest:
		return errors.NewNotValid(nil, "it is "+sumOf(sum))
	}
	return nil
}

// whole says whether a blob has its digest, after it couldn't be unpacked.
func (c *Cache) whole(ctx context.Context, l recordLayer) bool {
	f, err := os.Open(c.path(blobsDir, hexOf(l.Digest)))
	if err != nil {
		return false
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, &bounded{ctx: ctx, r: f, left: defaultLimits.bytes})
	return err != nil || sumOf(sum) == l.Digest
}
