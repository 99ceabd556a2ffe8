package state

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

const (
	// restoringKey has the RestoredDoc of a restoration that isn't done: whatever else
	// the store has is a part of it, which nobody else may use.
	restoringKey = "restoring"
	// restoredKey has the RestoredDoc of the restoration by which the store was made;
	// a model has it as well, for agents that may read that alone.
	restoredKey = "restored"

	// ErrNotEmpty is the error of a restoration into a store that has something.
	ErrNotEmpty = errors.ConstError("the store is not empty")
)

// RestoredDoc says that a store was made of a backup.
type RestoredDoc struct {
	// ID tells this restoration from others, of the same backup, too.
	ID string `json:"id"`
	// Taken is when the backup was, and Rev the revision that it has.
	Taken time.Time `json:"taken"`
	Rev   int64     `json:"revision"`
}

// Restoration makes a store of what WriteEverything has written: of one on any engine
// one on any other. Revisions are counted anew, and keep their order: documents are compared by
// it. The models are seen by nobody before Finish. Until then the store says
// that it is being restored, and the next restoration begins anew: what a killed one
// has left is in nobody's way.
type Restoration struct {
	*importing
	c    *Controller
	mark RestoredDoc
	held []exportDoc // the models' own documents
	// done: the store was finished before.
	done bool
}

// Restore begins a restoration. The error is ErrNotEmpty for a store that has
// something, unless a former restoration that wasn't finished has left it, or the one
// with this very ID was: then it is Done.
func (c *Controller) Restore(ctx context.Context, mark RestoredDoc) (*Restoration, error) {
	r := &Restoration{c: c, mark: mark, importing: &importing{Model: c.open(ModelInfo{}), ctx: ctx}}
	left := false
	_, err := c.store.View(ctx, func(v store.Reader) (err error) {
		left, r.done, err = standing(v, mark)
		return errors.Trace(err)
	})
	if err != nil || r.done {
		return r, errors.Trace(err)
	}
	if left {
		if err := r.clear(); err != nil {
			return nil, errors.Trace(err)
		}
	}
	b, err := json.Marshal(mark)
	if err != nil {
		return nil, errors.Trace(err)
	}
	_, err = c.store.Update(ctx, func(tx store.Tx) error { return tx.Put(restoringKey, b) })
	return r, errors.Trace(err)
}

// standing says how a store stands to a restoration: left, a former one has left
// something in it; done, this one was finished.
func standing(v store.Reader, mark RestoredDoc) (left, done bool, err error) {
	_, err = v.Get(restoringKey)
	if err == nil || !errors.Is(err, errors.NotFound) {
		return err == nil, false, errors.Trace(err)
	}
	kv, err := v.Get(restoredKey)
	if err == nil {
		var was RestoredDoc
		if json.Unmarshal(kv.Value, &was) == nil && was.ID == mark.ID {
			return false, true, nil
		}
	} else if !errors.Is(err, errors.NotFound) {
		return false, false, errors.Trace(err)
	}
	any, err := v.Keys("", "", 1)
	if err == nil && len(any) > 0 {
		err = errors.WithType(errors.New("the store is not empty"), ErrNotEmpty)
	}
	return false, false, errors.Trace(err)
}

// clear takes away what a restoration has left that was killed, but for its mark.
func (r *Restoration) clear() error {
	for done := false; !done; {
		_, err := r.c.store.Update(r.ctx, func(tx store.Tx) error {
			page, err := tx.Keys("", "", store.MaxWrites)
			if err != nil {
				return errors.Trace(err)
			}
			done = true
			for _, kv := range page {
				if kv.Key == restoringKey {
					continue
				}
				done = false
				if err := tx.Delete(kv.Key); err != nil {
					return errors.Trace(err)
				}
			}
			return nil
		})
		if err != nil {
			return errors.Annotate(err, "cannot clear away what a former restoration has left")
		}
	}
	return nil
}

// Done says whether the restoration was finished before, so that there is nothing left
// to do.
func (r *Restoration) Done() bool { return r.done }

