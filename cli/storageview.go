package cli

import (
	"fmt"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// storageArgs reads "name=directive" words.
func storageArgs(words []string) (map[string]model.StorageDirective, error) {
	if len(words) == 0 {
		return nil, nil
	}
	out := map[string]model.StorageDirective{}
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, Usagef("expected storage as name=directive, got %q", word)
		}
		if _, twice := out[name]; twice {
			return nil, Usagef("storage %q specified more than once", name)
		}
		d, err := model.ParseStorageDirective(text)
		if err != nil {
			return nil, Usagef("cannot parse constraints for storage %q: %v", name, err)
		}
		out[name] = d
	}
	return out, nil
}

// storageIDs reads ids.
func storageIDs(words []string) ([]model.StorageID, error) {
	ids := make([]model.StorageID, len(words))
	for i, word := range words {
		id, err := model.ParseStorageID(word)
		if err != nil {
			return nil, Usagef("%v", err)
		}
		ids[i] = id
	}
	return ids, nil
}

// eachStorage does something with each of the named instances, and says that it
// is being done; what can't be is told of, and the others are gone on with.
func (a storageVerbs) eachStorage(words []string, doing string, do func(*state.Model, model.StorageID) error) error {
	ids, err := storageIDs(words)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	done, failed := 0, 0
	for _, id := range ids {
		if err := do(m, id); err != nil {
			failed++
			a.failure(err)
			continue
		}
		done++
		a.printf(doing+"\n", id)
	}
	return a.afterEach(done, failed)
}

// fateOf is what --destroy-storage says.
func fateOf(destroy bool) state.StorageFate {
	if destroy {
		return state.StorageDestroyed
	}
	return state.StorageStays
}

// goesWith says, in lines, what becomes of a unit's storage when the unit goes.
func (a storageVerbs) goesWith(m *state.Model, unit model.UnitName, destroy bool) (string, error) {
	all, err := m.StorageOf(a.Context(), unit)
	if errors.Is(err, errors.NotFound) {
		return "", nil
	}
	if err != nil || len(all) == 0 {
		return "", err
	}
	fate, err := m.StorageFate(a.Context(), unit)
	if err != nil {
		return "", ignore(err, errors.NotFound)
	}
	lines := ""
	for _, v := range all {
		verb := "detach"
		if destroy || fate != state.StorageStays || !render.PersistentStorage(v) || !v.Provided || v.Life != model.Alive {
			verb = "remove"
		}
		lines += fmt.Sprintf("- will %s storage %s\n", verb, v.ID)
	}
	return lines, nil
}

// goesWithUnitsOf is goesWith for all units of an application.
func (a storageVerbs) goesWithUnitsOf(m *state.Model, application string, destroy bool) (string, error) {
	units, err := m.Units(a.Context())
	if err != nil {
		return "", err
	}
	all := ""
	for _, u := range units {
		if u.Name.Application() != application {
			continue
		}
		lines, err := a.goesWith(m, u.Name, destroy)
		if err != nil {
			return all, err
		}
		all += lines
	}
	return all, nil
}

// destroyWithStorage destroys a model, if somebody has said what is to become
// of storage that would outlive it.
func (a storageVerbs) destroyWithStorage(m *state.Model, f destroyFlags) error {
	return m.DestroyWith(a.Context(), f.force, f.storageFate())
}

// storageFate is what the flags say of the storage of a model.
func (f destroyFlags) storageFate() state.StorageFate {
	if f.releaseStorage {
		return state.StorageReleased
	}
	return fateOf(f.destroyStorage)
}
