package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// Resource is part of hookcontext.View: resources/NAME/FILE in the unit's
// directory, which has what the application has now when this returns. A file
// that has it already is left alone, so that a charm may have it open or
// linked.
func (v liveView) Resource(name string) (string, error) {
	app, err := v.model().Application(v.ctx, v.u.name.Application())
	if err != nil {
		return "", errors.Trace(err)
	}
	spec, declared := v.charm.Resources[name]
	given, there := app.Resources[name]
	switch {
	case !declared:
		return "", errors.NewNotFound(nil, fmt.Sprintf("resource %q not found: the charm doesn't declare it", name))
	case !there:
		return "", errors.NewNotFound(nil, fmt.Sprintf("resource %q not found: nothing was given for it (unitd attach-resource %s %s=FILE)", name, app.Name, name))
	}
	v.u.fetching.Lock()
	defer v.u.fetching.Unlock()
	path := filepath.Join(v.u.dir, "resources", name, filepath.Base(spec.Filename))
	if sum, err := fileSum(path); err == nil && sum == given.SHA256 {
		return v.u.seenAt(path), nil
	}
	return v.u.seenAt(path), errors.Trace(v.u.fetch(v.ctx, given.File, path))
}

// fetch puts a stored file at path, whole or not at all.
func (u *unit) fetch(ctx context.Context, from state.File, path string) error {
	if err := u.disk.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return errors.Trace(err)
	}
	f, err := u.disk.CreateTemp(filepath.Dir(path), ".fetch-*")
	if err != nil {
		return errors.Trace(err)
	}
	defer u.disk.Remove(f.Name())
	defer f.Close()
	if err := u.patient.FileContent(ctx, from, f); err != nil {
		return errors.Trace(err)
	}
	if err := f.Close(); err != nil {
		return errors.Trace(err)
	}
	if err := u.disk.Chmod(f.Name(), 0o644); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(u.disk.Rename(f.Name(), path))
}

// fileSum is the hash of a file's content.
func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", errors.Trace(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", errors.Trace(err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
