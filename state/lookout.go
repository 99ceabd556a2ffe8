package state

import (
	"context"
	"maps"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Lookout reads Snapshots for the agent of one unit. It remembers who was in
// scope at the last one, and reads only what has changed in each scope since:
// joining many members costs each of them the same. That is asked of the store,
// by revision, in the view that the snapshot is made of; so it is one view of
// the model as ever, whichever notices the agent has had or not had.
//
// It is for one goroutine.
type Lookout struct {
	model *Model
	unit  model.UnitName
	known scopes
}

// Lookout is a new Lookout for a unit.
func (m *Model) Lookout(unit model.UnitName) *Lookout { return &Lookout{model: m, unit: unit} }

// Snapshot reads what the unit's agent needs; errors.NotFound if there is no
// such unit.
func (l *Lookout) Snapshot(ctx context.Context) (*Snapshot, error) {
	s, known := &Snapshot{}, scopes{}
	rev, err := l.model.view(ctx, func(r docs) error {
		maps.Copy(known, l.known)
		return s.read(r, l.unit, known)
	})
	if err != nil {
		return s, errors.Trace(err)
	}
	s.Rev, l.known = rev, scopes{}
	for _, v := range s.Relations {
		l.known[v.ID] = known[v.ID] // of those that are gone nothing is kept
	}
	return s, nil
}

// Snapshot is a Lookout's first one.
func (m *Model) Snapshot(ctx context.Context, unit model.UnitName) (*Snapshot, error) {
	s, err := m.Lookout(unit).Snapshot(ctx)
	return s, errors.Trace(err)
}

// scopes are what is known of the scopes of a unit's relations.
type scopes map[model.RelationID]scope

// scope is who is in the part of a relation's scope that a unit is in, as of a
// revision. The zero value knows nothing.
type scope struct {
	rev int64
	// members are those that the unit may see.
	members model.Members
	// self: the unit is in it itself.
	self bool
}

// scope is who u may see in scope, and whether u is in it itself. Providers see
// requirers and the other way round, peers all other peers; in a container
// relation only those of one family. last is what was known before.
func (d docs) scope(r RelationDoc, u UnitDoc, last scope) (scope, error) {
	part, now := container(r, u), last
	now.rev = d.Rev()
	var gone []model.UnitName
	var left []leftDoc
	var err error
	if last.rev > 0 {
		left, err = since[leftDoc](d, leftScope(r.ID, part), last.rev)
	}
	if err != nil {
		return now, errors.Trace(err)
	}
	for _, doc := range left {
		gone = append(gone, doc.Unit)
		now.self = now.self && doc.Unit != u.Name
	}
	// Whoever is there now has not left since, or has come again: so those who
	// are there are looked at after those who have left.
	here, err := since[scopeDoc](d, containerScope(r.ID, part), last.rev)
	if err != nil {
		return now, errors.Trace(err)
	}
	var set model.Members
	for _, doc := range here {
		switch {
		case doc.Unit == u.Name:
			now.self = true
		case r.IsPeer() || doc.Unit.Application() != u.Name.Application():
			set = append(set, model.Member(doc))
		}
	}
	if len(gone)+len(set) > 0 {
		now.members = last.members.Apply(set, gone)
	}
	return now, nil
}

// since reads the documents below the prefix that were written after a
// revision; 0: all of them.
func since[T any](d docs, prefix string, rev int64) ([]T, error) {
	if rev == 0 {
		return list[T](d, prefix)
	}
	kvs, err := d.Since(d.m.prefix()+prefix, rev)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return decode[T](kvs)
}
