package state

import (
	"context"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Source is what documents can be read from: a store, or the Remains of one.
type Source interface {
	View(ctx context.Context, fn func(store.Reader) error) (int64, error)
}

// Remains are keys that were recovered from a damaged store, in their
// order.
type Remains []store.KV

// View is part of Source.
func (r Remains) View(_ context.Context, fn func(store.Reader) error) (int64, error) {
	return r.Rev(), fn(r)
}

// Rev is part of store.Reader.
func (r Remains) Rev() (rev int64) {
	for _, kv := range r {
		rev = max(rev, kv.Rev)
	}
	return rev
}

// Get is part of store.Reader.
func (r Remains) Get(key string) (store.KV, error) {
	n := sort.Search(len(r), func(n int) bool { return r[n].Key >= key })
	if n == len(r) || r[n].Key != key {
		return store.KV{}, errors.NotFoundf("key %q", key)
	}
	return r[n], nil
}

// List is part of store.Reader.
func (r Remains) List(prefix string) ([]store.KV, error) { return r.Page(prefix, "", -1) }

// Page is part of store.Reader.
func (r Remains) Page(prefix, after string, limit int) ([]store.KV, error) {
	n := sort.Search(len(r), func(n int) bool { return r[n].Key >= prefix && r[n].Key > after })
	end := n
	for end < len(r) && end-n != limit && strings.HasPrefix(r[end].Key, prefix) {
		end++
	}
	return append([]store.KV(nil), r[n:end]...), nil
}

// Keys is part of store.Reader.
func (r Remains) Keys(prefix, after string, limit int) ([]store.KV, error) {
	kvs, err := r.Page(prefix, after, limit)
	for i := range kvs {
		kvs[i].Value, kvs[i].Lease = nil, 0
	}
	return kvs, err
}

// Since is part of store.Reader.
func (r Remains) Since(prefix string, rev int64) (kvs []store.KV, err error) {
	for _, kv := range r {
		if kv.Rev > rev && strings.HasPrefix(kv.Key, prefix) {
			kvs = append(kvs, kv)
		}
	}
	return kvs, nil
}

// readOnly is a store of which nothing is called but View.
type readOnly struct {
	store.Store // nil
	from        Source
}

// View is part of store.Store.
func (r readOnly) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	return r.from.View(ctx, fn)
}

// ExportReadable is Model.Export for a model of a store that is damaged: with the
// documents and files that can be read. It returns the keys of those that can't,
// which is what Import says of it: missing, those that are known to have been
// there, and the damaged ones that Inspect has found.
func ExportReadable(ctx context.Context, from Source, m InspectedModel, missing []string, w io.Writer) (lost []string, err error) {
	for _, key := range missing {
		if key, ok := strings.CutPrefix(key, "m/"+m.Info.UUID+"/"); ok && !ofAgents(key) {
			lost = append(lost, key)
		}
	}
	for _, d := range m.Damaged {
		if !ofAgents(d.Key) {
			lost = append(lost, d.Key)
		}
	}
	slices.Sort(lost)
	whole := Model{info: m.Info, store: checked{readOnly{from: from}}}
	return lost, errors.Trace(whole.export(ctx, w, &exportHeader{Format: exportFormat, Model: m.Info, Lost: lost, Incomplete: true}))
}
