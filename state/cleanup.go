package state

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// cleanup leaves the documents below prefix to the cleanup queue. They must be
// such as nobody can refer to or watch any more.
func (t *txn) cleanup(prefix string) error {
	n, err := t.next("cleanup")
	if err != nil {
		return errors.Trace(err)
	}
	return t.put(cleanupKey(n), cleanupDoc{Prefix: prefix})
}

// RunCleanups empties the cleanup queue: the mass of documents that what was
// removed has left behind, in pages, so that no transaction is large. It can
// be stopped and run again at any point, and by several agents at once.
func (m *Model) RunCleanups(ctx context.Context) error {
	var work []store.KV
	_, err := m.view(ctx, func(r docs) (err error) {
		work, err = r.Page(m.prefix()+"cleanup/", "", 100)
		return errors.Trace(err)
	})
	if err != nil || len(work) == 0 {
		return errors.Trace(err)
	}
	for _, kv := range work {
		var doc cleanupDoc
		key := kv.Key[len(m.prefix()):]
		_, err := m.view(ctx, func(r docs) error {
			_, err := r.find(key, &doc)
			return errors.Trace(err)
		})
		if err != nil {
			return errors.Trace(err)
		}
		if doc.Prefix != "" {
			if err := m.deleteBelow(ctx, m.prefix()+doc.Prefix); err != nil {
				return errors.Trace(err)
			}
		}
		if _, err := m.update(ctx, func(tx *txn) error { return tx.delete(key) }); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(m.RunCleanups(ctx))
}

// deleteBelow deletes all keys that begin with prefix, page by page.
func (m *Model) deleteBelow(ctx context.Context, prefix string) error {
	for {
		n := 0
		_, err := m.store.Update(ctx, func(tx store.Tx) error {
			page, err := tx.Page(prefix, "", store.MaxWrites)
			if err != nil {
				return errors.Trace(err)
			}
			n = len(page)
			for _, kv := range page {
				if err := tx.Delete(kv.Key); err != nil {
					return errors.Trace(err)
				}
			}
			return nil
		})
		if err != nil || n == 0 {
			return errors.Annotate(err, "cannot clean up")
		}
	}
}
