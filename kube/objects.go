package kube

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"
)

const (
	// ErrConflict is what Put returns where the record isn't the one that is to
	// be replaced.
	ErrConflict = errors.ConstError("record has changed")
	// ErrTooLarge is what Put returns for a value that the store doesn't take.
	ErrTooLarge = errors.ConstError("record too large")
)

// Record is one document of the store: what charms have written of one object.
// Its key is "plural/name", as "services/web", of printable ASCII; its value is
// this package's business and holds secrets.
type Record struct {
	Key   string
	Value []byte
	// Owner is the application whose charm has written the object first; the record
	// goes with it.
	Owner string
	// Template is, for a stateful set, what its pod template was changed to: another
	// one for other changes, and empty for the model's own. A pod whose unit was
	// started with another one is to be replaced. Nothing has to be kept of it.
	Template string
	// Rev is the revision at which the record was written.
	Rev int64
}

// View is all that is known at one revision of the store.
type View struct {
	Rev     int64
	Model   Model
	Records []Record // in any order
}

// Objects is where the server reads what there is, and keeps what charms write.
// All methods may be called from many goroutines at once.
type Objects interface {
	// View reads the model and all of its records at one time.
	View(ctx context.Context) (View, error)
	// Put writes the record in the place of the one of revision rec.Rev, or of
	// none where that is 0; with a nil value it deletes it. ErrConflict where
	// another one is there, ErrTooLarge for a value over the store's limit.
	Put(ctx context.Context, rec Record) error
	// Watch tells of every revision after from at which something that View reads
	// may have changed, until ctx is done; then the channel is closed. Several
	// may come as one. What the revision brought isn't said: look again.
	Watch(ctx context.Context, from int64) (<-chan int64, error)
}

// document is the value of a record.
type document struct {
	// Owner is the application whose charm wrote the object first.
	Owner string `json:"owner"`
	// Of is the uid of the derived object that Edits are of. Once that is another
	// one, as after a pod has been replaced, they are void. "" for an object that
	// the charm has made.
	Of    string `json:"of,omitempty"`
	Edits []edit `json:"edits,omitempty"`
	// Gone says that the charm has deleted the derived object.
	Gone bool `json:"gone,omitempty"`
	// Object is the one that the charm has made.
	Object object `json:"object,omitempty"`
	// Applied is what each manager has applied last.
	Applied map[string]object `json:"applied,omitempty"`
}

func parseDocument(data []byte) (document, error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var doc document
	return doc, errors.Annotate(d.Decode(&doc), "record")
}

// id is the place of an object, which is also its record's key.
func id(k kind, name string) string { return k.plural + "/" + name }

// held is one object as it is shown.
type held struct {
	kind    kind
	object  object // nil where there is none
	derived object // nil where the model has no such one
	doc     document
	rev     int64 // of the record; 0 where there is none
}

// owner is the application to which the object belongs; "" for the model's own.
func (h held) owner() string {
	if h.derived != nil {
		return textAt(h.derived, "metadata", "labels", labelApp)
	}
	return h.doc.Owner
}

// compose has all objects of the view by id, also those that have a record or
// are derived, and aren't shown.
func compose(v View) (map[string]held, error) {
	all := map[string]held{}
	for _, d := range Derive(v.Model) {
		all[id(d.kind, textAt(d.object, "metadata", "name"))] = held{kind: d.kind, object: d.object, derived: d.object}
	}
	for _, rec := range v.Records {
		plural, _, _ := strings.Cut(rec.Key, "/")
		i := slices.IndexFunc(kinds, func(k kind) bool { return k.plural == plural })
		if i < 0 {
			continue
		}
		doc, err := parseDocument(rec.Value)
		if err != nil {
			return nil, errors.Annotatef(err, "object %s", rec.Key)
		}
		h := all[rec.Key]
		h.kind, h.rev = kinds[i], rec.Rev
		if !doc.stale(h.derived, v.Model) {
			h.doc = doc
			switch {
			case doc.Of == "":
				h.object = doc.Object
			case doc.Gone:
				h.object = nil
			default:
				h.object = patched(h.derived, doc.Edits)
			}
		}
		all[rec.Key] = h
	}
	for key, h := range all {
		if h.kind.plural == "statefulsets" && h.object != nil {
			h.object = cloned(h.object)
			revised(v.Model, h.object)
			all[key] = h
		}
	}
	return all, nil
}

// stale says whether what the record says is of nothing that there is any more.
func (d document) stale(derived object, m Model) bool {
	if d.Of != "" {
		return textAt(derived, "metadata", "uid") != d.Of
	}
	return !slices.ContainsFunc(m.Applications, func(a Application) bool { return a.Name == d.Owner })
}

// Stale has the records that are of nothing that there is any more: of a pod
// that was replaced, or an application that was removed. They aren't shown;
// whoever keeps the store deletes them when convenient.
func Stale(v View) []Record {
	derived := map[string]object{}
	for _, d := range Derive(v.Model) {
		derived[id(d.kind, textAt(d.object, "metadata", "name"))] = d.object
	}
	return slices.DeleteFunc(slices.Clone(v.Records), func(r Record) bool {
		doc, err := parseDocument(r.Value)
		return err == nil && !doc.stale(derived[r.Key], v.Model)
	})
}

// record is the document by which h, of the application, becomes want; with a
// nil value where no record is needed.
func (h held) record(application string, want object, applied map[string]object) (Record, error) {
	name := textAt(want, "metadata", "name")
	if want == nil {
		name = textAt(h.object, "metadata", "name")
	}
	rec := Record{Key: id(h.kind, name), Rev: h.rev}
	doc := document{Owner: application, Applied: maps.Clone(applied)}
	if h.doc.Owner != "" {
		doc.Owner = h.doc.Owner
	}
	rec.Owner = doc.Owner
	if h.derived == nil {
		if want == nil {
			return rec, nil
		}
		doc.Object = want
	} else {
		doc.Of = textAt(h.derived, "metadata", "uid")
		if doc.Gone = want == nil; !doc.Gone {
			want = cloned(want)
			put(want, h.derived["status"], "status") // it is the model's alone
			doc.Edits = diff(h.derived, want)
		}
	}
	if h.kind.plural == "statefulsets" {
		rec.Template = templateEdits(doc.Edits)
	}
	value, err := json.Marshal(doc)
	rec.Value = value
	return rec, errors.Trace(err)
}
