package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// spent is what an agent has spent on hooks.
type spent struct {
	took, used time.Duration
	hooks      int
}

// measureCrowd measures units that are deployed at once, until nothing is left to
// do. The floor is as many processes as hooks have run, as many of them at a time
// as there are units, started by this program.
func measureCrowd(ctx context.Context, m *measuring) ([]Figure, error) {
	return m.measureMany(ctx, many{
		what: fmt.Sprintf("%d units deployed, until all is settled", m.Units), floor: fmt.Sprintf("%%d processes, %d at once", m.Units),
		do: m.crowd, least: func(_ *disk, script string, n int) error { return atOnce(ctx, script, n, m.Units) },
	})
}

// measurePeers measures a unit that comes to a peer relation with many members,
// until it has been told of each. A unit runs its hooks one after the other, so the
// floor does that as well.
func measurePeers(ctx context.Context, m *measuring) ([]Figure, error) {
	return m.measureMany(ctx, many{
		what: fmt.Sprintf("a unit that joins %d peers, until it has been told of each", m.Units), floor: "%d processes, one by one, each with two durable writes",
		do: m.peers, least: func(d *disk, script string, n int) error {
			for range n {
				if err := d.bare(ctx, script); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

// many is how hooks are measured together, and how many processes are; floor has
// a %d for their number.
type many struct {
	what, floor string
	do          func(*world) (spent, error)
	least       func(*disk, string, int) error
}

// measureMany measures both by turns, in a world of its own each time: how long it
// takes, and the processor time for each hook, of the agent and of this program.
func (m *measuring) measureMany(ctx context.Context, of many) ([]Figure, error) {
	script, err := m.script()
	if err != nil {
		return nil, err
	}
	d, err := newDisk(m.dir)
	if err != nil {
		return nil, err
	}
	defer d.close()
	var took, used pairs
	n := 0
	for i := range m.Rounds {
		m.done(i, m.Rounds)
		var s spent
		if err := m.within(ctx, func(w *world) (err error) {
			s, err = of.do(w)
			return err
		}); err != nil {
			return nil, err
		}
		n = s.hooks
		leastTook, leastUsed, err := cost(func() error { return of.least(d, script, n) })
		if err != nil {
			return nil, err
		}
		took.add(s.took, leastTook)
		used.add(s.used/time.Duration(n), leastUsed/time.Duration(n))
	}
	return []Figure{
		took.figure(Figure{Name: m.name, What: of.what, Floor: fmt.Sprintf(of.floor, n), Hooks: n}),
		used.figure(Figure{
			Name: m.name + "-cpu", What: "the agent's own processor time for each hook", Floor: "a plain program's time for each process", Hooks: n,
		}),
	}, nil
}

// crowd deploys units, and waits until all is settled.
func (m *measuring) crowd(w *world) (s spent, err error) {
	url, err := w.add(w.ctx, charm{dispatch: nothing})
	if err != nil {
		return s, errors.Trace(err)
	}
	before, err := w.used()
	if err != nil {
		return s, err
	}
	began := time.Now()
	if err := w.model.Deploy(w.ctx, state.DeployArgs{Application: application, Charm: url, Units: m.Units}); err != nil {
		return s, errors.Trace(err)
	}
	if s.hooks, _, err = w.runs(started(m.Units)); err != nil {
		return s, err
	}
	if err := w.settled(); err != nil {
		return s, err
	}
	s.took = time.Since(began)
	after, err := w.used()
	s.used = after - before
	return s, err
}

// peers adds a unit to a peer relation that has members. These are documents only,
// as if agents elsewhere had them: they are on a machine that nobody has joined.
func (m *measuring) peers(w *world) (s spent, err error) {
	elsewhere, _, err := w.model.AddMachine(w.ctx, state.ManualProvider, time.Hour)
	if err != nil {
		return s, errors.Trace(err)
	}
	if err := w.deploy(charm{dispatch: nothing, peers: true}, m.Units, slices.Repeat([]string{elsewhere.ID}, m.Units)...); err != nil {
		return s, err
	}
	if err := w.enter(); err != nil {
		return s, err
	}
	before, err := w.used()
	if err != nil {
		return s, err
	}
	began := time.Now()
	if _, err := w.model.AddUnits(w.ctx, application, 1); err != nil {
		return s, errors.Trace(err)
	}
	left := m.Units
	var ended time.Time
	s.hooks, ended, err = w.runs(func(r run) bool {
		if r.Kind == hooks.RelationChanged {
			left--
		}
		return left == 0
	})
	if err != nil {
		return s, err
	}
	s.took = ended.Sub(began)
	after, err := w.used()
	s.used = after - before
	return s, err
}

// enter makes all units members of the peer relation.
func (w *world) enter() error {
	relations, err := w.model.RelationsOf(w.ctx, application)
	if err != nil {
		return errors.Trace(err)
	}
	units, err := w.model.Units(w.ctx)
	if err != nil {
		return errors.Trace(err)
	}
	for _, u := range units {
		if err := w.model.EnterScope(w.ctx, u.Name, relations[0].ID, model.Settings{"private-address": "10.0.0.1"}); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}
