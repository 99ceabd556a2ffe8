package state

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// importing is a model that is being imported.
type importing struct {
	*Model
	ctx   context.Context
	lines *json.Decoder
	// old and new are the revisions that groups had and have got.
	old, new []int64
}

// ErrIncomplete marks the error of Import for a model of which not everything
// could be read.
const ErrIncomplete = errors.ConstError("model is incomplete")

// Import reads a model that Export has written, from a store on any engine. It
// keeps its name and UUID, so that directories of its units stay theirs. The
// model is seen by nobody before it is whole and has been compared; what an
// import that was broken off has left is cleared away by the next one.
//
// Errors: AlreadyExists for a model of that name or UUID, NotValid for what
// isn't a whole exported model, ErrIncomplete for what ExportReadable has
// written, unless that is taken as it is.
func (c *Controller) Import(ctx context.Context, r io.Reader, incomplete bool) (*Model, error) {
	i := &importing{ctx: ctx, lines: json.NewDecoder(r)}
	var header exportHeader
	if err := i.lines.Decode(&header); err != nil || header.Format == 0 || header.Model.UUID == "" {
		return nil, errors.NewNotValid(nil, "it is no exported model")
	}
	if header.Format > exportFormat {
		return nil, errors.NewNotValid(nil, fmt.Sprintf("it was exported by a newer unitd (format %d, this one knows %d)", header.Format, exportFormat))
	}
	if header.Incomplete && !incomplete {
		what := "files"
		if len(header.Lost) > 0 {
			what = strings.Join(header.Lost[:min(len(header.Lost), 5)], ", ")
		}
		return nil, errors.WithType(errors.Errorf(
			"it isn't the whole model, but what could be read in a damaged store (it lacks %s%s)", what, more(len(header.Lost)-5)), ErrIncomplete)
	}
	infos, err := c.Models(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, info := range infos {
		if info.UUID == header.Model.UUID || info.Name == header.Model.Name {
			return nil, errors.NewAlreadyExists(nil, fmt.Sprintf("there is a model %q (%s) already", info.Name, info.UUID))
		}
	}
	i.Model = c.open(header.Model)
	if err := i.all(); err != nil {
		if clear := i.deleteBelow(context.WithoutCancel(ctx), i.prefix(), "", 0); clear != nil {
			err = errors.Errorf("%v; what there is of it can't be removed: %v", err, clear)
		}
		return nil, errors.Annotatef(err, "cannot import model %q", header.Model.Name)
	}
	return i.Model, nil
}

// more says that there are so many more.
func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// all writes all documents, compares them, and then makes the model one.
func (i *importing) all() error {
	if err := i.deleteBelow(i.ctx, i.prefix(), "", 0); err != nil {
		return errors.Trace(err)
	}
	trailer, err := i.groups()
	if err != nil {
		return errors.Trace(err)
	}
	var stored contentDigest
	_, err = i.view(i.ctx, func(d docs) (err error) {
		stored, err = d.contentOf()
		return errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	if stored.trailer() != trailer {
		return errors.NewNotValid(nil, "it isn't whole, or damaged: what was read doesn't add up to what was exported")
	}
	if err := i.settle(); err != nil {
		return errors.Trace(err)
	}
	if err := i.leaveBehind(); err != nil {
		return errors.Trace(err)
	}
	if err := i.forgetOthers(); err != nil {
		return errors.Trace(err)
	}
	_, err = i.store.Update(i.ctx, func(tx store.Tx) error {
		_, err := tx.Get(modelsPrefix + i.info.Name)
		if err == nil {
			return errors.NewAlreadyExists(nil, fmt.Sprintf("there is a model %q already", i.info.Name))
		}
		if !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
		if err := tx.Delete(goneKey(i.info.UUID)); err != nil {
			return errors.Trace(err)
		}
		return i.logging(tx, func(t *txn) error { return putInfo(t.tx, i.info) })
	})
	return errors.Trace(err)
}

// groups writes what each revision has written, and returns the trailer.
func (i *importing) groups() (exportTrailer, error) {
	for {
		g, err := i.next()
		if err != nil || g.End {
			return g.exportTrailer, errors.Trace(err)
		}
		if g.Blob != "" {
			if _, err := i.storeBlob(i.ctx, g.Blob, &partReader{lines: i.lines}); err != nil {
				return exportTrailer{}, errors.Annotatef(err, "file %s", g.Blob)
			}
			continue
		}
		rev, err := i.store.Update(i.ctx, func(tx store.Tx) error {
			for _, doc := range g.Docs {
				if err := tx.Put(i.prefix()+doc.Key, doc.Value); err != nil {
					return errors.Trace(err)
				}
			}
			return nil
		}, store.Relaxed)
		if err != nil {
			return exportTrailer{}, errors.Trace(err)
		}
		i.old, i.new = append(i.old, g.Rev), append(i.new, rev)
	}
}

// next is the next line.
func (i *importing) next() (g exportGroup, err error) {
	err = i.lines.Decode(&g)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return exportGroup{}, errors.NewNotValid(nil, "it isn't whole: its end is missing")
	}
	if err != nil {
		return exportGroup{}, errors.NewNotValid(nil, "it is damaged: "+err.Error())
	}
	return g, nil
}

// partReader reads a file from its lines.
type partReader struct {
	lines *json.Decoder
	part  []byte
	end   bool
}

// Read is part of io.Reader.
func (r *partReader) Read(b []byte) (int, error) {
	for len(r.part) == 0 && !r.end {
		var g exportGroup
		if err := r.lines.Decode(&g); err != nil {
			return 0, errors.NewNotValid(nil, "it isn't whole: its end is missing")
		}
		r.part, r.end = g.Part, len(g.Part) == 0
	}
	if r.end {
		return 0, io.EOF
	}
	n := copy(b, r.part)
	r.part = r.part[n:]
	return n, nil
}

// settle gives the work in the cleanup queue the revisions of this store.
func (i *importing) settle() error {
	_, err := i.update(i.ctx, func(tx *txn) error {
		kvs, err := tx.List(i.prefix() + "cleanup/")
		if err != nil {
			return errors.Trace(err)
		}
		for _, kv := range kvs {
			var doc cleanupDoc
			if err := json.Unmarshal(kv.Value, &doc); err != nil {
				return errors.Annotatef(err, "document %s", kv.Key)
			}
			if doc.Upto == 0 {
				continue
			}
			doc.Upto = i.at(doc.Upto)
			if err := tx.put(kv.Key[len(i.prefix()):], doc); err != nil {
				return errors.Trace(err)
			}
		}
		return nil
	})
	return errors.Trace(err)
}

// leaveBehind has those leave the relations across models that are Dying whose model isn't in
// this store: of their agents none would.
func (i *importing) leaveBehind() error {
	var rels []RelationDoc
	_, err := i.view(i.ctx, func(d docs) (err error) {
		rels, err = list[RelationDoc](d, "relation/")
		return errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	for _, r := range rels {
		if r.Across != nil && r.Across.External {
			if r, err = i.cutOff(r); err != nil {
				return errors.Trace(err)
			}
		}
		if r.Life == model.Alive || r.Across == nil {
			continue
		}
		if _, err := i.update(i.ctx, func(tx *txn) error { return tx.strangersLeave(r) }); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// cutOff has a half of a relation with a model of another store be one whose other half isn't
// there: that may still be the other half of what was exported, and is of one model alone.
func (i *importing) cutOff(r RelationDoc) (RelationDoc, error) {
	r.Across.External = false
	_, err := i.update(i.ctx, func(tx *txn) error { return tx.put(relationKey(r.ID), r) })
	return r, errors.Trace(err)
}

// forgetOthers has the model know of no model of another store.
func (i *importing) forgetOthers() error {
	_, err := i.update(i.ctx, func(tx *txn) error {
		others, err := list[ExternalDoc](tx.docs, externalPrefix)
		if err != nil {
			return errors.Trace(err)
		}
		for _, other := range others {
			if err := tx.delete(externalKey(other.Model)); err != nil {
				return errors.Trace(err)
			}
		}
		consumed, err := list[SAASDoc](tx.docs, saasPrefix)
		if err != nil {
			return errors.Trace(err)
		}
		for _, s := range consumed {
			if s.External {
				s.External, s.Seen = false, nil
				if err := tx.put(saasKey(s.Name), s); err != nil {
					return errors.Trace(err)
				}
			}
		}
		return nil
	})
	return errors.Trace(err)
}

// at is the revision here of what had been written up to a revision there; 1,
// before everything, where nothing is left of that.
func (i *importing) at(old int64) int64 {
	n := sort.Search(len(i.old), func(n int) bool { return i.old[n] > old })
	if n == 0 {
		return 1
	}
	return i.new[n-1]
}
