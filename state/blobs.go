package state

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// What charms and resources are made of is stored by its hash, once for all
// models. Nobody counts who refers to it: a sweep looks.

const (
	// blobGrace is how long content stays that nothing refers to yet: who has
	// stored it is about to.
	blobGrace = time.Hour
	// blobPage is how many chunks one transaction deletes.
	blobPage = 16
)

// blobMark is written by everyone who stores content, or begins to refer to it,
// so that a sweep that has looked before lets it be.
type blobMark struct {
	// Stored is when somebody began to store it; zero: it was referred to since.
	Stored time.Time `json:"stored,omitzero"`
}

func blobMarkKey(sha string) string { return "blob-mark/" + sha }

func putBlobMark(tx store.Tx, sha string, mark blobMark) error {
	b, err := model.EncodeJSON(mark)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(tx.Put(blobMarkKey(sha), b))
}

// refer notes that something is going to refer to stored content. The error is
// NotFound if a sweep was faster.
func (t *txn) refer(f File) error {
	if f.Size > 0 {
		there, err := t.Keys(blobPrefix(f.SHA256), "", 1)
		if err != nil {
			return errors.Trace(err)
		}
		if len(there) == 0 {
			return errors.NewNotFound(nil, fmt.Sprintf("content %.12s is not stored any more: try again", f.SHA256))
		}
	}
	return putBlobMark(t.tx, f.SHA256, blobMark{})
}

// sweepBlobs deletes content that no charm and no resource of any model is made
// of, chunk by chunk. It can be stopped and run again at any point.
// All models share it: an agent whose credentials are for its own model leaves it
// to the next sweep of one that may.
func (m *Model) sweepBlobs(ctx context.Context) error {
	err := m.sweepUnused(ctx)
	if errors.Is(err, errors.Unauthorized) {
		return nil
	}
	return errors.Trace(err)
}

func (m *Model) sweepUnused(ctx context.Context) error {
	used, rev, err := m.blobsInUse(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	for after := ""; ; {
		var next []store.KV
		_, err := m.store.View(ctx, func(r store.Reader) (err error) {
			next, err = r.Keys("blob/", after, 1)
			return errors.Trace(err)
		})
		if err != nil || len(next) == 0 {
			return errors.Trace(err)
		}
		sha, _ := splitKey(strings.TrimPrefix(next[0].Key, "blob/"))
		after = blobPrefix(sha) + "~"
		if used[sha] {
			continue
		}
		if err := m.dropBlob(ctx, sha, rev); err != nil {
			return errors.Annotatef(err, "cannot delete content %.12s", sha)
		}
	}
}

// blobsInUse are the hashes of what charms and resources are made of, in all
// models, at the revision that it returns.
func (m *Model) blobsInUse(ctx context.Context) (used map[string]bool, rev int64, err error) {
	rev, err = m.store.View(ctx, func(r store.Reader) error {
		used = map[string]bool{}
		models, err := r.List(modelsPrefix)
		if err != nil {
			return errors.Trace(err)
		}
		infos, err := decode[ModelInfo](models)
		if err != nil {
			return errors.Trace(err)
		}
		for _, info := range infos {
			d := docs{r, &Model{info: info}}
			charms, err := list[CharmDoc](d, "charm/")
			if err != nil {
				return errors.Trace(err)
			}
			for _, c := range charms {
				used[c.SHA256] = true
			}
			apps, err := list[ApplicationDoc](d, "app/")
			if err != nil {
				return errors.Trace(err)
			}
			for _, a := range apps {
				for _, f := range a.Resources {
					used[f.SHA256] = true
				}
			}
		}
		return nil
	})
	return used, rev, errors.Trace(err)
}

// dropBlob deletes content to which nothing referred at a revision, unless
// somebody has marked it since, or has only just stored it.
func (m *Model) dropBlob(ctx context.Context, sha string, rev int64) error {
	for done := false; !done; {
		_, err := m.store.Update(ctx, func(tx store.Tx) error {
			done = true
			kv, err := tx.Get(blobMarkKey(sha))
			if errors.Is(err, errors.NotFound) {
				// Nobody knows since when it is here.
				return putBlobMark(tx, sha, blobMark{Stored: m.clock.Now().UTC()})
			}
			if err != nil {
				return errors.Trace(err)
			}
			var mark blobMark
			if err := json.Unmarshal(kv.Value, &mark); err != nil {
				return errors.Annotatef(err, "document %s", kv.Key)
			}
			if kv.Rev > rev || !mark.Stored.IsZero() && m.clock.Now().Sub(mark.Stored) < blobGrace {
				return nil
			}
			page, err := tx.Keys(blobPrefix(sha), "", blobPage)
			if err != nil {
				return errors.Trace(err)
			}
			for _, chunk := range page {
				if err := tx.Delete(chunk.Key); err != nil {
					return errors.Trace(err)
				}
			}
			if done = len(page) < blobPage; done {
				return tx.Delete(blobMarkKey(sha))
			}
			return nil
		})
		if err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
