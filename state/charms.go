package state

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// chunk is how many bytes of an archive one document has; well below
// store.MaxValue.
const chunk = 512 << 10

func blobPrefix(sha string) string         { return "blob/" + sha + "/" }
func blobKey(sha string, n int) string     { return fmt.Sprintf("blob/%s/%06d", sha, n) }
func charmURL(name string, rev int) string { return fmt.Sprintf("local:%s-%d", name, rev) }

// AddCharm stores a new revision of a local charm and returns its URL,
// "local:<name>-<revision>" with revisions from 0 for each name and model. r
// has the charm's archive, whose hash is sha (hex).
func (m *Model) AddCharm(ctx context.Context, c model.Charm, sha string, r io.Reader) (string, error) {
	return m.AddCharmFrom(ctx, "", c, sha, r)
}

// AddCharmFrom is AddCharm for a charm that was packed from the tree source, an
// absolute path: see CharmDoc.Source.
func (m *Model) AddCharmFrom(ctx context.Context, source string, c model.Charm, sha string, r io.Reader) (string, error) {
	return m.AddCharmAs(ctx, source, anyRevision, c, sha, r)
}

// anyRevision is the next one.
const anyRevision = -1

// AddCharmAs is AddCharmFrom for a charm that has a revision elsewhere: it gets that
// one, or the next one if the model has, or once had, a charm with it.
func (m *Model) AddCharmAs(ctx context.Context, source string, revision int, c model.Charm, sha string, r io.Reader) (string, error) {
	size, err := m.storeBlob(ctx, sha, r)
	if err != nil {
		return "", errors.Annotatef(err, "cannot store charm %q", c.Name)
	}
	doc := CharmDoc{SHA256: sha, Size: size, Charm: c, Source: source}
	_, err = m.update(ctx, func(tx *txn) error {
		rev, err := tx.revision(c.Name, revision)
		if err != nil {
			return errors.Trace(err)
		}
		if err := tx.refer(File{SHA256: sha, Size: size}); err != nil {
			return errors.Trace(err)
		}
		doc.Revision, doc.URL = rev, charmURL(c.Name, rev)
		if err := tx.put(newCharmKey(doc.URL), newCharmDoc{m.clock.Now().UTC()}); err != nil {
			return errors.Trace(err)
		}
		return tx.put(charmKey(doc.URL), doc)
	})
	return doc.URL, errors.Annotatef(err, "cannot store charm %q", c.Name)
}

// storeBlob writes the chunks that aren't there yet. They come before the
// document that refers to them, so what is cut off is only wasted: what it has
// left is taken for true only where it has the content that r has.
func (m *Model) storeBlob(ctx context.Context, sha string, r io.Reader) (int64, error) {
	_, err := m.store.Update(ctx, func(tx store.Tx) error { return putBlobMark(tx, sha, blobMark{Stored: m.clock.Now().UTC()}) })
	if err != nil {
		return 0, errors.Trace(err)
	}
	sum := sha256.New()
	b := blob{m: m, sha: sha}
	var size int64
	buf := make([]byte, chunk)
	for n := 0; ; n++ {
		read, err := io.ReadFull(r, buf)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return 0, errors.Trace(err)
		}
		if read > 0 {
			part := buf[:read]
			sum.Write(part)
			size += int64(read)
			if err := b.store(ctx, n, part); err != nil {
				return 0, errors.Trace(err)
			}
		}
		if err != nil {
			break
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != sha {
		// What is there stays in the way of the right content.
		if err := b.drop(ctx); err != nil {
			return 0, errors.Trace(err)
		}
		return 0, errors.NewNotValid(nil, fmt.Sprintf("the archive's hash is %s, not %s", got, sha))
	}
	// A longer one may have been cut off.
	last := ""
	if size > 0 {
		last = blobKey(sha, int((size-1)/chunk))
	}
	return size, errors.Trace(m.deleteBelow(ctx, blobPrefix(sha), last, 0))
}

// blob is an archive that is being stored.
type blob struct {
	m   *Model
	sha string
	// written are the chunks written so far.
	written []string
	// intact: what was stored before is whole, so what differs from it is wrong
	// and isn't written. It is known only once something differs.
	known, intact bool
}

// store writes a chunk unless it is there.
func (b *blob) store(ctx context.Context, n int, part []byte) error {
	key := blobKey(b.sha, n)
	for {
		wrote, differs := false, false
		_, err := b.m.store.Update(ctx, func(tx store.Tx) error {
			kv, err := tx.Get(key)
			if err != nil && !errors.Is(err, errors.NotFound) {
				return errors.Trace(err)
			}
			differs = err == nil && !bytes.Equal(kv.Value, part)
			wrote = err != nil || differs && b.known && !b.intact
			if !wrote {
				return nil
			}
			return tx.Put(key, part)
		})
		if err != nil {
			return errors.Trace(err)
		}
		if wrote {
			b.written = append(b.written, key)
		}
		if !differs || b.known {
			return nil
		}
		sum := sha256.New()
		if err := b.m.readBlob(ctx, b.sha, sum); err != nil {
			return errors.Trace(err)
		}
		b.known, b.intact = true, hex.EncodeToString(sum.Sum(nil)) == b.sha
	}
}

// drop deletes what was written.
func (b *blob) drop(ctx context.Context) error {
	for _, key := range b.written {
		if _, err := b.m.store.Update(ctx, func(tx store.Tx) error { return tx.Delete(key) }); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// Charm is the document of a charm; errors.NotFound if the model has no such.
func (m *Model) Charm(ctx context.Context, url string) (CharmDoc, error) {
	var doc CharmDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		doc, err = r.charm(url)
		return errors.Trace(err)
	})
	return doc, errors.Trace(err)
}

// Charms are all charms that the model holds, by their URLs.
func (m *Model) Charms(ctx context.Context) ([]CharmDoc, error) {
	var all []CharmDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		all, err = list[CharmDoc](r, charmKey(""))
		return errors.Trace(err)
	})
	return all, errors.Trace(err)
}

