package resolver

import (
	"slices"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/relation"
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
	// Members and Application are, for the hook of a relation, the versions of
	// what it may read there: as in relation.Snapshot.
	Members     []relation.Member `json:"members,omitempty"`
	Application int               `json:"application,omitempty"`
}

// basisOf is what a run of the hook is begun on now.
func basisOf(h hooks.Info, l Local, r Remote) Basis {
	b := Basis{Charm: l.Charm, Settings: r.Settings}
	if h.IsRelation() {
		snap, _ := r.relation(h.RelationID)
		b.Members, b.Application = slices.Clone(snap.Members), snap.Application
	}
	return b
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
	case b.Application != now.Application || !slices.Equal(b.Members, now.Members):
		return "relation"
	}
	return ""
}
