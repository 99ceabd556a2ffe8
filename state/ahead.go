package state

import (
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// ahead is a reader of one view that reads all documents of a kind at once, as soon as
// it is asked for one of them: for who looks at the whole of a model. Each question to
// a store has its price, a large one where the store is on another host.
type ahead struct {
	store.Reader
	// model is the prefix of the model's documents; those of others are read as ever.
	model string
	kinds map[string][]store.KV // nil: of this kind nothing was read yet
}

// aheadOf is a reader that is ahead in documents of these kinds, which are the first
// parts of keys, "unit". One of the others is read alone when it is asked for: of charms
// the model may have many that nobody uses any more.
func aheadOf(r store.Reader, model string, kinds ...string) *ahead {
	a := &ahead{Reader: r, model: model, kinds: map[string][]store.KV{}}
	for _, kind := range kinds {
		a.kinds[kind] = nil
	}
	return a
}

// ahead are the documents by a reader that is ahead in these kinds.
func (d docs) ahead(kinds ...string) docs {
	return docs{aheadOf(d.Reader, d.m.prefix(), kinds...), d.m}
}

// all are the documents of the kind that the key, or prefix of keys, is of. ok is
// false where it is of none of those that are read at once.
func (a *ahead) all(key string) (kvs []store.KV, ok bool, err error) {
	rest, own := strings.CutPrefix(key, a.model)
	kind, _, whole := strings.Cut(rest, "/")
	kvs, ok = a.kinds[kind]
	if !own || !whole || !ok {
		return nil, false, nil
	}
	if kvs == nil {
		if kvs, err = a.Reader.List(a.model + kind + "/"); err != nil {
			return nil, true, errors.Trace(err)
		}
		if kvs == nil {
			kvs = []store.KV{}
		}
		a.kinds[kind] = kvs
	}
	return kvs, true, nil
}

// from is where the first key is that isn't before this one.
func from(kvs []store.KV, key string) (at int, there bool) {
	return slices.BinarySearchFunc(kvs, key, func(kv store.KV, key string) int { return strings.Compare(kv.Key, key) })
}

// Get is part of store.Reader.
func (a *ahead) Get(key string) (store.KV, error) {
	kvs, ok, err := a.all(key)
	if err != nil {
		return store.KV{}, errors.Trace(err)
	}
	if !ok {
		return a.Reader.Get(key)
	}
	at, there := from(kvs, key)
	if !there {
		return store.KV{}, errors.NotFoundf("key %q", key)
	}
	return kvs[at], nil
}

// List is part of store.Reader.
func (a *ahead) List(prefix string) ([]store.KV, error) {
	kvs, ok, err := a.all(prefix)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if !ok {
		return a.Reader.List(prefix)
	}
	first, _ := from(kvs, prefix)
	last := first
	for last < len(kvs) && strings.HasPrefix(kvs[last].Key, prefix) {
		last++
	}
	return kvs[first:last:last], nil
}
