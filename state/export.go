package state

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/state/store"
)

// exportFormat is the version of what Export writes. Import reads former ones too,
// whose documents are as those of a store of format 2 and earlier.
const exportFormat = 2

// An exported model is lines of JSON: a header, what each revision wrote of what
// is still there, in their order, the files of charms and resources, which the
// store has by their hashes, and a trailer.
//
// The order is kept since documents are compared by it, as statuses with their
// entity: what was written before is so in the new store, and what was written
// at once is. So a document that was written again after it was made comes
// twice, without its value the first time.
type (
	exportHeader struct {
		Format int       `json:"unitd-model"`
		Model  ModelInfo `json:"model"`
		// Incomplete: it is what could be read in a damaged store; Lost are the keys
		// of documents that couldn't, as far as is known.
		Incomplete bool     `json:"incomplete,omitempty"`
		Lost       []string `json:"lost,omitempty"`
	}
	exportGroup struct {
		Rev  int64       `json:"rev,omitempty"`
		Docs []exportDoc `json:"docs,omitempty"`
		// Blob is the hash of a file that documents refer to; lines with its Parts
		// follow, up to an empty one.
		Blob string `json:"blob,omitempty"`
		Part []byte `json:"part,omitempty"`
		exportTrailer
	}
	exportDoc struct {
		Key   string `json:"key"`
		Value []byte `json:"value,omitempty"` // none: it comes later
		Later bool   `json:"later,omitempty"`
	}
	exportTrailer struct {
		Documents int    `json:"documents,omitempty"`
		Digest    string `json:"digest,omitempty"` // of all keys with their values
		End       bool   `json:"end,omitempty"`
	}
)

// ofAgents says whether a document is about agents that run, who write it anew:
// its leases and marks mean nothing elsewhere.
func ofAgents(key string) bool {
	kind, _ := splitKey(key)
	return kind == managerKey || kind == settledKey || ofRunning(key)
}

// ofRunning is ofAgents without which agents there are beside their leases: the one that
// manages the model, and those that have said that all is settled.
func ofRunning(key string) bool {
	kind, _ := splitKey(key)
	return key == managerAliveKey || slices.Contains([]string{"leader", "presence", markKey, askKey, questionKind, answerKind, newestKind, tracedKey, tunnelKind, keyWishKind, keyGiftKind}, kind)
}

// contentDigest is a digest of documents, in whichever order they come.
type contentDigest struct {
	sum [sha256.Size]byte
	n   int
}

func (c *contentDigest) add(key string, value []byte) {
	h := sha256.New()
	_, _ = io.WriteString(h, key+"\x00")
	_, _ = h.Write(value)
	for i, b := range h.Sum(nil) {
		c.sum[i] ^= b
	}
	c.n++
}

func (c *contentDigest) trailer() exportTrailer {
	return exportTrailer{Documents: c.n, Digest: hex.EncodeToString(c.sum[:]), End: true}
}

// Export writes the whole model as it is at one revision, for Import. Secrets
// stay sealed. What is only about agents that run isn't in it.
func (m *Model) Export(ctx context.Context, w io.Writer) error { return m.export(ctx, w, nil) }

// export is Export; with a header, of what can be read.
func (m *Model) export(ctx context.Context, w io.Writer, readable *exportHeader) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	_, err := m.view(ctx, func(d docs) error {
		header := readable
		if header == nil {
			info, err := readInfo(d, m.info)
			if err != nil {
				return errors.Trace(err)
			}
			header = &exportHeader{Format: exportFormat, Model: info}
		}
		if err := lines.Encode(header); err != nil {
			return errors.Trace(err)
		}
		writes, err := writesBelow(d, d.m.prefix(), func(key string) bool {
			key = strings.TrimPrefix(key, d.m.prefix())
			return ofAgents(key) || slices.Contains(header.Lost, key)
		})
		if err != nil {
			return errors.Trace(err)
		}
		var digest contentDigest
		files := map[string]bool{}
		for len(writes) > 0 {
			n := slices.IndexFunc(writes, func(w written) bool { return w.rev != writes[0].rev })
			if n < 0 {
				n = len(writes)
			}
			group, err := groupOf(d, d.m.prefix(), writes[:n], &digest)
			if err != nil {
				return errors.Trace(err)
			}
			for _, doc := range group.Docs {
				for _, found := range fileOf.Regexp().FindAllSubmatch(doc.Value, -1) {
					files[string(found[1])] = true
				}
			}
			if err := lines.Encode(group); err != nil {
				return errors.Trace(err)
			}
			writes = writes[n:]
		}
		if err := m.exportFiles(ctx, slices.Sorted(maps.Keys(files)), lines, readable != nil); err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(lines.Encode(exportGroup{exportTrailer: digest.trailer()}))
	})
	if err != nil {
		return errors.Annotatef(err, "cannot export model %q", m.info.Name)
	}
	return errors.Annotatef(out.Flush(), "cannot export model %q", m.info.Name)
}

