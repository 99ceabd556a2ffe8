package statetest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// standIn is what stands in a model for an application of another one.
type standIn struct {
	Name      string `json:"name"`
	Model     string `json:"model"`
	Relations int    `json:"relations"`
}

// strange says whether an application of a relation is of another model.
func (c *checker) strange(r state.RelationDoc, application string) bool {
	return r.Across != nil && r.Across.Own != application
}

// acrossDocs: what a model has in common with others counts what there is.
func (c *checker) acrossDocs() {
	saas, standIns, offers, offered := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	for id, r := range c.relations {
		other, across := r.Stranger()
		switch {
		case !across:
		case r.Across.Offering:
			standIns[other.Application]++
			offers[r.Across.OfferID]++
		default:
			saas[other.Application]++
			if _, ok := c.saas[other.Application]; !ok {
				c.bad("relation %d refers to what was consumed as %s, which isn't there", id, other.Application)
			}
		}
	}
	for name, s := range c.saas {
		if s.Relations != saas[name] || s.Life == model.Dead || s.Life == model.Dying && s.Relations == 0 {
			c.bad("what was consumed as %s is %s and counts %d relations, there are %d", name, s.Life, s.Relations, saas[name])
		}
	}
	for name, s := range c.standIns {
		if s.Relations != standIns[name] || s.Relations == 0 {
			c.bad("%s counts %d relations, there are %d", name, s.Relations, standIns[name])
		}
	}
	for name, o := range c.offers {
		offered[o.Application]++
		if o.Relations != offers[o.ID] {
			c.bad("offer %s counts %d relations, there are %d", name, o.Relations, offers[o.ID])
		}
	}
	for name, a := range c.apps {
		if a.Offers != offered[name] {
			c.bad("application %s counts %d offers, there are %d", name, a.Offers, offered[name])
		}
	}
	if len(standIns) != len(c.standIns) {
		c.bad("there are stand-ins %v, and relations with %v", c.standIns, standIns)
	}
}

// PairProblems lists in what the halves of relations across two models of a store disagree:
// each relation has both, and they say the same of who is in scope, of settings, life and
// suspension.
func PairProblems(ctx context.Context, s store.Store, one, two string) ([]string, error) {
	halves := map[string]map[model.RelationID]half{}
	_, err := s.View(ctx, func(r store.Reader) error {
		for _, uuid := range []string{one, two} {
			halves[uuid] = map[model.RelationID]half{}
			if err := loadHalves(r, "m/"+uuid+"/", halves[uuid]); err != nil {
				return errors.Trace(err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, errors.Trace(err)
	}
	var problems []string
	for uuid, all := range halves {
		for id, h := range all {
			other, ok := halves[h.Across.Model][h.Across.Relation]
			switch {
			case !ok:
				problems = append(problems, fmt.Sprintf("relation %d of %s has no other half %d", id, uuid, h.Across.Relation))
			case other.Across.Relation != id || other.Across.Model != uuid:
				problems = append(problems, fmt.Sprintf("relation %d of %s has another half that has another one", id, uuid))
			case other.text() != h.seenAcross():
				problems = append(problems, fmt.Sprintf("relation %d of %s says\n%s\nthe other half\n%s", id, uuid, h.seenAcross(), other.text()))
			}
		}
	}
	return problems, nil
}

// half is one half of a relation across models, with its databags and scope as they are
// stored, by name.
type half struct {
	state.RelationDoc
	docs map[string]string
}

func loadHalves(r store.Reader, prefix string, into map[model.RelationID]half) error {
	kvs, err := r.List(prefix + "relation/")
	if err != nil {
		return errors.Trace(err)
	}
	for _, kv := range kvs {
		h := half{docs: map[string]string{}}
		if err := json.Unmarshal(kv.Value, &h.RelationDoc); err != nil {
			return errors.Trace(err)
		}
		if h.Across == nil {
			continue
		}
		for _, below := range []string{"scope/", "settings/"} {
			docs, err := r.List(fmt.Sprintf("%s%s%d/", prefix, below, h.ID))
			if err != nil {
				return errors.Trace(err)
			}
			for _, doc := range docs {
				key := below + strings.TrimPrefix(doc.Key, fmt.Sprintf("%s%s%d/", prefix, below, h.ID))
				h.docs[key] = strings.TrimSpace(string(doc.Value)) // without its checksum
			}
		}
		into[h.ID] = h
	}
	return nil
}

// text is what the half says, in lines.
func (h half) text() string {
	lines := []string{fmt.Sprintf("%s, suspended %t %q, force %d", h.Life, h.Suspended, h.SuspendedMessage, h.Force)}
	for key, value := range h.docs {
		lines = append(lines, key+" "+value)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// seenAcross is text with the names of the other model.
func (h half) seenAcross() string {
	stranger, _ := h.Stranger()
	named := func(s string) string {
		// By way of a name that is none, as an application may have the same one in both.
		s = strings.NewReplacer("/"+h.Across.Own, "/\x00", `"`+h.Across.Own+`/`, "\"\x00/", "/"+stranger.Application, "/\x01", `"`+stranger.Application+`/`, "\"\x01/").Replace(s)
		return strings.NewReplacer("\x00", h.Across.As, "\x01", h.Across.Theirs).Replace(s)
	}
	translated := half{RelationDoc: h.RelationDoc, docs: map[string]string{}}
	for key, value := range h.docs {
		translated.docs[named(key)] = named(value)
	}
	return translated.text()
}

// Left are the keys of documents that a model still has, but for those of charms and of what
// numbers come next.
func Left(ctx context.Context, s store.Store, uuid string) ([]string, error) {
	c, err := load(ctx, s, uuid)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return slices.DeleteFunc(c.keys, func(key string) bool {
		kind, _ := splitKey(key)
		return kind == "charm" || kind == "sequence"
	}), nil
}