// Read writes all documents but those that make models known, and compares what the
// store has then with what was written. The error is NotValid for what isn't all that
// WriteEverything has written.
func (r *Restoration) Read(lines io.Reader) error {
	r.lines = json.NewDecoder(lines)
	trailer, err := r.documents()
	if err != nil {
		return errors.Trace(err)
	}
	var stored contentDigest
	_, err = r.c.store.View(r.ctx, func(v store.Reader) (err error) {
		stored, err = contentBelow(v, "", func(key string) bool { return key == restoringKey })
		return errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	for _, doc := range r.held {
		stored.add(doc.Key, doc.Value)
	}
	if stored.trailer() != trailer {
		return errors.NewNotValid(nil, "it isn't whole, or damaged: what was read doesn't add up to what was written")
	}
	for _, doc := range r.held {
		var info ModelInfo
		if err := json.Unmarshal(doc.Value, &info); err != nil {
			return errors.NewNotValid(nil, fmt.Sprintf("document %s is damaged", doc.Key))
		}
		r.Model = r.c.open(info)
		if err = r.settle(); err == nil {
			err = r.unsettle()
		}
		if err != nil {
			return errors.Annotatef(err, "model %q", info.Name)
		}
	}
	return nil
}

// unsettle has no agent of the model have said up to which revision all is settled: it was one of
// the other store. Who is waited for is known by these documents.
func (r *Restoration) unsettle() error {
	for after := ""; ; {
		n, last := 0, after
		_, err := r.update(r.ctx, func(tx *txn) error {
			kvs, err := tx.Keys(r.prefix()+settledKey, after, store.MaxWrites)
			n = len(kvs)
			for i := 0; err == nil && i < n; i++ {
				err = tx.put(kvs[i].Key[len(r.prefix()):], settledDoc{})
			}
			if n > 0 {
				last = kvs[n-1].Key
			}
			return errors.Trace(err)
		})
		if err != nil || n < store.MaxWrites {
			return errors.Trace(err)
		}
		after = last
	}
}

// documents writes what each revision has written, and returns the trailer.
func (r *Restoration) documents() (exportTrailer, error) {
	for {
		g, err := r.next()
		if err != nil || g.End {
			return g.exportTrailer, errors.Trace(err)
		}
		var now []exportDoc
		for _, doc := range g.Docs {
			switch {
			case store.CheckKey(doc.Key) != nil || passing(doc.Key):
				return exportTrailer{}, errors.NewNotValid(nil, "it is damaged: it has a document that no backup has")
			case !strings.HasPrefix(doc.Key, modelsPrefix):
				now = append(now, doc)
			case !doc.Later:
				r.held = append(r.held, doc)
			}
		}
		rev, err := r.c.store.Update(r.ctx, func(tx store.Tx) error { return putAll(tx, now) }, store.Relaxed)
		if err != nil {
			return exportTrailer{}, errors.Trace(err)
		}
		r.old, r.new = append(r.old, g.Rev), append(r.new, rev)
	}
}

func putAll(tx store.Tx, all []exportDoc) error {
	for _, doc := range all {
		if err := tx.Put(doc.Key, doc.Value); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// Finish makes the models known, and the store one that was restored.
func (r *Restoration) Finish() error {
	if r.done {
		return nil
	}
	mark, err := json.Marshal(r.mark)
	if err != nil {
		return errors.Trace(err)
	}
	const atOnce = store.MaxWrites/(2+logWrites) - 1 // a model's entry, that it was restored, and the log's
	sort.Slice(r.held, func(i, j int) bool { return r.held[i].Key < r.held[j].Key })
	for {
		some := r.held[:min(len(r.held), atOnce)]
		last := len(some) == len(r.held)
		_, err := r.c.store.Update(r.ctx, func(tx store.Tx) error {
			if err := putAll(tx, some); err != nil {
				return errors.Trace(err)
			}
			for _, doc := range some {
				var info ModelInfo
				if err := json.Unmarshal(doc.Value, &info); err != nil {
					return errors.Trace(err)
				}
				err := r.c.open(info).logging(tx, func(t *txn) error { return t.put(restoredKey, r.mark) })
				if err != nil {
					return errors.Trace(err)
				}
			}
			if !last {
				return nil
			}
			if err := tx.Put(restoredKey, mark); err != nil {
				return errors.Trace(err)
			}
			return tx.Delete(restoringKey)
		})
		if err != nil || last {
			return errors.Trace(err)
		}
		r.held = r.held[len(some):]
	}
}

// Restored is the restoration by which the model came into this store; false: it
// didn't come by one.
func (m *Model) Restored(ctx context.Context) (doc RestoredDoc, restored bool, err error) {
	_, err = m.view(ctx, func(d docs) (err error) {
		restored, err = d.find(restoredKey, &doc)
		return errors.Trace(err)
	})
	return doc, restored, errors.Trace(err)
}
