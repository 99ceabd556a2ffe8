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

func (t *txn) queue(work cleanupDoc) error {
	n, err := t.next("cleanup")
	if err != nil {
		return errors.Trace(err)
	}
	return t.put(cleanupKey(n), work)
}

// cleanupsPerPage is how much work is looked at together.
const cleanupsPerPage = 100

// RunCleanups empties the cleanup queue: the mass of documents that what was
// removed has left behind, in pages, so that no transaction is large, and
// destructions of which only the beginning is certain. It can be stopped and
// run again at any point, and by several agents at once: work leaves the queue
// when it is done, and to do it again changes nothing. What can't be done keeps
// nothing else from being done; the error is the first.
func (m *Model) RunCleanups(ctx context.Context) error {
	var first error
	for after := ""; ; {
		var work []store.KV
		_, err := m.view(ctx, func(r docs) (err error) {
			work, err = r.Page(m.prefix()+"cleanup/", after, cleanupsPerPage)
			return errors.Trace(err)
		})
		if err != nil {
			return errors.Trace(err)
		}
		if len(work) == 0 {
			return errors.Trace(first)
		}
		after = work[len(work)-1].Key
		docs, err := decode[cleanupDoc](work)
		if err != nil {
			return errors.Trace(err)
		}
		for i, doc := range docs {
			err := m.cleanUp(ctx, doc)
			if err == nil {
				_, err = m.update(ctx, func(tx *txn) error { return tx.tx.Delete(work[i].Key) })
			}
			if err != nil && first == nil {
				first = err
			}
			if ctx.Err() != nil {
				return errors.Trace(first)
			}
		}
	}
}

// cleanUp does one piece of work.
func (m *Model) cleanUp(ctx context.Context, doc cleanupDoc) (err error) {
	switch {
	case doc.Prefix != "":
		err = m.deleteBelow(ctx, m.prefix()+doc.Prefix, "", doc.Upto)
	case doc.SecretsOf != "":
		err = m.removeSecretsOf(ctx, doc.SecretsOf)
	case doc.Application != "":
		_, err = m.finishDestroy(ctx, doc.Application, nil)
	case doc.Unit != nil:
		err = m.finishUnit(ctx, *doc.Unit)
	case doc.Model != nil:
		err = m.finishModel(ctx, *doc.Model)
	case doc.Relation != nil && doc.Strangers:
		err = m.loseStrangers(ctx, *doc.Relation)
	case doc.SAAS != nil:
		err = m.finishSAAS(ctx, *doc.SAAS)
	case doc.Offer != nil:
		err = m.finishOffer(ctx, *doc.Offer)
	case doc.Relation != nil:
		err = m.abandonRelation(ctx, *doc.Relation, newCounter(0, nil))
	case doc.Tasks != "":
		err = m.endTasks(ctx, doc.Tasks)
	case doc.Operation != "":
		err = m.enqueueRest(ctx, doc.Operation)
	case doc.Machine != "":
		err = m.finishForced(ctx, doc.Machine)
	case doc.Blobs:
		err = m.sweepBlobs(ctx)
	case doc.ScaleOf != "":
		err = m.rescale(ctx, doc.ScaleOf, Orderly)
	case doc.StorageOf != "":
		err = m.addLacking(ctx, doc.StorageOf)
	case doc.Objects != nil:
		err = m.removeObjects(ctx, *doc.Objects)
	}
	return errors.Trace(err)
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
			done = len(page) < store.MaxWrites
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
