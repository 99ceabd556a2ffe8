package model

import (
	"encoding/json"
	"iter"
	"slices"
)

// Member is a unit in the scope of a relation with the version of its
// settings, from 1 up.
type Member struct {
	Unit    UnitName
	Version int
}

// Members are units in the scope of a relation, each once, in the order of
// CompareUnits. It is a value that nobody changes: whoever has one may keep it,
// however many there are, and hand it on without a copy. With, Without and
// Apply make others. As JSON it is an object of versions by name.
type Members []Member

func (m Members) find(unit UnitName) (int, bool) {
	return slices.BinarySearchFunc(m, unit, func(m Member, u UnitName) int { return CompareUnits(m.Unit, u) })
}

// Version is the version of the unit's settings, and whether it is a member.
func (m Members) Version(unit UnitName) (int, bool) {
	if i, ok := m.find(unit); ok {
		return m[i].Version, true
	}
	return 0, false
}

// With are the members and the unit, with that version of its settings.
func (m Members) With(unit UnitName, version int) Members {
	return m.Apply(Members{{unit, version}}, nil)
}

// Without are the members but the unit.
func (m Members) Without(unit UnitName) Members { return m.Apply(nil, []UnitName{unit}) }

// Apply are the members without those that are gone, and with those of set,
// which may be in any order. It is nil where none are left.
func (m Members) Apply(set []Member, gone []UnitName) Members {
	out := append(make(Members, 0, len(m)+len(set)), m...)
	for _, unit := range gone {
		if i, ok := out.find(unit); ok {
			out = slices.Delete(out, i, i+1)
		}
	}
	for _, one := range set {
		i, ok := out.find(one.Unit)
		if ok {
			out[i] = one
		} else {
			out = slices.Insert(out, i, one)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// MemberChange is how two Members differ in a unit: the versions of its
// settings, 0 where it is no member.
type MemberChange struct {
	Unit    UnitName
	Was, Is int
}

// Since is how m differs from old, unit by unit in their order. It allocates
// nothing, and compares names only where the two don't go alike.
func (m Members) Since(old Members) iter.Seq[MemberChange] {
	return func(yield func(MemberChange) bool) {
		was, is := old, m
		if len(was) == len(is) && len(is) > 0 && &was[0] == &is[0] {
			return
		}
		for len(was) > 0 || len(is) > 0 {
			var c MemberChange
			switch order := comesFirst(was, is); {
			case order < 0:
				c = MemberChange{was[0].Unit, was[0].Version, 0}
				was = was[1:]
			case order > 0:
				c = MemberChange{is[0].Unit, 0, is[0].Version}
				is = is[1:]
			default:
				c = MemberChange{is[0].Unit, was[0].Version, is[0].Version}
				was, is = was[1:], is[1:]
			}
			if c.Was != c.Is && !yield(c) {
				return
			}
		}
	}
}

// comesFirst says which of two Members, not both empty, begins with the unit
// that comes first; 0: it is the same one.
func comesFirst(a, b Members) int {
	switch {
	case len(b) == 0:
		return -1
	case len(a) == 0:
		return 1
	case a[0].Unit == b[0].Unit:
		return 0
	}
	return CompareUnits(a[0].Unit, b[0].Unit)
}

// Units are the members' names.
func (m Members) Units() []UnitName {
	names := make([]UnitName, len(m))
	for i, one := range m {
		names[i] = one.Unit
	}
	return names
}

// MarshalJSON is part of json.Marshaler.
func (m Members) MarshalJSON() ([]byte, error) {
	versions := make(map[UnitName]int, len(m))
	for _, one := range m {
		versions[one.Unit] = one.Version
	}
	return json.Marshal(versions)
}

// UnmarshalJSON is part of json.Unmarshaler.
func (m *Members) UnmarshalJSON(b []byte) error {
	var versions map[UnitName]int
	if err := json.Unmarshal(b, &versions); err != nil {
		return err
	}
	*m = nil
	for unit, version := range versions {
		*m = append(*m, Member{unit, version})
	}
	m.sort()
	return nil
}

func (m Members) sort() {
	slices.SortFunc(m, func(a, b Member) int { return CompareUnits(a.Unit, b.Unit) })
}
