package kube

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mergeKeys are the lists whose items are known by a field of theirs, and that
// field. All other lists are one value. They are those of the API's types that
// the kinds here have.
var mergeKeys = map[string][]string{
	"containers":                {"name"},
	"initContainers":            {"name"},
	"ephemeralContainers":       {"name"},
	"env":                       {"name"},
	"volumes":                   {"name"},
	"volumeMounts":              {"mountPath"},
	"volumeDevices":             {"devicePath"},
	"imagePullSecrets":          {"name"},
	"hostAliases":               {"ip"},
	"topologySpreadConstraints": {"topologyKey"},
	"ownerReferences":           {"uid"},
	"conditions":                {"type"},
	"secrets":                   {"name"},
	"claims":                    {"name"},
	// A container's ports and a service's: of each the first field that it has.
	"ports": {"containerPort", "port"},
}

// key is what an item of a list is known by. Protocol is that of a port.
type key struct {
	Field    string `json:"field"`
	Value    any    `json:"value"`
	Protocol any    `json:"protocol,omitempty"`
}

// keyOf is the key of an item of the list that the field has; false where items
// of it have none.
func keyOf(field string, item any) (key, bool) {
	o, ok := item.(object)
	if !ok {
		return key{}, false
	}
	for _, f := range mergeKeys[field] {
		switch v := o[f].(type) {
		case string, json.Number:
			k := key{Field: f, Value: v}
			if p, ok := o["protocol"].(string); ok && field == "ports" {
				k.Protocol = p
			}
			return k, true
		}
	}
	return key{}, false
}

func (k key) is(item any) bool {
	o, ok := item.(object)
	if !ok || o[k.Field] != k.Value {
		return false
	}
	if k.Protocol != nil {
		return o["protocol"] == k.Protocol
	}
	return k.Field != "port" && k.Field != "containerPort" || o["protocol"] == nil
}

func (k key) item() object {
	o := object{k.Field: k.Value}
	if k.Protocol != nil {
		o["protocol"] = k.Protocol
	}
	return o
}

func (k key) String() string {
	s := fmt.Sprintf("%s=%s", k.Field, encode(k.Value))
	if k.Protocol != nil {
		s += fmt.Sprintf(",protocol=%s", encode(k.Protocol))
	}
	return "[" + s + "]"
}

// keyed has the keys of a list's items, in order; false for a list that is one
// value, as some items have no key or two have the same.
func keyed(field string, l list) ([]key, bool) {
	if mergeKeys[field] == nil {
		return nil, false
	}
	keys := make([]key, 0, len(l))
	seen := map[key]bool{}
	for _, item := range l {
		k, ok := keyOf(field, item)
		if !ok || seen[k] {
			return nil, false
		}
		seen[k] = true
		keys = append(keys, k)
	}
	return keys, true
}

// step is one step from an object to what is in it: a field, or an item.
type step struct {
	Field string `json:"f,omitempty"`
	Item  *key   `json:"i,omitempty"`
}

type path []step

func (p path) field(name string) path { return append(slices.Clip(p), step{Field: name}) }
func (p path) item(k key) path        { return append(slices.Clip(p), step{Item: &k}) }

// String is the path as it stands in the errors of an apply.
func (p path) String() string {
	var b strings.Builder
	for _, s := range p {
		if s.Item != nil {
			b.WriteString(s.Item.String())
		} else {
			b.WriteString("." + s.Field)
		}
	}
	return b.String()
}

// find is the value at the path.
func find(v any, p path) (any, bool) {
	for _, s := range p {
		if s.Item == nil {
			o, ok := v.(object)
			if !ok {
				return nil, false
			}
			if v, ok = o[s.Field]; !ok {
				return nil, false
			}
			continue
		}
		l, ok := v.(list)
		i := slices.IndexFunc(l, s.Item.is)
		if !ok || i < 0 {
			return nil, false
		}
		v = l[i]
	}
	return v, true
}

