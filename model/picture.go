package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Picture is what a model says at one moment, as far as hooks change it, or people too: two of
// them can be compared. Its facts have no order.
type Picture []Fact

// Fact is one thing that a picture says.
type Fact struct {
	Kind FactKind
	// Of is the unit or application that it is about, "shop/0"; for FactRelation
	// the relation's key.
	Of string
	// Relation is that of a FactRelation or FactBag, NoRelation for any other;
	// Endpoint is that of a FactBag, from the side of Of: "shop:db".
	Relation RelationID
	Endpoint string
	Key      string
	Value    string
}

// FactKind says what a fact is about.
type FactKind string

// The kinds of fact. Of each application, unit and relation there is a fact
// that says that it is there: its key is the kind, its value the thing's life.
const (
	FactApplication    FactKind = "application" // its charm, leader and own status
	FactUnit           FactKind = "unit"        // its charm, status and workload version
	FactRelation       FactKind = "relation"
	FactBag            FactKind = "databag" // one key of a unit's or application's settings in a relation
	FactLeaderSettings FactKind = "leader-settings"
	FactPort           FactKind = "ports"   // an open range; the value is empty
	FactStorage        FactKind = "storage" // an instance that is attached, and how far that has come
	FactState          FactKind = "state"   // one key of what the charm keeps
	FactSecret         FactKind = "secrets" // a secret that is owned, never its content
	FactOption         FactKind = "options" // one option of an application that is set; people change it, no hook does
)

// There is the fact that says that an application, unit or relation is there.
func There(kind FactKind, of string, id RelationID, life Life) Fact {
	return Fact{Kind: kind, Of: of, Relation: id, Key: string(kind), Value: life.String()}
}

// isThere says whether it is such a fact.
func (f Fact) isThere() bool {
	return f.Key == string(f.Kind) && (f.Kind == FactApplication || f.Kind == FactUnit || f.Kind == FactRelation)
}

// Difference is a fact that two pictures don't agree about.
type Difference struct {
	Fact
	// Had and Has say whether the former and the latter picture have the fact;
	// Was is its value in the former, Value that in the latter.
	Had, Has bool
	Was      string
	// Many: there is more than one relation by the endpoint.
	Many bool
}

// Since are the differences between this picture and a former one, sorted by
// what they are about. What belonged to something that is gone is gone with it,
// and no difference of its own.
func (p Picture) Since(former Picture) []Difference {
	now, was := p.values(), former.values()
	var out []Difference
	for f, value := range now.all {
		if old, had := was.all[f]; !had || old != value {
			out = append(out, Difference{Fact: f.with(value), Had: had, Has: true, Was: old})
		}
	}
	for f, old := range was.all {
		if _, has := now.all[f]; !has && (f.isThere() || now.has(f.Of, f.Relation)) {
			out = append(out, Difference{Fact: f, Had: true, Was: old})
		}
	}
	by := map[string]map[RelationID]bool{}
	for _, f := range slices.Concat(former, p) {
		if by[f.Endpoint] == nil {
			by[f.Endpoint] = map[RelationID]bool{}
		}
		by[f.Endpoint][f.Relation] = true
	}
	for i := range out {
		out[i].Many = out[i].Endpoint != "" && len(by[out[i].Endpoint]) > 1
	}
	slices.SortFunc(out, func(a, b Difference) int {
		return cmp.Or(naturally(a.subject(), b.subject()), cmp.Compare(a.rank(), b.rank()), naturally(a.Key, b.Key))
	})
	return out
}

// values are the facts of a picture by what they are but for their values.
type values struct {
	all map[Fact]string
	// things are the applications and units that are there, relations likewise.
	things    map[string]bool
	relations map[RelationID]bool
}

func (p Picture) values() values {
	v := values{all: map[Fact]string{}, things: map[string]bool{}, relations: map[RelationID]bool{NoRelation: true}}
	for _, f := range p {
		v.all[f.with("")] = f.Value
		switch {
		case f.isThere() && f.Kind == FactRelation:
			v.relations[f.Relation] = true
		case f.isThere():
			v.things[f.Of] = true
		}
	}
	return v
}

// has says whether what a fact belongs to is there.
func (v values) has(of string, id RelationID) bool { return v.things[of] && v.relations[id] }

func (f Fact) with(value string) Fact {
	f.Value = value
	return f
}

// rank puts what says that a thing is there before what it has.
func (d Difference) rank() int {
	if d.isThere() {
		return 0
	}
	return 1
}

// subject is the first part of a difference's line.
func (d Difference) subject() string {
	endpoint := d.Endpoint
	if d.Many {
		endpoint += "#" + strconv.Itoa(int(d.Relation))
	}
	switch d.Kind {
	case FactBag:
		return endpoint + " " + d.Of
	case FactLeaderSettings, FactPort, FactStorage, FactState, FactSecret, FactOption:
		return d.Of + " " + string(d.Kind)
	}
	return d.Of
}

// Sign is "+" for what came, "-" for what went, "~" for what has another value.
func (d Difference) Sign() string {
	switch {
	case !d.Had:
		return "+"
	case !d.Has:
		return "-"
	}
	return "~"
}

// String is the difference as one line, "shop:db shop/0  + port: 8080".
func (d Difference) String() string {
	s := fmt.Sprintf("%s  %s %s", d.subject(), d.Sign(), readable(d.Key))
	switch {
	case d.Kind == FactPort:
		return s
	case d.Had && d.Has:
		return s + ": " + readable(d.Was) + " -> " + readable(d.Value)
	case d.Had:
		return s + ": " + readable(d.Was)
	}
	return s + ": " + readable(d.Value)
}

// readable is text as it is, or quoted where it would be taken for something
// else in a line.
func readable(s string) string {
	odd := func(r rune) bool { return !strconv.IsPrint(r) }
	if s == "" || strings.TrimSpace(s) != s || strings.ContainsFunc(s, odd) || strings.Contains(s, " -> ") {
		return strconv.Quote(s)
	}
	return s
}

// naturally compares text with the numbers in it taken as numbers: "db/2" comes
// before "db/10".
func naturally(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits is how many digits the text begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
