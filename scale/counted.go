package scale

import (
	"context"
	"slices"
	"strings"

	"github.com/unitd/unitd/state/store"
)

// Traffic counts what is asked of a store.
type Traffic struct {
	// Views and Updates are calls; an update is counted if it wrote something.
	// Relaxed are those updates that need not be durable at once.
	Views, Updates, Relaxed int64
	// Reads are calls of a Reader, in views and updates, Keys what they returned.
	Reads, Keys int64
	// Puts are keys written or deleted, Bytes what was written: keys and values.
	Puts, Bytes int64
}

func (t Traffic) minus(u Traffic) Traffic {
	return Traffic{t.Views - u.Views, t.Updates - u.Updates, t.Relaxed - u.Relaxed, t.Reads - u.Reads, t.Keys - u.Keys, t.Puts - u.Puts, t.Bytes - u.Bytes}
}

func (t Traffic) plus(u Traffic) Traffic {
	return Traffic{t.Views + u.Views, t.Updates + u.Updates, t.Relaxed + u.Relaxed, t.Reads + u.Reads, t.Keys + u.Keys, t.Puts + u.Puts, t.Bytes + u.Bytes}
}

// counted is a store whose traffic is counted. It is for one goroutine.
type counted struct {
	store.Store
	Traffic
	// shared are the writes of each key that units share.
	shared map[string]int64
}

func (c *counted) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	c.Views++
	return c.Store.View(ctx, func(r store.Reader) error { return fn(reader{r, &c.Traffic}) })
}

func (c *counted) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	wrote := false
	rev, err := c.Store.Update(ctx, func(tx store.Tx) error {
		t := &countedTx{reader{tx, &c.Traffic}, tx, c.shared, false}
		err := fn(t)
		wrote = t.wrote
		return err
	}, opts...)
	if err == nil && wrote {
		c.Updates++
		if slices.Contains(opts, store.Relaxed) {
			c.Relaxed++
		}
	}
	return rev, err
}

type reader struct {
	store.Reader
	t *Traffic
}

func (r reader) count(kvs []store.KV, err error) ([]store.KV, error) {
	r.t.Reads++
	r.t.Keys += int64(len(kvs))
	return kvs, err
}

func (r reader) Get(key string) (store.KV, error) {
	r.t.Reads++
	kv, err := r.Reader.Get(key)
	if err == nil {
		r.t.Keys++
	}
	return kv, err
}

func (r reader) List(prefix string) ([]store.KV, error) { return r.count(r.Reader.List(prefix)) }

func (r reader) Page(prefix, after string, limit int) ([]store.KV, error) {
	return r.count(r.Reader.Page(prefix, after, limit))
}

func (r reader) Keys(prefix, after string, limit int) ([]store.KV, error) {
	return r.count(r.Reader.Keys(prefix, after, limit))
}

func (r reader) Since(prefix string, rev int64) ([]store.KV, error) {
	return r.count(r.Reader.Since(prefix, rev))
}

type countedTx struct {
	reader
	tx     store.Tx
	shared map[string]int64
	wrote  bool
}

func (t *countedTx) put(key string, value []byte) {
	t.wrote = true
	t.t.Puts++
	t.t.Bytes += int64(len(key) + len(value))
	switch kindOf(key) {
	case "app", "relation", "leader", "sequence":
		t.shared[key]++
	}
}

func (t *countedTx) Put(key string, value []byte) error {
	t.put(key, value)
	return t.tx.Put(key, value)
}

func (t *countedTx) PutLease(key string, value []byte, lease store.LeaseID) error {
	t.put(key, value)
	return t.tx.PutLease(key, value, lease)
}

func (t *countedTx) Delete(key string) error {
	t.put(key, nil)
	return t.tx.Delete(key)
}

// kindOf is what a model's key is of: "unit" for "m/<uuid>/unit/web/0".
func kindOf(key string) string {
	words := strings.SplitN(key, "/", 4)
	if len(words) < 3 || words[0] != "m" {
		return words[0]
	}
	return words[2]
}
