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
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/state"
)

// Resource is part of hookcontext.View: resources/NAME/FILE in the unit's
// directory, which has what the application has now when this returns. A file
// that has it already is left alone, so that a charm may have it open or
// linked. Of an image it is the file that says where the image is, which is
// written anew each time. Source: docs/spec/containers.md §6.
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
	if given.Image != nil {
		path := filepath.Join(v.u.resourcesDir(), name, imageFile)
		return v.u.seenAt(path), errors.Trace(v.u.writeImage(v.ctx, app.Name, name, path))
	}
	path := filepath.Join(v.u.resourcesDir(), name, filepath.Base(spec.Filename))
	if sum, err := v.u.resourceSum(path); err == nil && sum == given.SHA256 {
		return v.u.seenAt(path), nil
	}
	return v.u.seenAt(path), errors.Trace(v.u.fetch(v.ctx, given.File, path))
}

// resourcesDir has the resources that the charm has asked for.
func (u *unit) resourcesDir() string { return filepath.Join(u.dir, "resources") }

// imageFile is what resource-get prints the path of for an image.
const imageFile = "content.yaml"

// writeImage writes what a charm is told of an image. Each resource has a directory
// of its own, so that one image's file isn't another one's: K-128.
func (u *unit) writeImage(ctx context.Context, app, resource, path string) error {
	image, err := u.patient.Image(ctx, app, resource)
	if err != nil {
		return errors.Trace(err)
	}
	content, err := yaml.Marshal(struct {
		RegistryPath string `yaml:"registrypath"`
		Username     string `yaml:"username"`
		Password     string `yaml:"password"`
	}{image.Reference, image.Username, image.Password})
	if err != nil {
		return errors.New("cannot write where an image is") // the error might have the password
	}
	return u.putFile(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(content)
		return errors.Trace(err)
	})
}

// fetch puts a stored file at path, whole or not at all.
func (u *unit) fetch(ctx context.Context, from state.File, path string) error {
	return u.putFile(path, 0o644, func(w io.Writer) error { return u.patient.FileContent(ctx, from, w) })
}

// putFile puts what write writes at path, whole or not at all.
func (u *unit) putFile(path string, mode os.FileMode, write func(io.Writer) error) error {
	all, of := filepath.Split(filepath.Dir(path))
	dir, leave, err := u.disk.Enter(all, 0o755, of)
	if err != nil {
		return errors.Trace(err)
	}
	defer leave()
	f, err := u.disk.CreateTemp(dir, ".fetch-*")
	if err != nil {
		return errors.Trace(err)
	}
	defer u.disk.Remove(f.Name())
	defer f.Close()
	if err := write(f); err != nil {
		return errors.Trace(err)
	}
	// Not by its name, which the charm could have given to a link.
	if err := f.Chmod(mode); err != nil {
		return errors.Trace(err)
	}
	if err := u.give(f); err != nil {
		return errors.Trace(err)
	}
	if err := f.Close(); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(u.disk.Rename(f.Name(), filepath.Join(dir, filepath.Base(path))))
}

// resourceSum is the hash of a resource's content, as the charm has it by now.
func (u *unit) resourceSum(path string) (string, error) {
	name, err := filepath.Rel(u.resourcesDir(), path)
	if err != nil {
		return "", errors.Trace(err)
	}
	f, err := durable.OpenRegular(u.resourcesDir(), name)
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