// take is for whoever makes an application of a charm: it has to be there still, and
// from now on it is kept for its users alone.
func (t *txn) take(url string) error {
	var charm CharmDoc
	if err := t.get(charmKey(url), &charm); err != nil {
		return named(err, "charm", url)
	}
	var mark newCharmDoc
	if there, err := t.find(newCharmKey(url), &mark); err != nil || !there {
		return errors.Trace(err)
	}
	return t.delete(newCharmKey(url))
}

// RemoveCharm removes a charm that nothing uses: no application is made of it or can be
// rolled back to it, no unit has it, and it wasn't only just stored. False: something
// does, or it isn't there. What it was made of goes with the next SweepCharms.
func (m *Model) RemoveCharm(ctx context.Context, url string) (removed bool, err error) {
	_, err = m.update(ctx, func(tx *txn) error {
		removed = false
		var charm CharmDoc
		if there, err := tx.find(charmKey(url), &charm); err != nil || !there {
			return errors.Trace(err)
		}
		var mark newCharmDoc
		if isNew, err := tx.find(newCharmKey(url), &mark); err != nil || isNew && m.clock.Now().Sub(mark.Stored) < blobGrace {
			return errors.Trace(err)
		}
		if used, err := tx.charmUsed(url); err != nil || used {
			return errors.Trace(err)
		}
		removed = true
		if FromHub(url) {
			if err := tx.put(formerCharmKey(url), formerCharmDoc{charm.SHA256}); err != nil {
				return errors.Trace(err)
			}
		}
		return tx.delete(charmKey(url), newCharmKey(url))
	})
	if removed && err == nil {
		m.charms.forget(url)
	}
	return removed && err == nil, errors.Annotatef(err, "cannot remove charm %s", url)
}

// SweepCharms deletes the content of charms and resources that no model has any more.
func (m *Model) SweepCharms(ctx context.Context) error { return m.sweepBlobs(ctx) }

// charmUsed says whether a charm is, was or is to be that of an application or unit.
func (d docs) charmUsed(url string) (bool, error) {
	apps, err := list[ApplicationDoc](d, "app/")
	if err != nil {
		return false, errors.Trace(err)
	}
	for _, a := range apps {
		if a.Charm == url || slices.ContainsFunc(a.Former, func(f Former) bool { return f.Charm == url }) {
			return true, nil
		}
	}
	units, err := list[UnitDoc](d, "unit/")
	if err != nil {
		return false, errors.Trace(err)
	}
	for _, u := range units {
		if u.Charm == url {
			return true, nil
		}
	}
	pods, err := list[PodDoc](d, podPrefix)
	if err != nil {
		return false, errors.Trace(err)
	}
	for _, p := range pods {
		if p.Wanted.Charm == url || p.Former != nil && p.Former.Charm == url {
			return true, nil
		}
	}
	return false, nil
}

// CharmContent writes the charm's archive to w. The error is NotValid if its
// hash isn't the one it was stored with.
func (m *Model) CharmContent(ctx context.Context, url string, w io.Writer) error {
	doc, err := m.Charm(ctx, url)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Annotatef(m.FileContent(ctx, File{SHA256: doc.SHA256}, w), "cannot read charm %s", url)
}

// readBlob writes what is stored under a hash to w.
func (m *Model) readBlob(ctx context.Context, sha string, w io.Writer) error {
	for after, done := "", false; !done; {
		var page []store.KV
		_, err := m.store.View(ctx, func(r store.Reader) (err error) {
			page, err = r.Page(blobPrefix(sha), after, 8)
			return errors.Trace(err)
		})
		if err != nil {
			return errors.Trace(err)
		}
		for _, kv := range page {
			if _, err := w.Write(kv.Value); err != nil {
				return errors.Trace(err)
			}
			after = kv.Key
		}
		done = len(page) == 0
	}
	return nil
}
