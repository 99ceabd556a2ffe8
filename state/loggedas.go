package state

import (
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// LoggedAs is what somebody may write at a key who goes by these names, his own first, and who has
// written value there, as the store has it: an entry of a model's log of changes has his account. Where it
// says another one, as that of a host which knows him by another name, it gets his, with the other one
// behind it. The error is NotValid for one that would replace another entry, or can't be read.
//
// What comes before " as " in an account is whoever has called it, by sudo, and is anybody's word. What
// belongs to a model that isn't there yet is written by an import, and stays as it is.
func (c *Controller) LoggedAs(r store.Reader, key string, value []byte, names []string) ([]byte, error) {
	below, ok := strings.CutPrefix(key, "m/")
	uuid, below, _ := strings.Cut(below, "/")
	if !ok || !strings.HasPrefix(below, loggedKind+"/") {
		return value, nil
	}
	if there, err := isModel(r, uuid); err != nil || !there {
		return value, errors.Trace(err)
	}
	if _, err := r.Get(key); err == nil {
		return nil, errors.NewNotValid(nil, "an entry of the log of changes stays as it is")
	} else if !errors.Is(err, errors.NotFound) {
		return nil, errors.Trace(err)
	}
	var entry map[string]any
	if plain, ok := withoutSum(key, value); ok {
		doc, err := looseDoc(plain)
		if err != nil {
			return nil, errors.Trace(err)
		}
		entry, _ = doc.(map[string]any)
	}
	if entry == nil {
		return nil, errors.NewNotValid(nil, "the entry of the log of changes can't be read")
	}
	user, _ := entry["user"].(string)
	if slices.ContainsFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, "%") && (user == name || strings.HasSuffix(user, " as "+name)) // the others are groups
	}) {
		return value, nil
	}
	entry["user"] = names[0] + " (says " + user + ")"
	b, err := model.EncodeJSON(entry)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return withSum(key, b), nil
}

// isModel says whether there is a model with that UUID. One whose entry can't be read may be it.
func isModel(r store.Reader, uuid string) (bool, error) {
	kvs, err := r.List(modelsPrefix)
	return slices.ContainsFunc(kvs, func(kv store.KV) bool {
		is := infoOf(kv.Key, kv.Value).UUID
		return is == uuid || is == ""
	}), errors.Trace(err)
}
