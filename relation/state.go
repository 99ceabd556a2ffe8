package relation

import (
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// State is what a unit was told of one relation by the hooks that committed
// (or were skipped). The zero value, with ID and Endpoint, is a relation whose
// scope the unit has entered and of which it was told nothing.
type State struct {
	ID        model.RelationID `json:"id"`
	Endpoint  string           `json:"endpoint"`
	RemoteApp string           `json:"remote-app"`
	Peer      bool             `json:"peer,omitempty"`
	// Created: relation-created has run, or isn't due (implicit endpoints).
	Created bool `json:"created,omitempty"`
	// Members are the remote units whose joined has run and whose departed has
	// not, each with the version of its settings that was last told.
	Members map[model.UnitName]int `json:"members,omitempty"`
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
	Peer      bool
	// Implicit: the local endpoint is the juju-info that nobody declared; no
	// created hook runs for it.
	Implicit bool
	// Live: the relation is Alive and not suspended.
	Live bool
	// InScope: the model has the unit in the relation's scope.
	InScope bool
	// NotYet: the model doesn't let the unit into the scope as long as a former
	// subordinate of it is going.
	NotYet bool
	// Members are the remote units in scope that this unit may see, with the
	// versions of their settings, sorted by model.CompareUnits.
	Members []Member
	// Application is the version of the remote application's settings.
	Application int
}

// Member is a unit in scope with the version of its settings, from 1 up.
type Member struct {
	Unit    model.UnitName
	Version int
}

// Version is the version of the unit's settings, and whether it is a member.
func (s Snapshot) Version(unit model.UnitName) (int, bool) {
	i, ok := slices.BinarySearchFunc(s.Members, unit, func(m Member, u model.UnitName) int {
		return model.CompareUnits(m.Unit, u)
	})
	if !ok {
		return 0, false
	}
	return s.Members[i].Version, true
}

// New is the state of a unit that has just entered the scope.
func New(s Snapshot) State {
	return State{ID: s.ID, Endpoint: s.Endpoint, RemoteApp: s.RemoteApp, Peer: s.Peer, Created: s.Implicit}
}

// With is the state of a unit that has been told of all these members, and of
// their settings.
func (s State) With(members []Member) State {
	s.Members = make(map[model.UnitName]int, len(members))
	for _, m := range members {
		s.Members[m.Unit] = m.Version
	}
	return s
}

// Clone is a copy that shares nothing.
func (s State) Clone() State {
	s.Members = maps.Clone(s.Members)
	return s
}

// Units are the members in the order of model.CompareUnits.
func (s State) Units() []model.UnitName {
	return slices.SortedFunc(maps.Keys(s.Members), model.CompareUnits)
}

// Validate says why the hook may not follow this state; nil if it may.
func (s State) Validate(h hooks.Info) error {
	if h.RelationID != s.ID {
		return errors.NotValidf("%s in relation %d", h, s.ID)
	}
	_, member := s.Members[h.RemoteUnit]
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
// see to. s is not changed.
func (s State) After(h hooks.Info) State {
	s = s.Clone()
	if s.Members == nil {
		s.Members = map[model.UnitName]int{}
	}
	switch h.Kind {
	case hooks.RelationCreated:
		s.Created = true
	case hooks.RelationJoined:
		s.Members[h.RemoteUnit] = h.Version
		s.Owed = h.RemoteUnit
	case hooks.RelationChanged:
		if h.RemoteUnit == "" {
			s.Application = h.Version
			break
		}
		s.Members[h.RemoteUnit] = h.Version
		if s.Owed == h.RemoteUnit {
			s.Owed = ""
		}
	case hooks.RelationDeparted:
		delete(s.Members, h.RemoteUnit)
	}
	return s
}

// During is what a hook sees as members while it runs: a joining unit is one
// already, a departing unit no longer (spec/hook-tools.md §4).
func (s State) During(h hooks.Info) []model.UnitName {
	if h.IsRelation() && h.RelationID == s.ID {
		switch h.Kind {
		case hooks.RelationJoined, hooks.RelationDeparted:
			s = s.After(h)
		}
	}
	return s.Units()
}
