package oci

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"
)

// layer is one that is unpacked.
type layer struct {
	ID       string `json:"id"` // the diff id
	contents        // of the tree
	dir      string
}

// The parts of a layer's directory.
const (
	treeDir   = "fs"
	layerFile = "layer.json"
)

// keyLength is that of the names of layers: short, as a mount's options have little
// room; and it is compared that a name's layer is the one that is meant.
const keyLength = 24

func keyOf(id string) string { return hexOf(id)[:keyLength] }

// readLayer is a layer of the cache. The error is NotFound, or that another layer
// has its name.
func (c *Cache) readLayer(form Form, id string) (*layer, error) {
	l := &layer{dir: c.path(layersDir, string(form), keyOf(id))}
	b, err := os.ReadFile(filepath.Join(l.dir, layerFile))
	switch {
	case os.IsNotExist(err):
		return nil, errors.NotFoundf("layer %s", id)
	case err != nil:
		return nil, errors.Trace(err)
	case json.Unmarshal(b, l) != nil:
		return nil, errors.NotFoundf("layer %s, undamaged,", id)
	case l.ID != id:
		return nil, errors.NewNotValid(nil, fmt.Sprintf("layers %s and %s can't be told apart", id, visibleText(l.ID)))
	}
	return l, nil
}

// layers are those of the image as directories, in its own order.
func (w *work) layers(ctx context.Context, form Form) ([]*layer, error) {
	if err := w.Disk.MkdirAll(w.path(layersDir, string(form)), 0o700); err != nil {
		return nil, errors.Trace(err)
	}
	w.tell(func(p *Progress) {
		for _, l := range w.record.Layers {
			if _, err := w.readLayer(form, l.DiffID); err == nil {
				continue
			}
			p.Unpack++
			if !w.hasBlob(l) {
				p.Total += l.Size
			}
		}
	})
	all := make([]*layer, len(w.record.Layers))
	err := w.side(ctx, func(ctx context.Context, i int) (err error) {
		if all[i], err = w.layer(ctx, form, w.record.Layers[i]); err == nil {
			w.tell(func(p *Progress) { p.Ready++ })
		}
		return errors.Trace(err)
	})
	return all, errors.Trace(err)
}

// layer has one as a directory. Many may ask for the same at once: one makes it.
func (w *work) layer(ctx context.Context, form Form, l recordLayer) (*layer, error) {
	got, err := w.readLayer(form, l.DiffID)
	if !errors.Is(err, errors.NotFound) {
		return got, errors.Trace(err)
	}
	return w.makeLayer(ctx, form, l.DiffID, func(dir string) (contents, error) {
		for again := false; ; again = true {
			if err := w.fetch(ctx, l); err != nil {
				return contents{}, errors.Trace(err)
			}
			made, err := w.unpackBlob(ctx, dir, form, l)
			if err == nil || again || w.whole(ctx, l) {
				return made, errors.Annotatef(err, "cannot unpack layer %s", l.Digest)
			}
			// The disk has damaged it since.
			for _, path := range []string{w.path(blobsDir, hexOf(l.Digest)), dir} {
				if err := w.Disk.RemoveAll(path); err != nil {
					return contents{}, errors.Trace(err)
				}
			}
			if err := os.Mkdir(dir, 0o700); err != nil {
				return contents{}, errors.Trace(err)
			}
		}
	})
}

// makeLayer has a function fill a directory, and makes that the layer of an id.
func (c *Cache) makeLayer(ctx context.Context, form Form, id string, fill func(dir string) (contents, error)) (*layer, error) {
	lock, err := c.takeLock(ctx, "layer-"+string(form)+"-"+keyOf(id), true)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer lock.release()
	if got, err := c.readLayer(form, id); !errors.Is(err, errors.NotFound) {
		return got, errors.Trace(err)
	}
	made, err := os.MkdirTemp(c.path(workDir), "layer-")
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer c.removeTree(made)
	if err := os.Mkdir(filepath.Join(made, treeDir), 0o700); err != nil {
		return nil, errors.Trace(err)
	}
	l := &layer{ID: id, dir: c.path(layersDir, string(form), keyOf(id))}
	if l.contents, err = fill(filepath.Join(made, treeDir)); err != nil {
		return nil, errors.Trace(err)
	}
	b, err := json.Marshal(l)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := os.WriteFile(filepath.Join(made, layerFile), b, 0o600); err != nil {
		return nil, errors.Trace(err)
	}
	if err := c.Disk.SyncTree(made); err != nil {
		return nil, errors.Trace(err)
	}
	// One that is damaged may be in the way.
	if err := c.discard(l.dir); err != nil {
		return nil, errors.Trace(err)
	}
	if err := c.Disk.Rename(made, l.dir); err != nil {
		return nil, errors.Trace(err)
	}
	return l, errors.Trace(c.Disk.SyncDir(filepath.Dir(l.dir)))
}

// unpackBlob unpacks a layer's blob, compared with the layer's diff id.
func (w *work) unpackBlob(ctx context.Context, dir string, form Form, l recordLayer) (contents, error) {
	out, err := w.do(ctx, job{Form: form, Blob: w.path(blobsDir, hexOf(l.Digest)), Dir: dir, ID: l.DiffID})
	return out.Contents, errors.Trace(err)
}

// unpackFile unpacks a layer's blob, which is to have that diff id.
func unpackFile(ctx context.Context, blob, dir string, form Form, id string) (contents, error) {
	f, err := os.Open(blob)
	if err != nil {
		return contents{}, errors.Trace(err)
	}
	defer f.Close()
	z, err := decompress(f)
	if err != nil {
		return contents{}, errors.NewNotValid(nil, "it is damaged: "+oneLine(err))
	}
	defer z.Close()
	sum := sha256.New()
	from := readAhead(io.TeeReader(&bounded{ctx: ctx, r: z, left: defaultLimits.bytes, dir: dir}, sum))
	made, err := unpack(ctx, dir, from, form, defaultLimits)
	if err == nil {
		// What is after the end of the tar file counts as well.
		_, err = io.Copy(io.Discard, from)
	}
	from.Close()
	if err == nil && sumOf(sum) != id {
		err = errors.NewNotValid(nil, fmt.Sprintf("it is %s, and the image says %s", sumOf(sum), id))
	}
	return made, errors.Trace(err)
}

// discard removes a layer that nobody may take for one any more, from the first
// step on.
func (c *Cache) discard(dir string) error {
	to, err := os.MkdirTemp(c.path(workDir), "gone-")
	if err != nil {
		return errors.Trace(err)
	}
	defer c.removeTree(to)
	if err := c.Disk.Rename(dir, filepath.Join(to, "layer")); err != nil && !os.IsNotExist(err) {
		return errors.Trace(err)
	}
	return nil
}

func (c *Cache) removeTree(dir string) error { return errors.Trace(c.Disk.RemoveAll(dir)) }

// distinct are layers top first, each of them once: of two that are the same, the
// upper one has all that the lower has, and overlayfs takes none twice.
func distinct(all []*layer) []*layer {
	var out []*layer
	for _, l := range slices.Backward(all) {
		if !slices.ContainsFunc(out, func(o *layer) bool { return o.dir == l.dir }) {
			out = append(out, l)
		}
	}
	return out
}
