package state

import (
	"strings"

	"github.com/unitd/unitd/model"
)

// Touched says what of a relation a batch of commits has touched, so that those
// units look again that can see it.
type Touched struct {
	// Itself: the relation's document changed, which is for all of its units.
	Itself bool
	// Applications are those whose settings in it changed, Units those that have
	// entered or left, or whose settings changed.
	Applications map[string]bool
	Units        map[model.UnitName]bool
}

// Concerns says whether a unit may have something to do because of it; endpoints are
// the relation's. Who is on one side sees the other side alone, peers see each other:
// as Lookout reads it.
func (t Touched) Concerns(unit model.UnitName, endpoints []model.Endpoint) bool {
	_, other, ok := RelationDoc{Endpoints: endpoints}.Endpoint(unit.Application())
	if !ok {
		return false
	}
	if t.Itself || t.Applications[other.Application] {
		return true
	}
	for u := range t.Units {
		if u.Application() == other.Application && u != unit && (len(endpoints) == 1 || u.Application() != unit.Application()) {
			return true
		}
	}
	return false
}

// touched adds what a key below "relation", "scope" or "settings" is of.
func (c *Change) touched(kind, rest string) {
	id, of, ok := relationIn(rest)
	if !ok {
		return
	}
	t, ok := c.Relations[id]
	if !ok {
		t = &Touched{Applications: map[string]bool{}, Units: map[model.UnitName]bool{}}
		c.Relations[id] = t
	}
	words := strings.Split(of, "/")
	switch {
	case kind == "relation":
		t.Itself = true
	case kind == "settings" && words[0] == "app" && len(words) == 2:
		t.Applications[words[1]] = true
	case len(words) >= 3: // of a unit, which is the last two
		t.Units[model.UnitName(strings.Join(words[len(words)-2:], "/"))] = true
	}
}

// relationIn takes apart what comes after the kind in the key of something in a
// relation: its id, and the rest.
func relationIn(rest string) (id model.RelationID, of string, ok bool) {
	n := 0
	for i := range len(rest) {
		switch c := rest[i]; {
		case c >= '0' && c <= '9':
			n = n*10 + int(c-'0')
		case c == '/' && i > 0:
			return model.RelationID(n), rest[i+1:], true
		default:
			return 0, "", false
		}
	}
	return model.RelationID(n), "", rest != ""
}
