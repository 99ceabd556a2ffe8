package state

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// cleanup leaves the documents below prefix to the cleanup queue. They must be
// such as nobody can refer to or watch any more.
func (t *txn) cleanup(prefix string) error {
	return t.queue(cleanupDoc{Prefix: prefix})
}

// cleanupHistory leaves a status history to the cleanup queue. Its name can be
// used again before the queue is run, so only what is there now goes.
func (t *txn) cleanupHistory(kind StatusKind, name string) error {
	return t.queue(cleanupDoc{Prefix: historyOf(kind, name), Upto: t.Rev()})
}

func (t *txn) queue(work cleanupDoc) error {
	n, err := t.next("cleanup")
	if err != nil {
		return errors.Trace(err)
	}
	return t.put(cleanupKey(n), work)
}

// RunCleanups empties the cleanup queue: the mass of documents that what was
// removed has left behind, in pages, so that no transaction is large, and
// destructions of which only the beginning is certain. It can be stopped and
// run again at any point, and by several agents at once.
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
			if err := m.deleteBelow(ctx, m.prefix()+doc.Prefix, "", doc.Upto); err != nil {
				return errors.Trace(err)
			}
		}
		if doc.SecretsOf != "" {
			if err := m.removeSecretsOf(ctx, doc.SecretsOf); err != nil {
				return errors.Trace(err)
			}
		}
		if doc.Application != "" {
			if err := m.finishDestroy(ctx, doc.Application); err != nil {
				return errors.Trace(err)
			}
		}
		if doc.Tasks != "" {
			if err := m.endTasks(ctx, doc.Tasks); err != nil {
				return errors.Trace(err)
			}
		}
		if doc.Machine != "" {
			if err := m.finishForced(ctx, doc.Machine); err != nil {
				return errors.Trace(err)
			}
		}
		if doc.StorageOf != "" {
			if err := m.addLacking(ctx, doc.StorageOf); err != nil {
				return errors.Trace(err)
			}
		}
		if _, err := m.update(ctx, func(tx *txn) error { return tx.delete(key) }); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(m.RunCleanups(ctx))
}

// deleteBelow deletes all keys that begin with prefix and sort after the key
// after ("": all of them), page by page; if upto isn't 0, only those last
// written up to that revision. The values, of which a page can have a hundred
// megabytes, aren't read.
func (m *Model) deleteBelow(ctx context.Context, prefix, after string, upto int64) error {
	for done := false; !done; {
		last := after
		_, err := m.store.Update(ctx, func(tx store.Tx) error {
			page, err := tx.Keys(prefix, after, store.MaxWrites)
			if err != nil {
				return errors.Trace(err)
			}
			done = len(page) == 0
			for _, kv := range page {
				last = kv.Key
				if upto != 0 && kv.Rev > upto {
					continue
				}
				if err := tx.Delete(kv.Key); err != nil {
					return errors.Trace(err)
				}
			}
			return nil
		})
		if err != nil {
			return errors.Annotate(err, "cannot clean up")
		}
		after = last
	}
	return nil
}
