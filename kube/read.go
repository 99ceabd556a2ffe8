package kube

import (
	"maps"
	"net/http"
	"slices"

	"github.com/juju/errors"
)

// get answers with one object.
func get(w http.ResponseWriter, q *request, st state) error {
	h := st.objects[id(q.kind, q.name)]
	if h.object == nil {
		return notFound(q.kind, q.name)
	}
	write(w, http.StatusOK, h.object)
	return nil
}

// filter says which objects a list or a watch is of.
type filter struct {
	kind        kind
	application string // whose secrets
	labels      selector
	fields      []fieldRequirement
	name        string // of the one object; "" for all
}

func parseFilter(q *request, application string) (filter, error) {
	f := filter{kind: q.kind, application: application, name: q.name}
	query := q.URL.Query()
	var err error
	if f.labels, err = parseSelector(query.Get("labelSelector")); err != nil {
		return f, badRequest("unable to parse requirement: %v", err)
	}
	if f.fields, err = parseFields(q.kind.plural, query.Get("fieldSelector")); err != nil {
		return f, badRequest("%v", err)
	}
	return f, nil
}

// takes says whether the object is one of those; none isn't.
func (f filter) takes(h held) bool {
	if h.object == nil || h.kind.plural != f.kind.plural || f.name != "" && textAt(h.object, "metadata", "name") != f.name {
		return false
	}
	if h.kind.plural == "secrets" && h.owner() != f.application {
		return false
	}
	return f.labels.selects(stringsAt(h.object, "metadata", "labels")) && fieldsSelect(f.fields, h.object)
}

// listAll answers with all objects of a kind, in the order of their names. It
// hands all of them on, whatever the limit: a server may.
func listAll(w http.ResponseWriter, q *request, application string, st state) error {
	f, err := parseFilter(q, application)
	if err != nil {
		return errors.Trace(err)
	}
	items := list{}
	for _, key := range slices.Sorted(maps.Keys(st.objects)) {
		if h := st.objects[key]; f.takes(h) {
			items = append(items, h.object)
		}
	}
	write(w, http.StatusOK, object{
		"kind": q.kind.name + "List", "apiVersion": q.kind.apiVersion(), "metadata": object{"resourceVersion": st.version()}, "items": items,
	})
	return nil
}
