package hookcontext

import (
	"maps"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// The limits of one key and one value of the charm's state, in bytes. Source:
// spec/hook-tools.md §7.1.
const (
	maxStateKey   = 256
	maxStateValue = 65536
)

// unchecked is how many bytes a hook may write to one databag, or to the
// charm's state, before what it is laid over is read, so as to know whether
// both together are too large. Hooks that write no more than that, as nearly
// all do, need not read: if the little that they write is too much after all,
// the commit refuses it.
const unchecked = model.MaxStored / 16

// large says whether writes are to be checked together with what is there.
func large(writes map[string]string) bool {
	size := 0
	for k, v := range writes {
		size += len(k) + len(v)
	}
	return size > unchecked
}

// extended is writes with a change laid over them, if settings like that can
// be committed. read reads what they are laid over.
func extended(writes, change model.Settings, read func() (model.Settings, error)) (model.Settings, error) {
	if err := model.CheckText("settings", change); err != nil {
		return nil, errors.Trace(err)
	}
	writes = writes.Clone()
	maps.Copy(writes, change)
	if !large(writes) {
		return writes, nil
	}
	settings, err := read()
	if err != nil && !errors.Is(err, errors.NotFound) {
		return nil, errors.Trace(err)
	}
	after, _ := settings.Apply(writes)
	return writes, errors.Trace(model.CheckStored("settings", after))
}
