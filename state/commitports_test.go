package state_test

import (
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func tcp(from, to int) model.PortRange {
	return model.PortRange{From: from, To: to, Protocol: "tcp"}
}

func open(r model.PortRange) model.PortChange { return model.PortChange{Range: r} }

func TestPorts(t *testing.T) {
	t.Parallel()
	// A principal and its subordinate are on one machine.
	family := func(t *testing.T) *world {
		w := newWorld(t)
		w.deploy(wordpress, 1)
		w.deploy(logging, 0)
		w.enter("wordpress/0", w.relate("wordpress", "logging:info"))
		w.ok(w.SetDeployed(w.ctx, "logging/0"))
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "wordpress/0", Run: 1, LeaveScope: model.NoRelation,
			Changes: model.Changes{Ports: []model.PortChange{open(tcp(80, 90))}}}))
		return w
	}
	for _, tt := range []struct {
		name    string
		changes []model.PortChange
		fails   string
		want    string
	}{
		{name: "ports of different units on one machine are kept apart", changes: []model.PortChange{open(tcp(91, 95))}, want: "91-95/tcp"},
		{name: "the same port of another protocol is another port",
			changes: []model.PortChange{open(model.PortRange{From: 85, To: 85, Protocol: "udp"})}, want: "85/udp"},
		{name: "a port that another unit on the machine has is refused", changes: []model.PortChange{open(tcp(85, 85))},
			fails: `cannot open 85/tcp (unit "logging/0"): port range conflicts with 80-90/tcp (unit "wordpress/0")`},
		{name: "what is opened and closed in one hook needs nothing",
			changes: []model.PortChange{open(tcp(85, 85)), {Range: tcp(85, 85), Close: true}}},
		{name: "closing what isn't open is no error", changes: []model.PortChange{{Range: tcp(80, 90), Close: true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := family(t)
			err := w.CommitHook(w.ctx, state.HookCommit{Unit: "logging/0", Run: 1, LeaveScope: model.NoRelation,
				Changes: model.Changes{Ports: tt.changes}})
			if tt.fails != "" {
				w.fails(err, tt.fails)
				if !errors.Is(err, errors.NotValid) {
					t.Error("error is not NotValid")
				}
			} else {
				w.ok(err)
			}
			ports, err := w.Ports(w.ctx, "0")
			w.ok(err)
			var got []string
			for _, p := range ports["logging/0"].All() {
				got = append(got, p.String())
			}
			w.is("ports of logging/0", strings.Join(got, " "), tt.want)
			if p := ports["wordpress/0"].All(); len(p) != 1 || p[0] != tcp(80, 90) {
				t.Errorf("ports of wordpress/0: %v", p)
			}
		})
	}

	t.Run("what is open on another machine doesn't matter", func(t *testing.T) {
		t.Parallel()
		w := family(t)
		w.deploy(mysql, 1)
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 1, LeaveScope: model.NoRelation,
			Changes: model.Changes{Ports: []model.PortChange{open(tcp(85, 85))}}}))
	})

	t.Run("the ports of a subordinate go with it", func(t *testing.T) {
		t.Parallel()
		w := family(t)
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "logging/0", Run: 1, LeaveScope: model.NoRelation,
			Changes: model.Changes{Ports: []model.PortChange{open(tcp(443, 443))}}}))
		w.ok(w.ForceRemoveUnit(w.ctx, "logging/0"))
		ports, err := w.Ports(w.ctx, "0")
		w.ok(err)
		if len(ports) != 1 || len(ports["wordpress/0"]) != 1 {
			t.Errorf("ports %v", ports)
		}
	})
}
