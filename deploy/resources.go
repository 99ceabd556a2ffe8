package deploy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// CheckResources says what is wrong with values for resources of the charm, before
// anything is stored; of images that is found out by resolving them.
func CheckResources(charm model.Charm, values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		spec, ok := charm.Resources[name]
		if !ok {
			return state.UnknownResource(charm, name)
		}
		if spec.Type == model.OCIImage {
			continue
		}
		path, want := values[name], filepath.Ext(spec.Filename)
		if path == os.DevNull {
			continue // an empty file, for which people needn't make one
		}
		if ext := filepath.Ext(path); ext != want {
			return errors.NewNotValid(nil, fmt.Sprintf("incorrect extension on resource upload %q, expected %q", path, want))
		}
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
			return errors.NewNotFound(nil, fmt.Sprintf("file for resource %q is not there: %s", name, path))
		}
	}
	return nil
}

// StoreResources is what values are for resources of the charm, by name: files are
// stored, images resolved.
func (d *Deployer) StoreResources(m *state.Model, charm model.Charm, values map[string]string) (map[string]state.Content, error) {
	given, err := d.resolveImages(charm, values)
	if err != nil {
		return nil, err
	}
	for name, path := range values {
		if charm.Resources[name].Type == model.OCIImage {
			continue
		}
		file, err := d.storeResource(m, path)
		if err != nil {
			return nil, errors.Annotatef(err, "cannot store resource %q", name)
		}
		given[name] = state.Content{File: file}
	}
	return given, nil
}

func (d *Deployer) storeResource(m *state.Model, path string) (state.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return state.File{}, err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return state.File{}, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return state.File{}, err
	}
	return m.StoreFile(d.Context(), hex.EncodeToString(sum.Sum(nil)), f)
}
