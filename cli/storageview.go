package cli

import (
	"fmt"
	"slices"
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
	failed := false
	for _, id := range ids {
		if err := do(m, id); err != nil {
			failed = true
			a.failure(err)
			continue
		}
		a.printf(doing+"\n", id)
	}
	if failed {
		return Exit(Failed)
	}
	return a.Ensure()
}

// goesWith says, in lines, what becomes of a unit's storage when the unit goes,
// and sees to it that it is destroyed if that is wanted.
func (a storageVerbs) goesWith(m *state.Model, unit model.UnitName, destroy bool) (string, error) {
	all, err := m.StorageOf(a.Context(), unit)
	if errors.Is(err, errors.NotFound) {
		return "", nil
	}
	if err != nil || len(all) == 0 {
		return "", err
	}
	lines := ""
	for _, v := range all {
		verb := "detach"
		if destroy || !render.PersistentStorage(v) || !v.Provided || v.Life != model.Alive {
			verb = "remove"
		}
		lines += fmt.Sprintf("- will %s storage %s\n", verb, v.ID)
	}
	if !destroy {
		return lines, nil
	}
	return lines, m.DoomStorageOf(a.Context(), unit)
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
	info, err := m.Info(a.Context())
	if err != nil {
		return err
	}
	all, err := m.Storage(a.Context())
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(all, func(v state.StorageView) bool {
		return !render.PersistentStorage(v) || !v.Provided || v.Life != model.Alive
	})
	if len(kept) > 0 && info.Life == model.Alive && !f.destroyStorage && !f.releaseStorage {
		return errors.Errorf("cannot destroy model %q: it has storage in it that would outlive it (%s, …): "+
			"\"--destroy-storage\" removes it, \"--release-storage\" leaves what is in it on this machine", m.Name(), kept[0].ID)
	}
	if err := m.Destroy(a.Context(), f.force); err != nil {
		return err
	}
	return m.DoomStorage(a.Context(), f.releaseStorage)
}