// exportFiles writes files, or those of them that can be read.
func (m *Model) exportFiles(ctx context.Context, files []string, lines *json.Encoder, readable bool) error {
	for _, sha := range files {
		if readable && m.FileContent(ctx, File{SHA256: sha}, io.Discard) != nil {
			continue
		}
		if err := lines.Encode(exportGroup{Blob: sha}); err != nil {
			return errors.Trace(err)
		}
		if err := m.FileContent(ctx, File{SHA256: sha}, partWriter{lines}); err != nil {
			return errors.Annotatef(err, "file %s", sha)
		}
		if err := lines.Encode(exportGroup{}); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// fileOf finds the files that a document refers to.
var fileOf = pattern.New(`"sha256":"([0-9a-f]{64})"`)

// partWriter writes a file as lines.
type partWriter struct{ lines *json.Encoder }

// Write is part of io.Writer.
func (w partWriter) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	return len(b), errors.Trace(w.lines.Encode(exportGroup{Part: b}))
}

// written is that a key was made or last written.
type written struct {
	key  string
	rev  int64
	last bool
}

// writesBelow are the documents below a prefix by when they were made and last
// written, but for those that are skipped.
func writesBelow(r store.Reader, prefix string, skip func(key string) bool) ([]written, error) {
	var out []written
	for after := ""; ; {
		page, err := r.Keys(prefix, after, 1000)
		if err != nil {
			return nil, errors.Trace(err)
		}
		if len(page) == 0 {
			break
		}
		after = page[len(page)-1].Key
		for _, kv := range page {
			if skip(kv.Key) {
				continue
			}
			if kv.CreateRev != kv.Rev {
				out = append(out, written{kv.Key, kv.CreateRev, false})
			}
			out = append(out, written{kv.Key, kv.Rev, true})
		}
	}
	slices.SortStableFunc(out, func(a, b written) int { return cmp.Compare(a.rev, b.rev) })
	return out, nil
}

// groupOf reads what one revision wrote; its keys are without the prefix.
func groupOf(r store.Reader, prefix string, writes []written, digest *contentDigest) (exportGroup, error) {
	g := exportGroup{Rev: writes[0].rev}
	for _, w := range writes {
		doc := exportDoc{Key: strings.TrimPrefix(w.key, prefix), Later: !w.last}
		if w.last {
			kv, err := r.Get(w.key)
			if err != nil {
				return g, errors.Trace(err)
			}
			doc.Value = kv.Value
			digest.add(doc.Key, kv.Value)
		}
		g.Docs = append(g.Docs, doc)
	}
	return g, nil
}

// contentOf is the digest of the documents that a store has of a model.
func (d docs) contentOf() (contentDigest, error) { return contentBelow(d, d.m.prefix(), nil) }

// contentBelow is the digest of what a store has below a prefix; skip, where it is
// set, says of which keys it isn't.
func contentBelow(r store.Reader, prefix string, skip func(key string) bool) (contentDigest, error) {
	var digest contentDigest
	for after := ""; ; {
		page, err := r.Page(prefix, after, 20)
		if err != nil || len(page) == 0 {
			return digest, errors.Trace(err)
		}
		after = page[len(page)-1].Key
		for _, kv := range page {
			if skip == nil || !skip(kv.Key) {
				digest.add(strings.TrimPrefix(kv.Key, prefix), kv.Value)
			}
		}
	}
}
