package hookcontext

import (
	"fmt"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Storage is an instance of storage that is attached to the unit.
type Storage struct {
	ID model.StorageID
	// Kind is model.Filesystem or model.Block; Location is a directory or a
	// device, empty where the instance isn't there yet.
	Kind, Location string
}

// HookStorage is the instance that the hook is about; false if it is about none.
func (c *Context) HookStorage() (model.StorageID, bool) {
	return c.p.Hook.Storage, c.p.Hook.IsStorage()
}

// StorageIDs are the instances that are there, of that name or (empty) of any,
// by name, then by number.
func (c *Context) StorageIDs(name string) ([]model.StorageID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, err := c.storage.get(c.p.View.Storage)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return nil, errors.Annotate(err, "cannot list storage")
	}
	var ids []model.StorageID
	for _, s := range all {
		if s.Location != "" && (name == "" || s.ID.Name() == name) {
			ids = append(ids, s.ID)
		}
	}
	slices.SortFunc(ids, model.CompareStorage)
	return ids, nil
}

// Storage is an instance that is there; errors.NotFound for any other.
func (c *Context) Storage(id model.StorageID) (Storage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, err := c.storage.get(c.p.View.Storage)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return Storage{}, errors.Annotate(err, "cannot read storage")
	}
	for _, s := range all {
		if s.ID == id && s.Location != "" {
			return s, nil
		}
	}
	return Storage{}, errors.NewNotFound(nil, "storage not found")
}

// AddStorage asks for count more instances of each of those names, which come
// once the hook has committed. The error is NotValid for a name that the charm
// hasn't, and for more than it can have; then nothing is asked for.
func (c *Context) AddStorage(counts map[string]int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, err := c.storage.get(c.p.View.Storage)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return errors.Annotate(err, "cannot read storage")
	}
	have, total := map[string]int{}, len(all)
	for _, s := range all {
		have[s.ID.Name()]++
	}
	for name, n := range c.storageAdded {
		have[name] += n
		total += n
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		n := counts[name]
		total += n
		spec, ok := c.p.Charm.Storage[name]
		if !ok || spec.CountMax >= 0 && have[name]+n > spec.CountMax {
			// The charm says it in its words; sizes and pools are the model's.
			return c.p.Charm.CheckStorage(name, have[name]+n, spec.Complete(model.StorageDirective{}), model.StorageProvider{})
		}
	}
	if total > model.MaxStorage {
		return errors.NewNotValid(nil, fmt.Sprintf("a unit can have at most %d instances of storage, %d specified", model.MaxStorage, total))
	}
	for name, n := range counts {
		c.storageAdded[name] += n
	}
	return nil
}

func (c *Context) storageChanges() map[string]int {
	if len(c.storageAdded) == 0 {
		return nil
	}
	return maps.Clone(c.storageAdded)
}
