package resolver

import (
	"fmt"
	"hash/fnv"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// Basis is what a run was begun on, as far as its hook may go another way if it
// differs. While a failed hook waits for its retry, a difference is a reason
// not to wait any longer. The zero value, of a run that an older unitd began,
// differs from nothing.
type Basis struct {
	// Charm is the URL of the charm that was deployed.
	Charm string `json:"charm,omitempty"`
	// Settings is Remote.Settings.
	Settings string `json:"settings,omitempty"`
	// Relation stands, for the hook of a relation, for the versions of what it may
	// read there; a hash, as there may be many members and each run is journalled.
	Relation string `json:"relation,omitempty"`
}

// basisOf is what a run of the hook is begun on now.
func basisOf(h hooks.Info, l Local, r Remote) Basis {
	b := Basis{Charm: l.Charm, Settings: r.Settings}
	if h.IsRelation() {
		snap, _ := r.relation(h.RelationID)
		b.Relation = fmt.Sprintf("%d/%x", snap.Application, hashOf(snap.Members))
	}
	return b
}

func hashOf(members model.Members) uint64 {
	sum := fnv.New64a()
	for _, m := range members {
		sum.Write([]byte(m.Unit))
		v := m.Version
		sum.Write([]byte{0, byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)})
	}
	return sum.Sum64()
}

// changed says what is different now, in words; empty: nothing.
func (b Basis) changed(now Basis) string {
	switch {
	case b.Charm == "":
		return ""
	case b.Charm != now.Charm:
		return "charm"
	case b.Settings != now.Settings:
		return "configuration"
	case b.Relation != now.Relation:
		return "relation"
	}
	return ""
}
