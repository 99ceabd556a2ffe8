package oci

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/juju/errors"
)

// Image is one whose layers are directories of this host. They aren't to be written
// to.
type Image struct {
	// Reference and Digest are those of Resolved.
	Reference, Digest string
	// Layers are directories, top first, with what overlayfs takes for layers. There
	// is at least one. For the host it is "/".
	Layers []string
	// Form says how they are to be mounted; empty: the image is a directory, which
	// says nothing to overlayfs.
	Form Form
	// Config is what the image says of its process.
	Config Config
	// Skipped are device nodes that the image has, and its directories don't: the
	// first ones of each layer.
	Skipped []string

	below string // the directory that names are in; empty: Layers are paths
	hold  *lock
}

// Config is what an image says of the process that is run in it. All may be empty.
type Config struct {
	Env        []string // NAME=VALUE
	User       string   // user or uid, with :group or :gid after it, perhaps
	WorkingDir string
	Entrypoint []string
	Cmd        []string
	Labels     map[string]string
}

// Release lets Prune have the image; it is to be called once nothing is mounted any
// more that has its layers.
func (i *Image) Release() { i.hold.release() }

// Lower is how to mount the image: the value of the option lowerdir, which holds for a
// process whose working directory is dir. A mount's options are to be shorter than
// one page, 4096 bytes, and full paths of 127 layers wouldn't be: what Lower gives
// for those of a cache has 28 bytes each.
func (i *Image) Lower() (dir, lowerdir string) {
	escape := strings.NewReplacer(`\`, `\\`, `,`, `\,`, `:`, `\:`).Replace
	names := make([]string, 0, len(i.Layers))
	for _, l := range i.Layers {
		if i.below != "" {
			l = strings.TrimPrefix(l, i.below+"/")
		}
		names = append(names, escape(l))
	}
	if dir = i.below; dir == "" {
		dir = "/"
	}
	return dir, strings.Join(names, ":")
}

// asImage is an image that is one.
func asImage(ref Reference) (*Image, error) {
	if ref.Kind == Host {
		return &Image{Reference: ref.String(), Layers: []string{"/"}}, nil
	}
	path, err := filepath.Abs(ref.Path)
	if err != nil {
		return nil, errors.Trace(err)
	}
	st, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil, errors.NewNotFound(nil, "there is no directory "+path)
	case err != nil:
		return nil, errors.Trace(err)
	case !st.IsDir():
		return nil, errors.NewNotValid(nil, path+" isn't a directory")
	}
	ref.Path = path
	return &Image{Reference: ref.String(), Layers: []string{path}}, nil
}

// image is what was made.
func (w *work) image(ctx context.Context, form Form, layers []*layer) (*Image, error) {
	raw, err := w.document(w.record.Config)
	if err != nil {
		return nil, errors.Trace(err)
	}
	file, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return nil, errors.Trace(err)
	}
	i := &Image{
		Reference: w.ref.String(), Digest: w.manifest.digest, Form: form, below: w.path(layersDir, string(form)),
		Config: configOf(file),
	}
	all := distinct(layers)
	top, err := w.top(ctx, form, all)
	if err != nil {
		return nil, errors.Annotate(err, "cannot put its layers together")
	}
	if top != nil {
		all = slices.Insert(all, 0, top)
	}
	for _, l := range all {
		i.Layers = append(i.Layers, filepath.Join(l.dir, treeDir))
		for _, name := range l.Skipped {
			i.Skipped = append(i.Skipped, visibleText(name))
		}
		if n := l.SkippedN - len(l.Skipped); n > 0 {
			i.Skipped = append(i.Skipped, fmt.Sprintf("and %d more", n))
		}
	}
	return i, nil
}

// ConfigOf is what an image says of its process whose digest Resolve gave: the cache
// has that before it has the layers. The error is NotFound where it doesn't.
func (c *Cache) ConfigOf(digest string) (Config, error) {
	if !digestForm.MatchString(digest) {
		return Config{}, errors.NotValidf("digest %q", digest)
	}
	raw, err := c.document(digest)
	if os.IsNotExist(errors.Cause(err)) {
		err = errors.NotFoundf("image %s", digest)
	}
	if err != nil {
		return Config{}, errors.Trace(err)
	}
	m, _, err := parseDocument(raw)
	if err != nil {
		return Config{}, errors.Trace(err)
	}
	if raw, err = c.document(m.Config.Digest.String()); err != nil {
		return Config{}, errors.Trace(err)
	}
	file, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return Config{}, errors.Trace(err)
	}
	return configOf(file), nil
}

func configOf(file *v1.ConfigFile) Config {
	c := file.Config
	return Config{Env: c.Env, User: c.User, WorkingDir: c.WorkingDir, Entrypoint: c.Entrypoint, Cmd: c.Cmd, Labels: c.Labels}
}

// topID is the id of the layer that an image has on top of its own.
func (r record) topID() string {
	var ids []string
	for _, l := range r.Layers {
		ids = append(ids, l.DiffID)
	}
	return digestOf([]byte("directories that are implied\n" + strings.Join(ids, "\n")))
}

// top is the layer with the directories that layers have files in, and only layers
// below say what they are to be; nil: there are none.
func (w *work) top(ctx context.Context, form Form, layers []*layer) (*layer, error) {
	id := w.record.topID()
	got, err := w.readLayer(form, id)
	if !errors.Is(err, errors.NotFound) {
		return got, errors.Trace(err)
	}
	var below []jobLayer
	some := false
	for _, l := range layers {
		below = append(below, jobLayer{Dir: l.dir, Implied: l.Implied})
		some = some || len(l.Implied) > 0
	}
	if !some && len(layers) > 0 {
		return nil, nil
	}
	var dirs map[string]attributes
	if some {
		out, err := w.do(ctx, job{Form: form, Below: below})
		if err != nil || len(out.Implied) == 0 {
			return nil, errors.Trace(err)
		}
		dirs = out.Implied
	}
	return w.makeLayer(ctx, form, id, func(dir string) (contents, error) {
		out, err := w.do(ctx, job{Form: form, Dir: dir, Implied: dirs})
		return out.Contents, errors.Trace(err)
	})
}