// edited is v with what the path leads to put through change, which is handed
// nil where nothing is there and takes it away by returning nil. What is on the
// way is made where it isn't there, unless it would hold nothing.
func edited(v any, p path, change func(any) any) any {
	if len(p) == 0 {
		return change(v)
	}
	s, rest := p[0], p[1:]
	if s.Item == nil {
		o, ok := v.(object)
		if !ok {
			o = object{}
		}
		next := edited(o[s.Field], rest, change)
		if next == nil {
			if !ok {
				return v
			}
			delete(o, s.Field)
			return o
		}
		o[s.Field] = next
		return o
	}
	l, ok := v.(list)
	i := slices.IndexFunc(l, s.Item.is)
	if i >= 0 {
		if next := edited(l[i], rest, change); next != nil {
			l[i] = next
			return l
		}
		return slices.Delete(l, i, i+1)
	}
	next := edited(s.Item.item(), rest, change)
	if next == nil || len(rest) > 0 && change(nil) == nil {
		if !ok {
			return v
		}
		return l
	}
	return append(l, next)
}

// edit is one difference between two objects.
type edit struct {
	Path path `json:"path"`
	// Set is the new value; Order the new order of a list's items. Without
	// either, what is there goes.
	Set   any   `json:"set,omitempty"`
	Order []key `json:"order,omitempty"`
}

// diff has the edits that make to out of from: few, and to what differs alone,
// so that they can be made on a later from as well.
func diff(from, to object) []edit {
	return diffObjects(nil, from, to)
}

func diffObjects(p path, from, to object) []edit {
	var edits []edit
	for _, k := range slices.Sorted(maps.Keys(from)) {
		if _, ok := to[k]; !ok {
			edits = append(edits, edit{Path: p.field(k)})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(to)) {
		edits = append(edits, diffField(p.field(k), k, from[k], to[k])...)
	}
	return edits
}

func diffField(p path, field string, from, to any) []edit {
	if equal(from, to) {
		return nil
	}
	switch to := to.(type) {
	case object:
		if f, ok := from.(object); (ok || from == nil) && len(to) > 0 {
			return diffObjects(p, f, to)
		}
	case list:
		f, ok := from.(list)
		if (!ok && from != nil) || len(to) == 0 {
			break
		}
		fromKeys, fine := keyed(field, f)
		toKeys, also := keyed(field, to)
		if fine && also {
			return diffLists(p, f, to, fromKeys, toKeys)
		}
	}
	return []edit{{Path: p, Set: to}}
}

func diffLists(p path, from, to list, fromKeys, toKeys []key) []edit {
	var edits []edit
	var order []key // of the items once they are edited
	for _, k := range fromKeys {
		if slices.Contains(toKeys, k) {
			order = append(order, k)
		} else {
			edits = append(edits, edit{Path: p.item(k)})
		}
	}
	for i, k := range toKeys {
		before := k.item()
		j := slices.Index(fromKeys, k)
		if j >= 0 {
			before = from[j].(object)
		} else {
			order = append(order, k)
		}
		changes := diffObjects(p.item(k), before, to[i].(object))
		if j < 0 && len(changes) == 0 {
			changes = []edit{{Path: p.item(k), Set: k.item()}}
		}
		edits = append(edits, changes...)
	}
	if !slices.Equal(order, toKeys) {
		edits = append(edits, edit{Path: p, Order: toKeys})
	}
	return edits
}

// patched is a copy of the object with the edits made.
func patched(o object, edits []edit) object {
	v := any(clone(o))
	for _, e := range edits {
		v = edited(v, e.Path, func(old any) any {
			if e.Order != nil {
				l, _ := old.(list)
				if l == nil {
					return nil
				}
				return ordered(l, func(item any) int { return slices.IndexFunc(e.Order, func(k key) bool { return k.is(item) }) })
			}
			return clone(e.Set)
		})
	}
	return v.(object)
}

// ordered puts the items that have a place into the order of their places.
// Those without one (-1) stay where they are.
func ordered(l list, place func(any) int) list {
	var slots []int
	var placed list
	for i, item := range l {
		if place(item) >= 0 {
			slots = append(slots, i)
			placed = append(placed, item)
		}
	}
	slices.SortStableFunc(placed, func(a, b any) int { return cmp.Compare(place(a), place(b)) })
	result := slices.Clone(l)
	for i, slot := range slots {
		result[slot] = placed[i]
	}
	return result
}
