package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// Side is one of two applications that are to be related: "application" or,
// with Endpoint, "application:endpoint".
type Side struct {
	Application string
	Endpoint    string // empty: any that fits
	Charm       Charm
	// Offered are the endpoints of an application of another model, of which these are
	// known alone; nil: it has those of its charm.
	Offered []Endpoint
}

// String is the side as a person writes it.
func (s Side) String() string {
	if s.Endpoint == "" {
		return s.Application
	}
	return s.Application + ":" + s.Endpoint
}

// candidates are the endpoints that the side can mean.
func (s Side) candidates() ([]Endpoint, error) {
	eps := s.Offered
	if eps == nil {
		eps = s.Charm.EndpointsOf(s.Application)
	}
	if s.Endpoint == "" {
		return eps, nil
	}
	for _, e := range eps {
		if e.Name == s.Endpoint {
			return []Endpoint{e}, nil
		}
	}
	return nil, errors.NewNotFound(nil, fmt.Sprintf("application %q has no %q relation", s.Application, s.Endpoint))
}

// MatchEndpoints finds the one pair of endpoints by which two applications can
// be related; the implicit juju-info counts only where nothing else fits. The
// errors are NotFound where nothing fits, and NotValid where several pairs do,
// which lists them. Source for the texts: docs/spec/cli-juju.md §6.
func MatchEndpoints(a, b Side) ([]Endpoint, error) {
	left, err := a.candidates()
	if err != nil {
		return nil, errors.Trace(err)
	}
	right, err := b.candidates()
	if err != nil {
		return nil, errors.Trace(err)
	}
	subordinate := a.Charm.Subordinate || b.Charm.Subordinate
	var explicit, implicit [][]Endpoint
	for _, x := range left {
		for _, y := range right {
			switch {
			case !x.CanRelate(y):
			// A container relation needs a principal and a subordinate.
			case (x.Scope == Container || y.Scope == Container) && !subordinate:
			case x.Implicit() || y.Implicit():
				implicit = append(implicit, []Endpoint{x, y})
			default:
				explicit = append(explicit, []Endpoint{x, y})
			}
		}
	}
	found := explicit
	if len(found) == 0 {
		found = implicit
	}
	switch len(found) {
	case 0:
		return nil, errors.NewNotFound(nil, "no relations found")
	case 1:
		return found[0], nil
	}
	keys := make([]string, len(found))
	for i, eps := range found {
		keys[i] = fmt.Sprintf("%q", RelationKey(eps))
	}
	slices.Sort(keys)
	return nil, errors.NewNotValid(nil, fmt.Sprintf("ambiguous relation: %q could refer to %s", a.String()+" "+b.String(), strings.Join(keys, "; ")))
}
