package hookcontext

import (
	"maps"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// The limits of one key and one value of the charm's state, in bytes. Source:
// docs/spec/hook-tools.md §7.1.
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

// tally is how many bytes were written to one place, at most: what was written
// over isn't taken off. It is there so that a hook's thousandth write costs what
// its first one did.
type tally int

// room says whether a change leaves it at so little that nothing need be read;
// then it has the change in it.
func (t *tally) room(change map[string]string) bool {
	size := int(*t) + bytesOf(change)
	if size > unchecked {
		return false
	}
	*t = tally(size)
	return true
}

// small says whether writes, counted anew, are to be checked together with what
// is there.
func (t *tally) small(writes map[string]string) bool {
	*t = tally(bytesOf(writes))
	return *t <= unchecked
}

func bytesOf(writes map[string]string) (size int) {
	for k, v := range writes {
		size += len(k) + len(v)
	}
	return size
}

// extended is writes with a change laid over them, if settings like that can
// be committed; it may be writes itself. t is what was written there so far,
// read reads what they are laid over.
func extended(writes, change model.Settings, t *tally, read func() (model.Settings, error)) (model.Settings, error) {
	if err := model.CheckText("settings", change); err != nil {
		return nil, errors.Trace(err)
	}
	if writes != nil && t.room(change) {
		maps.Copy(writes, change)
		return writes, nil
	}
	writes = writes.Clone()
	maps.Copy(writes, change)
	if t.small(writes) {
		return writes, nil
	}
	settings, err := read()
	if err != nil && !errors.Is(err, errors.NotFound) {
		return nil, errors.Trace(err)
	}
	after, _ := settings.Apply(writes)
	return writes, errors.Trace(model.CheckStored("settings", after))
}

// tallyOf is that of one databag.
func (c *Context) tallyOf(b bag) *tally {
	t := c.bagTallies[b]
	if t == nil {
		t = new(tally)
		c.bagTallies[b] = t
	}
	return t
}
