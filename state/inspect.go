package state

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Inspection is what Inspect has found in a store.
type Inspection struct {
	// Models are those that there are documents of, by name.
	Models []InspectedModel
	// Documents counts the documents of all models, and Former those that have no
	// checksum yet.
	Documents, Former int
	// Damaged are the documents that belong to no model.
	Damaged []DamagedDocument
	// Files counts the files of charms and resources; DamagedFiles are the SHA-256
	// of those that are damaged, or that aren't whole.
	Files        int
	DamagedFiles []string
	// Impossible are the keys in the store with revisions that can't be: agents
	// would see what is there again and again, or never.
	Impossible []ImpossibleRevision
}

// ImpossibleRevision is a key that was written, or made, at a revision that the store
// hasn't had.
type ImpossibleRevision struct {
	Key string
	// Rev is when it is said to have been written, CreateRev when it was made, and At
	// the revision of the store.
	Rev, CreateRev, At int64
}

// InspectedModel is a model with what is damaged of it.
type InspectedModel struct {
	Info ModelInfo
	// Guessed: its own document is damaged or missing, so the name was made up.
	Guessed   bool
	Documents int
	Damaged   []DamagedDocument
}

// DamagedDocument is a document that was damaged.
type DamagedDocument struct {
	// Key is where it is in its model, "config/shop"; of one of no model it is the
	// store's key.
	Key string
	// Value is what there is in its place.
	Value []byte
}

// Whole says whether nothing is damaged.
func (i *Inspection) Whole() bool {
	return len(i.Damaged)+len(i.DamagedFiles)+len(i.Impossible) == 0 && !slices.ContainsFunc(i.Models, func(m InspectedModel) bool { return m.Guessed || len(m.Damaged) > 0 })
}

// Inspect reads a whole store, and verifies the checksum of each document, the
// hash of each file, and the revision of each key. Errors are the store's own.
func Inspect(ctx context.Context, s Source) (*Inspection, error) {
	var i *inspector
	_, err := s.View(ctx, func(r store.Reader) error {
		i = &inspector{models: map[string]*InspectedModel{}}
		for after := ""; ; {
			page, err := r.Page("", after, 20)
			if err != nil {
				return errors.Trace(err)
			}
			if len(page) == 0 {
				i.file("")
				return nil
			}
			after = page[len(page)-1].Key
			for _, kv := range page {
				if at := r.Rev(); kv.CreateRev < 1 || kv.Rev < kv.CreateRev || kv.Rev > at {
					i.Impossible = append(i.Impossible, ImpossibleRevision{kv.Key, kv.Rev, kv.CreateRev, at})
				}
				i.look(kv)
			}
		}
	})
	if err != nil {
		return nil, errors.Annotate(err, "cannot check the store")
	}
	return i.result(), nil
}

type inspector struct {
	Inspection
	models map[string]*InspectedModel // by UUID
	infos  []ModelInfo
	// sha is the file whose parts are being read, and sum what they come to.
	sha string
	sum hash.Hash
}

// look is given the keys in their order.
func (i *inspector) look(kv store.KV) {
	if rest, ok := strings.CutPrefix(kv.Key, blobs); ok {
		sha, _ := splitKey(rest)
		i.file(sha)
		_, _ = i.sum.Write(kv.Value)
		return
	}
	value, ok := withoutSum(kv.Key, kv.Value)
	i.Documents++
	if ok && len(value) == len(kv.Value) {
		i.Former++
	}
	rest, ofModel := strings.CutPrefix(kv.Key, "m/")
	uuid, key := splitKey(rest)
	if !ofModel {
		var info ModelInfo
		switch {
		case !ok:
			i.Damaged = append(i.Damaged, DamagedDocument{kv.Key, kv.Value})
		case strings.HasPrefix(kv.Key, modelsPrefix) && json.Unmarshal(value, &info) == nil:
			i.infos = append(i.infos, info)
		}
		return
	}
	m := i.models[uuid]
	if m == nil {
		m = &InspectedModel{Info: ModelInfo{Name: "model-" + uuid[:min(8, len(uuid))], UUID: uuid}, Guessed: true}
		i.models[uuid] = m
	}
	m.Documents++
	if !ok {
		m.Damaged = append(m.Damaged, DamagedDocument{key, kv.Value})
	}
}

// file ends the file whose parts were being read, if sha is another one's.
func (i *inspector) file(sha string) {
	if sha == i.sha {
		return
	}
	if i.sha != "" && hex.EncodeToString(i.sum.Sum(nil)) != i.sha {
		i.DamagedFiles = append(i.DamagedFiles, i.sha)
	}
	if i.sha, i.sum = sha, sha256.New(); sha != "" {
		i.Files++
	}
}

func (i *inspector) result() *Inspection {
	for _, info := range i.infos {
		m := i.models[info.UUID]
		if m == nil {
			m = &InspectedModel{}
			i.models[info.UUID] = m
		}
		m.Info, m.Guessed = info, false
	}
	for _, m := range i.models {
		i.Models = append(i.Models, *m)
	}
	slices.SortFunc(i.Models, func(a, b InspectedModel) int { return cmp.Compare(a.Info.Name, b.Info.Name) })
	return &i.Inspection
}
