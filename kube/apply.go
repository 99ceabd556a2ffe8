package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// modelManager is the name under which the model owns what it has derived: it
// is Juju that makes these objects on a cluster.
const modelManager = "juju"

// conflict is one field that an apply would change and another manager owns.
type conflict struct {
	manager string
	path    path
}

// conflictError is an apply that conflicts.
type conflictError []conflict

// Error says each conflict in the words that clients show.
func (c conflictError) Error() string {
	plural := ""
	if len(c) != 1 {
		plural = "s"
	}
	var each []string
	for _, one := range c {
		each = append(each, fmt.Sprintf("conflict with %q: %s", one.manager, one.path))
	}
	return fmt.Sprintf("Apply failed with %d conflict%s: %s", len(c), plural, strings.Join(each, ", "))
}

// leaf is one value that a configuration says something of. The value of an
// item is that it is there.
type leaf struct {
	path  path
	value any
}

// leavesOf has what a configuration says, in order.
func leavesOf(o object) []leaf {
	if len(o) == 0 {
		return nil
	}
	return leaves(nil, "", o)
}

func leaves(p path, field string, v any) []leaf {
	switch v := v.(type) {
	case object:
		if len(v) == 0 {
			break
		}
		var all []leaf
		for _, k := range slices.Sorted(maps.Keys(v)) {
			all = append(all, leaves(p.field(k), k, v[k])...)
		}
		return all
	case list:
		keys, ok := keyed(field, v)
		if !ok || len(v) == 0 {
			break
		}
		var all []leaf
		for i, k := range keys {
			item := p.item(k)
			all = append(all, leaf{item, k.item()})
			all = append(all, leaves(item, "", v[i])...)
		}
		return all
	}
	return []leaf{{p, v}}
}

// keeps says whether the leaf leaves what is there: that an item is there, or an
// object of which nothing more is said.
func (l leaf) keeps(now any) bool {
	said, _ := l.value.(object)
	_, is := now.(object)
	return is && (l.isItem() || said != nil && len(said) == 0)
}

// isItem says whether a leaf says that an item is there.
func (l leaf) isItem() bool { return len(l.path) > 0 && l.path[len(l.path)-1].Item != nil }

// application is one server-side apply.
type application struct {
	manager string
	force   bool
	config  object
	// derived is what the model says of the object, nil for one that a charm
	// has made; current is what it is.
	derived, current object
	// applied has what each manager has applied last. A forced apply takes from
	// others what they have said otherwise.
	applied map[string]object
}

// apply is the object after a server-side apply. What the manager has applied
// before and leaves out now goes, unless another one has it: what the model has
// is again as the model has it. A field that another manager owns and that would
// get another value is a conflictError, unless it is forced.
//
// Those who update, rather than apply, own nothing here; on a cluster they do.
func (a application) apply() (object, error) {
	others := map[string]map[string]any{modelManager: owned(a.derived)}
	for m, config := range a.applied {
		if m != a.manager {
			others[m] = owned(config)
		}
	}
	said := leavesOf(a.config)
	var conflicts conflictError
	for _, l := range said {
		now, there := find(a.current, l.path)
		if l.keeps(now) || !there || equal(now, l.value) {
			continue
		}
		for _, m := range slices.Sorted(maps.Keys(others)) {
			if _, owns := others[m][l.path.String()]; owns {
				conflicts = append(conflicts, conflict{m, l.path})
			}
		}
	}
	if len(conflicts) > 0 && !a.force {
		return nil, errors.Trace(conflicts)
	}
	for _, c := range conflicts {
		if c.manager != modelManager {
			a.applied[c.manager], _ = edited(clone(a.applied[c.manager]), c.path, func(any) any { return nil }).(object)
		}
	}
	result := any(clone(a.current))
	for _, gone := range a.leftOut(said) {
		result = edited(result, gone.path, func(old any) any { return gone.value })
	}
	for _, l := range said {
		result = edited(result, l.path, func(old any) any {
			if l.keeps(old) {
				return old
			}
			return clone(l.value)
		})
	}
	return result.(object), nil
}

// leftOut has what the manager alone has applied before and says nothing of
// now, with what is to be there in its place.
func (a application) leftOut(said []leaf) []leaf {
	kept := map[string]bool{}
	for _, l := range said {
		kept[l.path.String()] = true
	}
	for m, config := range a.applied {
		if m != a.manager {
			for p := range owned(config) {
				kept[p] = true
			}
		}
	}
	var gone []leaf
	for _, l := range leavesOf(a.applied[a.manager]) {
		if said, ok := l.value.(object); kept[l.path.String()] || ok && len(said) == 0 {
			continue // an object of which nothing was said may hold what others say
		}
		derived, has := find(a.derived, l.path)
		if l.isItem() && has {
			continue // its fields are looked at one by one
		}
		gone = append(gone, leaf{l.path, clone(derived)})
	}
	return gone
}

// owned has what a configuration says, by path.
func owned(config object) map[string]any {
	m := map[string]any{}
	for _, l := range leavesOf(config) {
		m[l.path.String()] = l.value
	}
	return m
}
