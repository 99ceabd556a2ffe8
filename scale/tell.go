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

// watch begins to watch the model.
func (s *sim) watch(ctx context.Context) (err error) {
	if s.batches, err = s.store.Watch(ctx, []store.Keys{store.Below("m/")}, 0); err != nil {
		return errors.Trace(err)
	}
	if s.changes, err = s.model.Watch(ctx, 0); err != nil {
		return errors.Trace(err)
	}
	s.rev, err = s.head(ctx)
	return errors.Trace(err)
}

// followers are the hosts whose agents follow a key, by that key or by the prefix that
// they follow it by: all that package machine would have them watch.
type followers map[store.Keys][]*host

// follow notes what the agent of a host follows. In the simulation its units have a
// machine each, and there are no others later.
func (s *sim) follow(ctx context.Context, h *host) error {
	var machines []string
	for _, u := range h.units {
		machines = append(machines, u.doc.Machine)
	}
	c, err := s.model.Concerning(ctx, machines...)
	for _, k := range c.Keys {
		if of := s.followers[k]; len(of) == 0 || of[len(of)-1] != h {
			s.followers[k] = append(of, h)
		}
	}
	return errors.Trace(err)
}

// told counts the agents that are told of a transaction.
func (f followers) told(b store.Batch) int {
	hosts := map[*host]bool{}
	add := func(k store.Keys) {
		for _, h := range f[k] {
			hosts[h] = true
		}
	}
	for _, e := range b.Events {
		add(store.Only(e.Key))
		for i := range e.Key {
			if e.Key[i] == '/' {
				add(store.Below(e.Key[:i+1]))
			}
		}
	}
	return len(hosts)
}

// head is the newest revision, which isn't counted as a read: the simulation
// wants to know, and no agent.
func (s *sim) head(ctx context.Context) (int64, error) {
	rev, err := s.store.Store.View(ctx, func(store.Reader) error { return nil })
	return rev, errors.Trace(err)
}

// compactEach is after how many commits the engine forgets who has changed what.
const compactEach = 1000

// tell takes what has changed, and wakes whom it may concern: modelAgent.poke of
// package machine says who that is.
func (s *sim) tell(ctx context.Context) error {
	head, err := s.head(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	if head/compactEach > s.rev/compactEach {
		defer func() { _ = s.store.Compact(ctx, head) }()
	}
	all := map[*unit]bool{}
	for rev := s.rev; rev < head; {
		select {
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		case b := <-s.batches:
			rev = b.Rev
			s.f.Followed += int64(s.followers.told(b))
		}
	}
	for s.rev < head {
		select {
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		case c := <-s.changes:
			s.rev = c.Rev
			if err := s.concerned(ctx, c, all); err != nil {
				return errors.Trace(err)
			}
		}
	}
	for _, u := range inOrder(all) {
		s.wake(u)
	}
	return nil
}

// concerned adds the units that a change may concern.
func (s *sim) concerned(ctx context.Context, c state.Change, all map[*unit]bool) error {
	if c.Resync || c.Model || c.Secrets {
		return errors.Errorf("a change that isn't simulated: %+v", c)
	}
	if c.Status {
		return nil
	}
	// What is said of a machine is said before its units look for the first time.
	told := map[*unit]bool{}
	for app := range c.Applications {
		for _, u := range s.members[app] {
			told[u] = true
		}
	}
	for id, touched := range c.Relations {
		endpoints, err := s.endpointsOf(ctx, id)
		if err != nil {
			return errors.Trace(err)
		}
		for _, e := range endpoints {
			for _, u := range s.members[e.Application] {
				if touched.Concerns(u.doc.Name, endpoints) {
					told[u] = true
				}
			}
		}
	}
	for name := range c.Units {
		if u, ok := s.units[name]; ok {
			told[u] = true
		}
	}
	s.f.Woken += int64(len(told))
	maps.Copy(all, told)
	return nil
}

func (s *sim) endpointsOf(ctx context.Context, id model.RelationID) ([]model.Endpoint, error) {
	if known, ok := s.endpoints[id]; ok {
		return known, nil
	}
	r, err := s.model.Relation(ctx, id)
	s.endpoints[id] = r.Endpoints
	return r.Endpoints, errors.Trace(err)
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
