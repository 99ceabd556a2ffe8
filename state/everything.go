package state

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// Everything says what is in a store at one revision: all its models, and what is
// beside them.
type Everything struct {
	Rev    int64       `json:"revision"`
	Models []ModelInfo `json:"models"`
	// Units are those of all models. They are no part of what is written.
	Units []UnitAt `json:"-"`
	// Documents counts what was written, and Digest is of it.
	Documents int    `json:"documents"`
	Digest    string `json:"digest"`
}

// UnitAt is a unit at that revision.
type UnitAt struct {
	Model string // the UUID
	Name  model.UnitName
	ID    string
	// Run is the stamp: the newest run that has committed.
	Run int64
	// Charm is the URL of the charm that its agent has told that it has.
	Charm string
	// Machine and Provider are as in UnitDoc.
	Machine, Provider string
	Isolated          bool
}

// WriteEverything writes all that the store has at one revision, for
// Restoration.Read: each line of JSON is one Write. at is called first, with what
// there is, as soon as the revision is settled: what a caller reads elsewhere then is
// later than it, and what it has read before is earlier.
//
// Secrets stay sealed. What is only about agents that run isn't in it, as in an
// exported model; which agent manages the models is.
func (c *Controller) WriteEverything(ctx context.Context, w io.Writer, at func(Everything) error) (Everything, error) {
	var all Everything
	begun := false
	_, err := c.store.View(ctx, func(r store.Reader) (err error) {
		if begun {
			return errors.New("the store has begun to be read twice")
		}
		begun = true
		if all, err = c.everything(r); err != nil {
			return errors.Trace(err)
		}
		if err := at(all); err != nil {
			return errors.Trace(err)
		}
		writes, err := writesBelow(r, "", passing)
		if err != nil {
			return errors.Trace(err)
		}
		var digest contentDigest
		lines := json.NewEncoder(w)
		for len(writes) > 0 {
			n := slices.IndexFunc(writes, func(w written) bool { return w.rev != writes[0].rev })
			if n < 0 {
				n = len(writes)
			}
			group, err := groupOf(pageReader{r}, "", writes[:n], &digest)
			if err != nil {
				return errors.Trace(err)
			}
			if err := lines.Encode(group); err != nil {
				return errors.Trace(err)
			}
			writes = writes[n:]
		}
		trailer := digest.trailer()
		all.Documents, all.Digest = trailer.Documents, trailer.Digest
		return errors.Trace(lines.Encode(exportGroup{exportTrailer: trailer}))
	})
	return all, errors.Annotate(err, "cannot read the store")
}

// passing says which keys of a store aren't kept in a copy of it: what hangs on
// agents that run, and the marks of a restoration.
func passing(key string) bool {
	if key == restoringKey || key == restoredKey {
		return true
	}
	rest, ok := strings.CutPrefix(key, "m/")
	_, rest = splitKey(rest)
	return ok && (ofRunning(rest) || rest == restoredKey)
}

// everything lists what there is.
func (c *Controller) everything(r store.Reader) (Everything, error) {
	all := Everything{Rev: r.Rev()}
	kvs, err := r.List(modelsPrefix)
	if err != nil {
		return all, errors.Trace(err)
	}
	if all.Models, err = decode[ModelInfo](kvs); err != nil {
		return all, errors.Trace(err)
	}
	for _, info := range all.Models {
		d := docs{r, c.open(info)}
		apps, err := list[ApplicationDoc](d, "app/")
		if err != nil {
			return all, errors.Trace(err)
		}
		units, err := list[UnitDoc](d, "unit/")
		if err != nil {
			return all, errors.Trace(err)
		}
		for _, u := range units {
			in := u.Name
			if u.Principal != "" {
				in = u.Principal
			}
			isolated := slices.ContainsFunc(apps, func(a ApplicationDoc) bool { return a.Name == in.Application() && a.Isolation.On() })
			all.Units = append(all.Units, UnitAt{info.UUID, u.Name, u.ID, u.Run, u.Charm, u.Machine, u.Provider, isolated})
		}
	}
	return all, nil
}

// pageReader reads single keys as pages of one, which no engine keeps: a whole store
// needn't fit into memory.
type pageReader struct{ store.Reader }

// Get is part of store.Reader.
func (r pageReader) Get(key string) (store.KV, error) {
	page, err := r.Page(key, "", 1)
	if err == nil && (len(page) == 0 || page[0].Key != key) {
		err = errors.NotFoundf("key %q", key)
	}
	if err != nil {
		return store.KV{}, errors.Trace(err)
	}
	return page[0], nil
}
