package model

import (
	"slices"
	"strings"
)

// Role is the part that an endpoint plays in its relations.
type Role string

// The roles. A provider relates to a requirer; a peer to its own application.
const (
	Provider Role = "provider"
	Requirer Role = "requirer"
	Peer     Role = "peer"
)

// Counterpart is the role of the other side.
func (r Role) Counterpart() Role {
	switch r {
	case Provider:
		return Requirer
	case Requirer:
		return Provider
	}
	return Peer
}

// Scope says who is in a relation with whom: everybody (global), or only the
// units below one principal (container; seed 004, "scope").
type Scope string

// The scopes.
const (
	Global    Scope = "global"
	Container Scope = "container"
)

// JujuInfo is the endpoint that every application provides without saying so,
// with the interface of the same name.
const JujuInfo = "juju-info"

// Reserved says whether the name of an endpoint or of an interface is Juju's own: charms may require such, and
// provide none.
func Reserved(name string) bool { return name == "juju" || strings.HasPrefix(name, "juju-") }

// Endpoint is one application's end of a relation, as its charm declares it.
type Endpoint struct {
	Application string `json:"application"`
	Name        string `json:"name"`
	Role        Role   `json:"role"`
	Interface   string `json:"interface"`
	Scope       Scope  `json:"scope"`
	Limit       int    `json:"limit,omitempty"`
	Optional    bool   `json:"optional,omitempty"`
}

// String is "application:name".
func (e Endpoint) String() string { return e.Application + ":" + e.Name }

// Same says whether it is that endpoint of the same application with another charm: what it
// is to relations. Scope, limit and whether it is optional may differ.
func (e Endpoint) Same(other Endpoint) bool {
	return e.Name == other.Name && e.Role == other.Role && e.Interface == other.Interface
}

// Implicit says whether the endpoint is the one that is there without being
// declared. No relation-created hook runs for it.
func (e Endpoint) Implicit() bool {
	return e.Name == JujuInfo && e.Interface == JujuInfo && e.Role == Provider
}

// CanRelate says whether a relation between the two endpoints makes sense:
// the same interface, and roles that answer each other. Peers relate to
// nobody: their relation is made with their application.
func (e Endpoint) CanRelate(o Endpoint) bool {
	return e.Application != o.Application && e.Interface == o.Interface &&
		e.Role != Peer && e.Role.Counterpart() == o.Role
}

// RelationKey names a relation by its endpoints, requirer first: the form in
// which people read it, and unique among the relations of a model.
func RelationKey(endpoints []Endpoint) string {
	eps := slices.Clone(endpoints)
	rank := func(r Role) int { return map[Role]int{Requirer: 0, Provider: 1, Peer: 2}[r] }
	slices.SortFunc(eps, func(a, b Endpoint) int {
		if a.Role != b.Role {
			return rank(a.Role) - rank(b.Role)
		}
		return strings.Compare(a.String(), b.String())
	})
	names := make([]string, len(eps))
	for i, e := range eps {
		names[i] = e.String()
	}
	return strings.Join(names, " ")
}
