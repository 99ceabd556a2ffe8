package state_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// anAgent is one that would manage the world's model.
type anAgent struct {
	*world
	doc   state.ManagerDoc
	lease store.LeaseID
	model *state.Model
	lost  int
}

func (w *world) agent(id, run string) *anAgent {
	w.Helper()
	a := &anAgent{world: w, doc: state.ManagerDoc{Agent: id, Host: "host-" + id, Run: run}}
	var err error
	a.lease, err = w.store.Grant(w.ctx, time.Hour)
	w.ok(err)
	info, err := w.Info(w.ctx)
	w.ok(err)
	a.model = w.controller.ManagedBy(run, func(error) { a.lost++ }).Open(info)
	return a
}

func (a *anAgent) manage(c state.Claim) error {
	_, err := a.model.Manage(a.ctx, a.doc, a.lease, c)
	return err
}

// gone ends the agent's lease.
func (a *anAgent) gone() { a.ok(a.store.Revoke(a.ctx, a.lease)) }

func TestOneAgentManagesAModel(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		claim state.Claim
		id    string // of who asks; that of the manager is "one"
		gone  bool
		want  string
	}{
		"another one can't stay":               {claim: state.Stay, id: "two", want: "the agent of host host-one has managed the store's models since 2026-03-03 09:00:00 UTC"},
		"nor return":                           {claim: state.Return, id: "two", want: "the agent of host host-one has managed the store's models since 2026-03-03 09:00:00 UTC"},
		"nor take over from one that is there": {claim: state.TakeOver, id: "two", want: "the agent of host host-one has managed the store's models since 2026-03-03 09:00:00 UTC"},
		"one that has gone isn't succeeded by chance": {claim: state.Return, id: "two", gone: true,
			want: "the agent of host host-one, which isn't there, has managed the store's models since 2026-03-03 09:00:00 UTC"},
		"one that has gone is taken over": {claim: state.TakeOver, id: "two", gone: true},
		"the same one returns at once":    {claim: state.Return, id: "one"},
		"and to take over is to return":   {claim: state.TakeOver, id: "one"},
		"one with a copy of its id can't stay": {claim: state.Stay, id: "one",
			want: "an agent with a copy of this data directory, on host host-one, has managed the store's models since 2026-03-03 09:00:00 UTC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			first := w.agent("one", "run-1")
			w.ok(first.manage(state.Stay))
			w.ok(first.manage(state.Stay))
			if row.gone {
				first.gone()
			}
			w.clock.now = w.clock.now.Add(-time.Hour) // as a host whose clock is behind
			second := w.agent(row.id, "run-2")
			err := second.manage(row.claim)
			_, wrote := second.model.Mark(w.ctx, "")
			if row.want != "" {
				w.fails(err, row.want)
				if !errors.Is(err, state.ErrManaged) || !errors.Is(wrote, state.ErrManaged) || second.lost != 1 {
					t.Errorf("refused with %v, it wrote with %v, and was told %d times", err, wrote, second.lost)
				}
				_, err := first.model.Mark(w.ctx, "")
				w.ok(err)
				return
			}
			w.ok(errors.Join(err, wrote))
			doc, alive, err := w.Manager(w.ctx)
			if err != nil || doc.Run != "run-2" || !alive {
				t.Errorf("managed by %+v, alive: %v, %v", doc, alive, err)
			}
			// The first one changes nothing any more, and is told once it tries to.
			_, err = first.model.Mark(w.ctx, "")
			if !errors.Is(err, state.ErrManaged) || first.lost != 1 || !errors.Is(first.manage(state.Stay), state.ErrManaged) {
				t.Errorf("the first one wrote with %v, and was told %d times", err, first.lost)
			}
		})
	}
}

func TestWhoManagesAModelIsForgottenWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.agent("one", "run")
	first, err := a.model.Manage(w.ctx, a.doc, a.lease, state.Return)
	if err != nil || !first {
		t.Errorf("first: %v, %v", first, err)
	}
	var exported bytes.Buffer
	w.ok(w.Export(w.ctx, &exported))
	if strings.Contains(exported.String(), `"manager`) {
		t.Error("the manager is exported")
	}
	w.ok(a.model.Unmanage(w.ctx, "another"))
	if _, alive, err := w.Manager(w.ctx); err != nil || !alive {
		t.Errorf("alive: %v, %v", alive, err)
	}
	w.ok(a.model.Unmanage(w.ctx, "run"))
	if _, _, err := w.Manager(w.ctx); err == nil {
		t.Error("it still has a manager")
	}
	w.ok(a.manage(state.Return))
	w.ok(a.model.Destroy(w.ctx, false))
	if gone, err := a.model.RemoveIfEmpty(w.ctx); err != nil || !gone {
		t.Errorf("gone: %v, %v", gone, err)
	}
	w.ok(a.manage(state.Stay))
	if _, _, err := w.Manager(w.ctx); err == nil {
		t.Error("a model that is gone is managed")
	}
}
