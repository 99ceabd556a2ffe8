package state

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Each document is stored with a checksum, so that one that was damaged at rest
// is never taken for what somebody has written. It stands after the document's
// JSON, as white space: 32 blanks and tabs, the bits of a CRC-32C of the key and
// the JSON, the highest one first. So who reads the JSON by other means reads it
// as ever, be it an object, a list or a number, and a damaged checksum can't look
// like none: it has another length, or what it has become is no JSON.
//
// A document without one is of format 1, and gets it when it is written next. The
// parts of charms and resources have none: they are found, and compared, by their
// SHA-256.

// ErrDocumentDamaged marks the errors of documents that were damaged where they
// are stored.
const ErrDocumentDamaged = errors.ConstError("document is damaged")

const (
	// sumLength is the length of a checksum in bytes: one for each bit.
	sumLength = 32
	// sumBits are what a bit is written as.
	sumBits = " \t"
	// blobs is the prefix of the keys of what is no document.
	blobs = "blob/"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(key string, value []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(key+"\x00"), castagnoli), castagnoli, value)
}

// withSum is a document as it is stored.
func withSum(key string, value []byte) []byte {
	out := make([]byte, len(value), len(value)+sumLength)
	copy(out, value)
	for crc, bit := sum(key, value), sumLength-1; bit >= 0; bit-- {
		out = append(out, sumBits[crc>>bit&1])
	}
	return out
}

// withoutSum is a document as it was written; ok says whether it is undamaged.
func withoutSum(key string, stored []byte) (value []byte, ok bool) {
	value = bytes.TrimRight(stored, " \t\r\n") // all that JSON has of white space
	n := len(value)
	value = value[:n:n]
	switch len(stored) - n {
	case 0:
		return value, json.Valid(value)
	case sumLength:
		crc := uint32(0)
		for _, b := range stored[n:] {
			switch crc <<= 1; b {
			case sumBits[1]:
				crc++
			case sumBits[0]:
			default:
				return value, false
			}
		}
		return value, crc == sum(key, value)
	}
	return value, false
}

// checked is a store whose documents carry checksums.
type checked struct{ store.Store }

// View is part of store.Store.
func (c checked) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	return c.Store.View(ctx, func(r store.Reader) error { return fn(checkedReader{r}) })
}

// Update is part of store.Store.
func (c checked) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	return c.Store.Update(ctx, func(tx store.Tx) error { return fn(checkedTx{checkedReader{tx}, tx}) }, opts...)
}

// checkedReader verifies the checksums of what it reads, and takes them off.
type checkedReader struct{ store.Reader }

// Get is part of store.Reader.
func (r checkedReader) Get(key string) (store.KV, error) {
	kv, err := r.Reader.Get(key)
	if err == nil {
		err = r.check(&kv)
	}
	return kv, err
}

// List is part of store.Reader.
func (r checkedReader) List(prefix string) ([]store.KV, error) {
	kvs, err := r.Reader.List(prefix)
	return r.checkAll(kvs, err)
}

// Page is part of store.Reader.
func (r checkedReader) Page(prefix, after string, limit int) ([]store.KV, error) {
	kvs, err := r.Reader.Page(prefix, after, limit)
	return r.checkAll(kvs, err)
}

// Since is part of store.Reader.
func (r checkedReader) Since(prefix string, rev int64) ([]store.KV, error) {
	kvs, err := r.Reader.Since(prefix, rev)
	return r.checkAll(kvs, err)
}

func (r checkedReader) checkAll(kvs []store.KV, err error) ([]store.KV, error) {
	for i := 0; err == nil && i < len(kvs); i++ {
		err = r.check(&kvs[i])
	}
	return kvs, err
}

func (r checkedReader) check(kv *store.KV) error {
	if strings.HasPrefix(kv.Key, blobs) {
		return nil
	}
	value, ok := withoutSum(kv.Key, kv.Value)
	if !ok {
		return damaged(documentName(r.Reader, kv.Key))
	}
	kv.Value = value
	return nil
}

// damaged is the error of a document that was damaged.
func damaged(name string) error {
	return errors.WithType(errors.Errorf(`%s is damaged in the store: "unitd store check" says what else is, and what can be recovered`, name), ErrDocumentDamaged)
}

// documentName is what people call the document at a key.
func documentName(r store.Reader, key string) string {
	if name, ok := strings.CutPrefix(key, modelsPrefix); ok {
		return fmt.Sprintf("the document of model %q", name)
	}
	rest, ok := strings.CutPrefix(key, "m/")
	uuid, rest := splitKey(rest)
	if !ok {
		return "document " + key
	}
	name := uuid
	// That which can't be read is no other one's name.
	kvs, _ := r.List(modelsPrefix)
	for _, kv := range kvs {
		var info ModelInfo
		value, ok := withoutSum(kv.Key, kv.Value)
		if ok && json.Unmarshal(value, &info) == nil && info.UUID == uuid {
			name = info.Name
		}
	}
	return fmt.Sprintf("document %s of model %q", rest, name)
}

// checkedTx writes documents with their checksums.
type checkedTx struct {
	checkedReader
	tx store.Tx
}

// Put is part of store.Tx.
func (t checkedTx) Put(key string, value []byte) error { return t.tx.Put(key, stored(key, value)) }

// PutLease is part of store.Tx.
func (t checkedTx) PutLease(key string, value []byte, lease store.LeaseID) error {
	return t.tx.PutLease(key, stored(key, value), lease)
}

// Delete is part of store.Tx.
func (t checkedTx) Delete(key string) error { return t.tx.Delete(key) }

func stored(key string, value []byte) []byte {
	if strings.HasPrefix(key, blobs) {
		return value
	}
	return withSum(key, value)
}
