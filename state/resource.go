package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Resource is what an application was given for a resource of its charm. It is
// part of the application's document, as both go together.
type Resource struct {
	File
	Revision int       `json:"revision"` // counts what was given, from 1
	Given    time.Time `json:"given"`
}

// File is content that the store has by its hash, see StoreFile.
type File struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// StoreFile stores content whose hash is sha (hex), for Deploy, SetCharm and
// SetResources to refer to. What is stored already costs only the comparison.
func (m *Model) StoreFile(ctx context.Context, sha string, r io.Reader) (File, error) {
	size, err := m.storeBlob(ctx, sha, r)
	return File{SHA256: sha, Size: size}, errors.Trace(err)
}

// CheckResources is the error that giving a charm's application those resources
// would have: NotFound for one that the charm doesn't declare, NotSupported for
// an image, which is for containers.
func CheckResources[T any](charm model.Charm, given map[string]T) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		spec, ok := charm.Resources[name]
		switch {
		case !ok:
			return errors.NewNotFound(nil, fmt.Sprintf("charm %q has no resource %q", charm.Name, name))
		case spec.Type != "file":
			return errors.NewNotSupported(nil, fmt.Sprintf("resource %q of charm %q is of type %s, which is for containers: only files are known here", name, charm.Name, spec.Type))
		}
	}
	return nil
}

// SetResources gives an Alive application new files for resources of its
// charm. Its units run upgrade-charm, once for all of them; the same content
// again is no change. Errors: NotFound, NotValid, and those of CheckResources.
func (m *Model) SetResources(ctx context.Context, application string, files map[string]File) error {
	return m.changeApplication(ctx, application, func(tx *txn, app *ApplicationDoc) error {
		charm, err := tx.charm(app.Charm)
		if err != nil {
			return errors.Trace(err)
		}
		return tx.give(app, charm.Charm, files)
	})
}

// give gives an application files, and leaves those that it had to the cleanup
// queue.
func (t *txn) give(app *ApplicationDoc, charm model.Charm, files map[string]File) error {
	before := app.Given
	if err := app.give(charm, files, t.now()); err != nil || app.Given == before {
		return errors.Trace(err)
	}
	if err := t.referAll(files); err != nil {
		return errors.Trace(err)
	}
	return t.queue(cleanupDoc{Blobs: true})
}

// give takes files for resources of the application's charm.
func (a *ApplicationDoc) give(charm model.Charm, files map[string]File, at time.Time) error {
	if err := CheckResources(charm, files); err != nil {
		return err
	}
	given, changed := maps.Clone(a.Resources), false
	if given == nil {
		given = map[string]Resource{}
	}
	for name, f := range files {
		if old := given[name]; old.File != f {
			given[name] = Resource{File: f, Revision: old.Revision + 1, Given: at}
			changed = true
		}
	}
	if changed {
		a.Resources = given
		a.Given++
	}
	return nil
}

// FileContent writes a stored file to w. The error is NotValid if its hash
// isn't the one it was stored with.
func (m *Model) FileContent(ctx context.Context, f File, w io.Writer) error {
	sum := sha256.New()
	if err := m.readBlob(ctx, f.SHA256, io.MultiWriter(w, sum)); err != nil {
		return errors.Trace(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.SHA256 {
		return errors.NewNotValid(nil, fmt.Sprintf("the stored file's hash is %s, not %s", got, f.SHA256))
	}
	return nil
}
