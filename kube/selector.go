package kube

import (
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// requirement is one condition of a label selector.
type requirement struct {
	key, op string // =, !=, in, notin, exists, !, gt, lt
	values  []string
}

// selector is a label selector: all of its requirements hold. The empty one
// selects everything.
type selector []requirement

var (
	labelKey   = pattern.New(`^(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	labelValue = pattern.New(`^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`)
	setForm    = pattern.New(`^(\S+)\s+(in|notin)\s*\(([^()]*)\)$`)
)

// parseSelector reads a label selector. NotValid for what isn't one.
// The form is that of the API's label selectors.
func parseSelector(s string) (selector, error) {
	var sel selector
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	for _, part := range splitOutside(s) {
		r, err := parseRequirement(strings.TrimSpace(part))
		if err != nil {
			return nil, errors.Annotatef(err, "selector %.200q", s)
		}
		sel = append(sel, r)
	}
	return sel, nil
}

// splitOutside splits at the commas that stand outside of parentheses.
func splitOutside(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, s[from:])
}

func parseRequirement(s string) (requirement, error) {
	var r requirement
	if m := setForm.FindStringSubmatch(s); m != nil {
		r = requirement{key: m[1], op: m[2]}
		for _, v := range strings.Split(m[3], ",") {
			r.values = append(r.values, strings.TrimSpace(v))
		}
	} else if key, ok := strings.CutPrefix(s, "!"); ok {
		r = requirement{key: strings.TrimSpace(key), op: "!"}
	} else {
		r = requirement{key: s, op: "exists"}
		for _, op := range []struct{ text, op string }{{"!=", "!="}, {"==", "="}, {"=", "="}, {">", "gt"}, {"<", "lt"}} {
			if key, value, ok := strings.Cut(s, op.text); ok {
				r = requirement{strings.TrimSpace(key), op.op, []string{strings.TrimSpace(value)}}
				break
			}
		}
	}
	if !labelKey.MatchString(r.key) {
		return r, errors.NotValidf("key %q", r.key)
	}
	for _, v := range r.values {
		if !labelValue.MatchString(v) || len(v) > 63 {
			return r, errors.NotValidf("value %.80q", v)
		}
		if _, err := strconv.ParseInt(v, 10, 64); err != nil && (r.op == "gt" || r.op == "lt") {
			return r, errors.NotValidf("number %q", v)
		}
	}
	return r, nil
}

// selects says whether the selector selects something with those labels.
func (sel selector) selects(labels map[string]string) bool {
	return !slices.ContainsFunc(sel, func(r requirement) bool { return !r.holds(labels) })
}

func (r requirement) holds(labels map[string]string) bool {
	value, has := labels[r.key]
	switch r.op {
	case "exists":
		return has
	case "!":
		return !has
	case "=", "in":
		return has && slices.Contains(r.values, value)
	case "!=", "notin":
		return !has || !slices.Contains(r.values, value)
	}
	n, err := strconv.ParseInt(value, 10, 64)
	limit, _ := strconv.ParseInt(r.values[0], 10, 64) // parsing has made sure
	return has && err == nil && (r.op == "gt" && n > limit || r.op == "lt" && n < limit)
}

// fieldRequirement is one condition of a field selector.
type fieldRequirement struct {
	field []string
	not   bool
	value string
}

// selectable are the fields that a field selector may name, beside the name and
// the namespace.
var selectable = map[string][]string{
	"pods":     {"status.phase", "status.podIP", "spec.nodeName"},
	"services": {"spec.type", "spec.clusterIP"},
	"secrets":  {"type"},
}

// parseFields reads a field selector for objects of a kind. NotValid for a field
// that can't be selected by.
func parseFields(plural, s string) ([]fieldRequirement, error) {
	var reqs []fieldRequirement
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		field, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, errors.NotValidf("field selector %.100q", part)
		}
		field, not := strings.CutSuffix(field, "!")
		value = strings.TrimPrefix(value, "=")
		if field != "metadata.name" && field != "metadata.namespace" && !slices.Contains(selectable[plural], field) {
			return nil, errors.NotValidf("field label not supported: %.100s:", field)
		}
		reqs = append(reqs, fieldRequirement{strings.Split(field, "."), not, value})
	}
	return reqs, nil
}

func fieldsSelect(reqs []fieldRequirement, o object) bool {
	return !slices.ContainsFunc(reqs, func(r fieldRequirement) bool { return (textAt(o, r.field...) == r.value) == r.not })
}
