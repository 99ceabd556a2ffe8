package state

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

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
	size, err := m.storeBlob(ctx, sha, r)
	if err != nil {
		return "", errors.Annotatef(err, "cannot store charm %q", c.Name)
	}
	doc := CharmDoc{SHA256: sha, Size: size, Charm: c}
	_, err = m.update(ctx, func(tx *txn) error {
		rev, err := tx.next("charm/" + c.Name)
		if err != nil {
			return errors.Trace(err)
		}
		doc.Revision, doc.URL = rev, charmURL(c.Name, rev)
		return tx.put(charmKey(doc.URL), doc)
	})
	return doc.URL, errors.Annotatef(err, "cannot store charm %q", c.Name)
}

// storeBlob writes the chunks that aren't there yet. They come before the
// document that refers to them, so what is cut off is only wasted.
func (m *Model) storeBlob(ctx context.Context, sha string, r io.Reader) (int64, error) {
	sum := sha256.New()
	var size int64
	var written []string
	buf := make([]byte, chunk)
	for n := 0; ; n++ {
		read, err := io.ReadFull(r, buf)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return 0, errors.Trace(err)
		}
		if read == 0 {
			break
		}
		part := buf[:read]
		sum.Write(part)
		size += int64(read)
		isNew, uerr := m.storeChunk(ctx, blobKey(sha, n), part)
		if uerr != nil {
			return 0, errors.Trace(uerr)
		}
		if isNew {
			written = append(written, blobKey(sha, n))
		}
		if err != nil {
			break
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != sha {
		// What is there stays in the way of the right content.
		if err := m.deleteChunks(ctx, written); err != nil {
			return 0, errors.Trace(err)
		}
		return 0, errors.NewNotValid(nil, fmt.Sprintf("the archive's hash is %s, not %s", got, sha))
	}
	return size, nil
}

// storeChunk writes a chunk unless it is there, and says whether it has.
func (m *Model) storeChunk(ctx context.Context, key string, part []byte) (isNew bool, err error) {
	_, err = m.store.Update(ctx, func(tx store.Tx) error {
		_, err := tx.Get(key)
		if isNew = errors.Is(err, errors.NotFound); !isNew {
			return errors.Trace(err)
		}
		return tx.Put(key, part)
	})
	return isNew, errors.Trace(err)
}

func (m *Model) deleteChunks(ctx context.Context, keys []string) error {
	for _, key := range keys {
		if _, err := m.store.Update(ctx, func(tx store.Tx) error { return tx.Delete(key) }); err != nil {
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

// CharmContent writes the charm's archive to w. The error is NotValid if its
// hash isn't the one it was stored with.
func (m *Model) CharmContent(ctx context.Context, url string, w io.Writer) error {
	doc, err := m.Charm(ctx, url)
	if err != nil {
		return errors.Trace(err)
	}
	sum := sha256.New()
	out := io.MultiWriter(w, sum)
	after, done := "", false
	for !done {
		var page []store.KV
		_, err := m.store.View(ctx, func(r store.Reader) (err error) {
			page, err = r.Page(blobPrefix(doc.SHA256), after, 8)
			return errors.Trace(err)
		})
		if err != nil {
			return errors.Annotatef(err, "cannot read charm %s", url)
		}
		for _, kv := range page {
			if _, err := io.Copy(out, bytes.NewReader(kv.Value)); err != nil {
				return errors.Annotatef(err, "cannot read charm %s", url)
			}
			after = kv.Key
		}
		done = len(page) == 0
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != doc.SHA256 {
		return errors.NewNotValid(nil, fmt.Sprintf("the hash of charm %s is %s, not %s", url, got, doc.SHA256))
	}
	return nil
}
