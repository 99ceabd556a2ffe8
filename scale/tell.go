package scale

import (
	"context"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// watch begins to watch the model, and notes who is related.
func (s *sim) watch(ctx context.Context) (err error) {
	if s.changes, err = s.model.Watch(ctx, 0); err != nil {
		return errors.Trace(err)
	}
	s.rev, err = s.head(ctx)
	return errors.Trace(err)
}

// head is the newest revision, which isn't counted as a read: the simulation
// wants to know, and no agent.
func (s *sim) head(ctx context.Context) (int64, error) {
	rev, err := s.store.Store.View(ctx, func(store.Reader) error { return nil })
	return rev, errors.Trace(err)
}

// compactEach is after how many commits the engine forgets who has changed what.
const compactEach = 1000

// tell takes what has changed, by the agent of by (nil: a host's), and wakes
// whom it may concern: modelAgent.poke of package machine says who that is.
func (s *sim) tell(ctx context.Context, by *unit) error {
	head, err := s.head(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	if head/compactEach > s.rev/compactEach {
		defer func() { _ = s.store.Compact(ctx, head) }()
	}
	all, vain := map[*unit]bool{}, map[*unit]bool{}
	for s.rev < head {
		select {
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		case c := <-s.changes:
			s.rev = c.Rev
			if err := s.concerned(ctx, c, by, all, vain); err != nil {
				return errors.Trace(err)
			}
		}
	}
	for _, u := range inOrder(all) {
		s.wake(u)
	}
	for u := range vain {
		if !all[u] {
			s.inVain(u)
		}
	}
	return nil
}

// concerned adds the units that a change may concern: to vain those whom it
// can't show anything new.
func (s *sim) concerned(ctx context.Context, c state.Change, by *unit, all, vain map[*unit]bool) error {
	if c.Resync || c.Model || c.Secrets {
		return errors.Errorf("a change that isn't simulated: %+v", c)
	}
	if c.Status {
		return nil
	}
	// What is said of a machine is said before its units look for the first time.
	told := map[*unit]bool{}
	add := func(units []*unit, to map[*unit]bool) {
		for _, u := range units {
			told[u], to[u] = true, true
		}
	}
	for app := range c.Applications {
		add(s.members[app], all)
	}
	for id := range c.Relations {
		sides, err := s.applicationsOf(ctx, id)
		if err != nil {
			return errors.Trace(err)
		}
		for _, app := range sides {
			// Of a relation with others a unit sees the others alone.
			if len(sides) == 2 && by != nil && by.application() == app {
				add(s.members[app], vain)
			} else {
				add(s.members[app], all)
			}
		}
	}
	for name := range c.Units {
		if u, ok := s.units[name]; ok {
			add([]*unit{u}, all)
		}
	}
	s.f.Woken += int64(len(told))
	return nil
}

func (s *sim) applicationsOf(ctx context.Context, id model.RelationID) ([]string, error) {
	if sides, ok := s.sides[id]; ok {
		return sides, nil
	}
	r, err := s.model.Relation(ctx, id)
	for _, e := range r.Endpoints {
		s.sides[id] = append(s.sides[id], e.Application)
	}
	return s.sides[id], errors.Trace(err)
}

// inVain has a unit look whom a change can't show anything; with Spare it is
// only counted, as often as it would have looked.
func (s *sim) inVain(u *unit) {
	switch {
	case !s.Spare:
		s.wake(u)
	case u.phase == asleep && s.clock.now.Sub(u.spared) >= notice:
		u.spared = s.clock.now
		s.f.Looks++
		s.f.Spared++
		s.f.Vain++
	}
}

func inOrder(units map[*unit]bool) []*unit {
	return slices.SortedFunc(maps.Keys(units), func(a, b *unit) int { return model.CompareUnits(a.doc.Name, b.doc.Name) })
}

// documents makes a service as it is once it has settled, without agents: its
// units deployed, in scope, and with a run committed.
func (s *sim) documents(ctx context.Context, urls [service]string, number int) error {
	if err := s.deploy(ctx, s.model, urls, number); err != nil {
		return errors.Trace(err)
	}
	for kind := range kinds {
		app := application(kind, number)
		rels, err := s.model.RelationsOf(ctx, app)
		if err != nil {
			return errors.Trace(err)
		}
		units, err := s.unitsOf(ctx, app)
		if err != nil {
			return errors.Trace(err)
		}
		for _, u := range units {
			if err := u.settle(ctx, urls[kind], rels); err != nil {
				return errors.Annotatef(err, "%s", u.doc.Name)
			}
		}
	}
	return errors.Trace(s.store.Compact(ctx, 1<<62))
}

// settle writes what a settled unit has.
func (u *unit) settle(ctx context.Context, charm string, rels []state.RelationDoc) error {
	u.host = &host{address: "10.0.0.1"}
	if err := u.model.SetDeployed(ctx, u.doc.Name); err != nil {
		return errors.Trace(err)
	}
	if err := u.model.SetUnitCharm(ctx, u.doc.Name, charm); err != nil {
		return errors.Trace(err)
	}
	c := state.HookCommit{Unit: u.doc.Name, Run: 1, LeaveScope: model.NoRelation, Memory: []byte("{}")}
	c.Changes.Relations = map[model.RelationID]model.RelationChange{}
	for _, r := range rels {
		if err := u.model.EnterScope(ctx, u.doc.Name, r.ID, u.host.settings()); err != nil {
			return errors.Trace(err)
		}
		c.Changes.Relations[r.ID] = model.RelationChange{Unit: model.Settings{"hostname": u.host.address, "port": "8080"}}
	}
	return errors.Trace(u.model.CommitHook(ctx, c))
}
