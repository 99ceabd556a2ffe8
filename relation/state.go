package relation

import (
	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// State is what a unit was told of one relation by the hooks that committed
// (or were skipped): a value, of which copies can be made by assignment, as
// nothing that it refers to ever changes. The zero value, with ID and Endpoint, is a relation whose
// scope the unit has entered and of which it was told nothing.
type State struct {
	ID        model.RelationID `json:"id"`
	Endpoint  string           `json:"endpoint"`
	RemoteApp string           `json:"remote-app"`
	Peer      bool             `json:"peer,omitempty"`
	// Created: relation-created has run. Without it the unit was told nothing.
	Created bool `json:"created,omitempty"`
	// Members are the remote units whose joined has run and whose departed has
	// not, each with the version of its settings that was last told.
	Members model.Members `json:"members,omitempty"`
	// Application is the version of the remote application's settings that was
	// last told; 0 is "none".
	Application int `json:"application,omitempty"`
	// Owed is the unit whose changed must follow its joined before anything
	// else of this relation.
	Owed model.UnitName `json:"owed,omitempty"`
}

// Snapshot is what the model says of one relation now.
type Snapshot struct {
	ID        model.RelationID
	Endpoint  string
	RemoteApp string
	// Key names it by its endpoints, "shop:db pg:server".
	Key string
	// RemoteModel is the UUID of the model of RemoteApp; empty: the unit's own.
	RemoteModel string
	Peer        bool
	// Implicit: the local endpoint is the juju-info that nobody declared. The
	// unit is in its scope, and runs no hook for it
	// (docs/spec/uniter-facts.md §5.1).
	Implicit bool
	// Live: the relation is Alive and not suspended.
	Live bool
	// Lenient: it is being removed, and a hook of it that fails is skipped.
	Lenient bool
	// InScope: the model has the unit in the relation's scope.
	InScope bool
	// NotYet: the model doesn't let the unit into the scope as long as a former
	// subordinate of it is going.
	NotYet bool
	// Members are the remote units in scope that this unit may see, with the
	// versions of their settings.
	Members model.Members
	// Application is the version of the remote application's settings.
	Application int
}

// New is the state of a unit that has just entered the scope.
func New(s Snapshot) State {
	return State{ID: s.ID, Endpoint: s.Endpoint, RemoteApp: s.RemoteApp, Peer: s.Peer}
}

// With is the state of a unit that has been told of all these members, and of
// their settings.
func (s State) With(members model.Members) State {
	s.Members = members
	return s
}

// Validate says why the hook may not follow this state; nil if it may.
func (s State) Validate(h hooks.Info) error {
	if h.RelationID != s.ID {
		return errors.NotValidf("%s in relation %d", h, s.ID)
	}
	_, member := s.Members.Version(h.RemoteUnit)
	switch {
	case s.Owed != "" && !(h.Kind == hooks.RelationChanged && h.RemoteUnit == s.Owed):
		return errors.NotValidf("%s while %s is owed its changed", h, s.Owed)
	case h.Kind == hooks.RelationCreated && s.Created:
		return errors.NotValidf("%s a second time", h)
	case h.Kind != hooks.RelationCreated && !s.Created:
		return errors.NotValidf("%s before created", h)
	case h.Kind == hooks.RelationJoined && member:
		return errors.NotValidf("%s of a unit that has joined", h)
	case h.Kind == hooks.RelationDeparted && !member,
		h.Kind == hooks.RelationChanged && h.RemoteUnit != "" && !member:
		return errors.NotValidf("%s of a unit that hasn't joined", h)
	case h.Kind == hooks.RelationBroken && len(s.Members) > 0:
		return errors.NotValidf("%s with %d members", h, len(s.Members))
	}
	return nil
}

// After is the state once the hook has committed, or was skipped. A relation
// whose broken has committed has no state any more; that is the caller's to
// see to.
func (s State) After(h hooks.Info) State {
	switch h.Kind {
	case hooks.RelationCreated:
		s.Created = true
	case hooks.RelationJoined:
		s.Members = s.Members.With(h.RemoteUnit, h.Version)
		s.Owed = h.RemoteUnit
	case hooks.RelationChanged:
		if h.RemoteUnit == "" {
			s.Application = h.Version
			break
		}
		s.Members = s.Members.With(h.RemoteUnit, h.Version)
		if s.Owed == h.RemoteUnit {
			s.Owed = ""
		}
	case hooks.RelationDeparted:
		s.Members = s.Members.Without(h.RemoteUnit)
	}
	return s
}

// During is what a hook sees as members while it runs: a joining unit is one
// already, a departing unit no longer (docs/spec/hook-tools.md §4).
func (s State) During(h hooks.Info) model.Members {
	if h.IsRelation() && h.RelationID == s.ID {
		switch h.Kind {
		case hooks.RelationJoined, hooks.RelationDeparted:
			s = s.After(h)
		}
	}
	return s.Members
}
