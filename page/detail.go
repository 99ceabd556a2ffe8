package page

import (
	"cmp"
	"slices"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/why"
)

// Detail is what a page shows of the one unit that somebody looks at.
type Detail struct {
	Unit string `json:"unit"`
	// Why says what holds it up.
	Why       string     `json:"why,omitempty"`
	Free      string     `json:"free,omitempty"`
	Relations []Bags     `json:"relations,omitempty"`
	Options   []Option   `json:"options,omitempty"`
	Actions   []Action   `json:"actions,omitempty"`
	Secrets   []Secret   `json:"secrets,omitempty"`
	Storage   []Storage  `json:"storage,omitempty"`
	Deferred  []Deferred `json:"deferred,omitempty"`
	State     []Pair     `json:"state,omitempty"` // what the charm keeps by state-set
}

// Bags are the databags of a relation, as far as the unit's side can be seen: its own,
// and those of the other application and its units.
type Bags struct {
	ID       int    `json:"id"`
	Endpoint string `json:"endpoint"`
	Other    string `json:"other"` // "db:admin"; of a peer relation its own
	InScope  bool   `json:"in-scope"`
	Bags     []Bag  `json:"bags"`
}

// Bag is a databag: whose it is, and what is in it.
type Bag struct {
	Of    string `json:"of"`
	Pairs []Pair `json:"pairs,omitempty"`
}

// Pair is a key and its value.
type Pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Option is an option of the application's configuration. Value is nil where it has none.
type Option struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Value       any    `json:"value"`
	Set         bool   `json:"set,omitempty"` // else it is the default
	Description string `json:"description,omitempty"`
}

// Action is an action of the charm's.
type Action struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Params      map[string]any `json:"params,omitempty"` // their schema
}

// Secret is what is known of a secret but for its content: of the unit or its application, or granted to
// one of them.
type Secret struct {
	ID       string `json:"id"`
	Owner    string `json:"owner"`
	Label    string `json:"label,omitempty"`
	Revision int    `json:"revision"`
	Rotate   string `json:"rotate,omitempty"`
	Updated  int64  `json:"updated,omitempty"`
	Expires  int64  `json:"expires,omitempty"`

	Description string   `json:"description,omitempty"`
	Granted     []string `json:"granted,omitempty"` // the applications and units that may read it
}

// Storage is an instance of storage that the unit has.
type Storage struct {
	ID       string `json:"id"`
	Kind     string `json:"kind,omitempty"`
	Status   string `json:"status"`
	Location string `json:"location,omitempty"`
}

// Deferred is an event that an Ops charm has deferred.
type Deferred struct {
	Event    string `json:"event"`
	Observer string `json:"observer"`
}

// Facts are what a Detail is made of.
type Facts struct {
	Unit *state.UnitDetail
	// Own has what the unit's application has written, by relation.
	Own      map[model.RelationID]model.Settings
	Config   state.ApplicationConfig
	Secrets  []model.SecretInfo // of the whole model
	Storage  []state.StorageView
	Why      why.Answer
	Deferred []Deferred
	State    map[string]string
}

// DetailOf makes a unit's detail.
func DetailOf(f Facts) Detail {
	d := Detail{Unit: string(f.Unit.Name), Why: f.Why.Sentence, Free: f.Why.Free, Deferred: f.Deferred, State: pairs(f.State)}
	for _, r := range f.Unit.Relations {
		d.Relations = append(d.Relations, bagsOf(f, r))
	}
	for name, o := range f.Config.Charm.Charm.Options {
		_, set := f.Config.Set[name]
		d.Options = append(d.Options, Option{Name: name, Type: o.Type, Value: f.Config.Values[name], Set: set, Description: o.Description})
	}
	slices.SortFunc(d.Options, func(a, b Option) int { return cmp.Compare(a.Name, b.Name) })
	for name, a := range f.Config.Charm.Charm.Actions {
		d.Actions = append(d.Actions, Action{Name: name, Description: a.Description, Params: a.Params})
	}
	slices.SortFunc(d.Actions, func(a, b Action) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range f.Secrets {
		if of := secretOf(s); concerns(f.Unit.Name, of) {
			d.Secrets = append(d.Secrets, of)
		}
	}
	for _, v := range f.Storage {
		s := Storage{ID: string(v.ID), Kind: v.Kind, Status: v.Status().Status}
		if v.Attachment != nil {
			s.Location = v.Attachment.Location
		}
		d.Storage = append(d.Storage, s)
	}
	return d
}

// secretOf is what a page tells of a secret.
func secretOf(s model.SecretInfo) Secret {
	latest := s.Latest()
	of := Secret{
		ID: string(s.ID), Owner: s.Owner.Name, Label: s.Label, Revision: latest.Revision, Rotate: string(s.Rotate),
		Updated: ms(s.Updated), Expires: ms(latest.Expires), Description: s.Description,
	}
	if s.Owner.Kind == model.OwnedByModel {
		of.Owner = "the model"
	}
	for _, g := range s.Grants {
		of.Granted = append(of.Granted, g.Target)
	}
	slices.Sort(of.Granted)
	of.Granted = slices.Compact(of.Granted)
	return of
}

// concerns says whether a secret is the unit's or its application's, or one of them may read it.
func concerns(unit model.UnitName, s Secret) bool {
	return slices.ContainsFunc(append([]string{s.Owner}, s.Granted...), func(name string) bool {
		return name == string(unit) || name == unit.Application()
	})
}

func bagsOf(f Facts, r state.UnitRelation) Bags {
	b := Bags{ID: int(r.ID), Endpoint: r.Own.Name, Other: r.Other.String(), InScope: r.InScope}
	b.Bags = append(b.Bags, Bag{Of: string(f.Unit.Name), Pairs: pairs(r.Local)}, Bag{Of: f.Unit.Name.Application(), Pairs: pairs(f.Own[r.ID])})
	if r.Other.Application != f.Unit.Name.Application() {
		b.Bags = append(b.Bags, Bag{Of: r.Other.Application, Pairs: pairs(r.Application)})
	}
	for _, u := range r.Remote {
		b.Bags = append(b.Bags, Bag{Of: string(u.Unit), Pairs: pairs(u.Settings)})
	}
	return b
}

func pairs[M ~map[string]string](m M) []Pair {
	var out []Pair
	for k, v := range m {
		out = append(out, Pair{k, v})
	}
	slices.SortFunc(out, func(a, b Pair) int { return cmp.Compare(a.Key, b.Key) })
	return out
}
