package state_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func status(word, message string) model.Status { return model.Status{Status: word, Message: message} }

func TestSetStatus(t *testing.T) {
	t.Parallel()

	t.Run("a status is from when it was set", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.clock.advance(time.Minute)
		w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", status("active", "ready")))
		s, err := w.StatusOf(w.ctx, state.WorkloadStatus, "mysql/0")
		w.ok(err)
		if !s.Since.Equal(w.clock.Now()) || s.Status != "active" || s.Message != "ready" {
			t.Errorf("got %+v", s)
		}
	})

	t.Run("an agent status said again is from when it was first said", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.ok(w.SetStatus(w.ctx, state.AgentStatus, "mysql/0", status("idle", "")))
		since := w.clock.Now()
		w.clock.advance(time.Minute)
		w.ok(w.SetStatus(w.ctx, state.AgentStatus, "mysql/0", status("idle", "")))
		s, err := w.StatusOf(w.ctx, state.AgentStatus, "mysql/0")
		w.ok(err)
		if !s.Since.Equal(since) {
			t.Errorf("since %v, want %v", s.Since, since)
		}
	})

	t.Run("there is no status of what isn't there", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		for kind, name := range map[state.StatusKind]string{
			state.WorkloadStatus: "mysql/0", state.AgentStatus: "mysql/0", state.ApplicationStatus: "mysql",
		} {
			if err := w.SetStatus(w.ctx, kind, name, status("active", "")); !errors.Is(err, errors.NotFound) {
				t.Errorf("%s: %v", kind, err)
			}
		}
	})
}

func TestStatusHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 2)
	history := func(unit string) []model.Status {
		h, err := w.StatusHistory(w.ctx, state.WorkloadStatus, unit)
		w.ok(err)
		return h
	}
	if h := history("mysql/0"); len(h) != 1 || h[0].Message != "waiting for machine" {
		t.Errorf("a new unit's history: %+v", h)
	}
	for i := range 120 {
		s := status("maintenance", fmt.Sprint(i))
		w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", s))
		w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", s)) // said again, it isn't kept again
	}
	messages := func() string {
		var all []string
		for _, s := range history("mysql/0") {
			all = append(all, s.Message)
		}
		return strings.Join(all, " ")
	}
	w.is("history", messages(), "110 111 112 113 114 115 116 117 118 119")
	w.ok(w.SetModelConfig(w.ctx, map[string]string{state.StatusHistoryLines: "3"}, nil))
	w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", status("maintenance", "120")))
	w.is("history of three lines", messages(), "118 119 120")
	whole := model.Status{Status: "blocked", Message: "no <db>", Data: map[string]any{"relation-id": 3.0}, Since: time.UnixMilli(1_700_000_000_123).UTC()}
	w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", whole))
	if h := history("mysql/0"); !reflect.DeepEqual(h[2], whole) {
		t.Errorf("kept is %+v, want %+v", h[2], whole)
	}
	w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", status("blocked", strings.Repeat("x", 60_000))))
	w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", status("blocked", strings.Repeat("y", 60_000))))
	if h := history("mysql/0"); len(h) != 1 || h[0].Message[0] != 'y' {
		t.Errorf("%d long statuses are kept, want the newest", len(h))
	}
	if h := history("mysql/1"); len(h) != 1 {
		t.Errorf("another unit's history: %+v", h)
	}
	w.remove("mysql/0")
	if h := history("mysql/0"); len(h) != 0 {
		t.Errorf("a removed unit's history: %+v", h)
	}
}

// docs/spec/uniter-behaviour.md §9.
func TestStatusOfApplication(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		units  []model.Status // workload statuses
		agent  model.Status   // of the first unit
		leader model.Status   // by status-set --application
		want   string
	}{
		{name: "no units", want: "unknown: "},
		{name: "new units wait for a machine", units: []model.Status{{}}, want: "waiting: waiting for machine"},
		{name: "the most severe of the units' counts, with its message",
			units: []model.Status{status("active", "fine"), status("blocked", "no db"), status("maintenance", "")}, want: "blocked: no db"},
		{name: "of equals the first counts", units: []model.Status{status("active", "one"), status("active", "two")}, want: "active: one"},
		{name: "maintenance goes before waiting", units: []model.Status{status("waiting", ""), status("maintenance", "m")}, want: "maintenance: m"},
		{name: "waiting goes before active", units: []model.Status{status("active", ""), status("waiting", "w")}, want: "waiting: w"},
		{name: "active goes before terminated", units: []model.Status{status("terminated", ""), status("active", "a")}, want: "active: a"},
		{name: "terminated goes before unknown", units: []model.Status{status("unknown", ""), status("terminated", "t")}, want: "terminated: t"},
		{name: "a failed hook goes before all",
			units: []model.Status{status("active", ""), status("blocked", "")}, agent: status("error", `hook failed: "install"`),
			want: `error: hook failed: "install"`},
		{name: "what the leader has set goes before its units'",
			units: []model.Status{status("blocked", "no db")}, leader: status("active", "all well"), want: "active: all well"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.deploy(mysql, len(tt.units))
			for i, s := range tt.units {
				if s.Status != "" {
					w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, fmt.Sprintf("mysql/%d", i), s))
				}
			}
			if tt.agent.Status != "" {
				w.ok(w.SetStatus(w.ctx, state.AgentStatus, "mysql/0", tt.agent))
			}
			if tt.leader.Status != "" {
				w.ok(w.SetStatus(w.ctx, state.ApplicationStatus, "mysql", tt.leader))
			}
			app, units, err := w.UnitStatuses(w.ctx, "mysql")
			w.ok(err)
			w.is("status", app.Status+": "+app.Message, tt.want)
			if len(units) != len(tt.units) {
				t.Errorf("units %v", units)
			}
			full, err := w.Status(w.ctx)
			w.ok(err)
			if s := full.Applications[0].Status; s.Status != app.Status || s.Message != app.Message {
				t.Errorf("the whole picture says %+v", s)
			}
		})
	}
}

// docs/spec/cli-juju.md §2.2.
func TestStatusOfUnit(t *testing.T) {
	t.Parallel()
	failed := func(message string, data map[string]any) model.Status {
		return model.Status{Status: "error", Message: message, Data: data}
	}
	for _, tt := range []struct {
		name            string
		agent           model.Status
		alone           bool // the machine's agent isn't there
		undeployed      bool
		set             model.Status // the workload's; active: ready
		workload, shown string
	}{
		{name: "what was set is shown", agent: status("executing", "running start hook"),
			workload: "active: ready", shown: "executing: running start hook"},
		{name: "a failed hook is the workload's error, the agent is idle", agent: failed(`hook failed: "start"`, map[string]any{"run": 3}),
			workload: `error: hook failed: "start"`, shown: "idle: "},
		{name: "a failed relation hook says which endpoint it was about",
			agent:    failed(`hook failed: "server-relation-joined"`, map[string]any{"relation-id": 1, "remote-unit": "wordpress/0"}),
			workload: `error: hook failed: "server-relation-joined" for wordpress:db`, shown: "idle: "},
		{name: "a failed hook of a relation that is gone doesn't",
			agent:    failed(`hook failed: "server-relation-joined"`, map[string]any{"relation-id": 99}),
			workload: `error: hook failed: "server-relation-joined"`, shown: "idle: "},
		{name: "an agent that isn't there is lost, and nobody knows of the workload", agent: status("idle", ""), alone: true,
			workload: "unknown: agent lost, see 'juju show-status-log mysql/0'", shown: "lost: agent is not communicating with the server"},
		{name: "an error stays one", agent: failed(`hook failed: "start"`, map[string]any{"run": 3}), alone: true,
			workload: `error: hook failed: "start"`, shown: "lost: agent is not communicating with the server"},
		{name: "what is terminated stays so", agent: status("idle", ""), alone: true, set: status("terminated", ""),
			workload: "terminated: ", shown: "lost: agent is not communicating with the server"},
		{name: "a unit that no agent has taken on can't be lost", agent: status("allocating", ""), alone: true, undeployed: true,
			workload: "active: ready", shown: "allocating: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.deploy(mysql, 1)
			w.deploy(wordpress, 1)
			w.relate("wordpress", "mysql")
			if !tt.undeployed {
				w.ok(w.SetDeployed(w.ctx, "mysql/0"))
			}
			if !tt.alone {
				w.present("0")
			}
			if tt.set.Status == "" {
				tt.set = status("active", "ready")
			}
			w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", tt.set))
			w.ok(w.SetStatus(w.ctx, state.AgentStatus, "mysql/0", tt.agent))
			named, err := state.NewController(w.store, w.clock).WithCommand("juju").Model(w.ctx, w.Name())
			w.ok(err)
			d, err := named.ShowUnit(w.ctx, "mysql/0")
			w.ok(err)
			w.is("workload", d.Workload.Status+": "+d.Workload.Message, tt.workload)
			w.is("agent", d.Agent.Status+": "+d.Agent.Message, tt.shown)
			// The workload's own status comes back with the agent's, and with the agent.
			w.present("0")
			w.ok(w.SetStatus(w.ctx, state.AgentStatus, "mysql/0", status("idle", "")))
			d, err = w.ShowUnit(w.ctx, "mysql/0")
			w.ok(err)
			w.is("workload afterwards", d.Workload.Status+": "+d.Workload.Message, tt.set.Status+": "+tt.set.Message)
		})
	}
}

func TestFullStatus(t *testing.T) {
	t.Parallel()
	w, id := pair(t)
	w.deploy(logging, 0)
	info := w.relate("wordpress", "logging:info")
	w.enter("wordpress/0", info)
	w.ok(w.SetMachine(w.ctx, state.MachineDoc{ID: "0", Hostname: "host", Addresses: []string{"10.0.0.1", "10.0.0.2"}}))
	w.present("0")
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 1, Changes: everything(id), LeaveScope: model.NoRelation}))

	s, err := w.Status(w.ctx)
	w.ok(err)
	if s.Model.Name != "shop" || !s.Timestamp.Equal(w.clock.Now()) || len(s.Machines) != 3 || len(s.Relations) != 3 {
		t.Errorf("got %+v", s)
	}
	if m := s.Machines; m[0].ID != "0" || !m[0].Present || m[1].Present || m[2].ID != "2" {
		t.Errorf("machines %+v", m)
	}
	names := ""
	byName := map[string]state.ApplicationView{}
	for _, a := range s.Applications {
		names += a.Name + " "
		byName[a.Name] = a
	}
	w.is("applications", names, "logging mysql wordpress ")

	my := byName["mysql"]
	w.is("version", my.Version, "8.0")
	w.is("charm", fmt.Sprint(my.CharmDoc.Charm.Name, " ", my.CharmDoc.Revision), "mysql 0")
	if u := my.Units; len(u) != 2 || !u[0].Leader || u[1].Leader || u[0].Address != "10.0.0.1" || u[1].Address != "" ||
		len(u[0].Ports.All()) != 1 || len(u[1].Ports.All()) != 0 {
		t.Errorf("units %+v", u)
	}
	if r := my.Relations; len(r) != 2 ||
		r["server"][0] != (state.RelatedView{Application: "wordpress", Interface: "mysql", Scope: model.Global, ID: id}) ||
		r["cluster"][0] != (state.RelatedView{Application: "mysql", Interface: "mysql-cluster", Scope: model.Global, ID: 0}) {
		t.Errorf("relations %+v", r)
	}
	if l := byName["logging"]; len(l.SubordinateTo) != 1 || l.SubordinateTo[0] != "wordpress" || len(l.Units) != 1 || l.Units[0].Principal != "wordpress/0" {
		t.Errorf("subordinate %+v", l)
	}
	if wp := byName["wordpress"]; len(wp.SubordinateTo) != 0 || len(wp.Units[0].Subordinates) != 1 {
		t.Errorf("principal %+v", wp)
	}
}

func TestShowUnit(t *testing.T) {
	t.Parallel()
	w, id := pair(t)
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 1, Changes: everything(id), LeaveScope: model.NoRelation}))
	d, err := w.ShowUnit(w.ctx, "wordpress/0")
	w.ok(err)
	if d.Charm != "local:wordpress-0" || d.Leader || len(d.Relations) != 1 {
		t.Fatalf("got %+v", d)
	}
	r := d.Relations[0]
	if !r.InScope || r.Application["database"] != "shop" || r.Local["private-address"] != "10.0.0.1" {
		t.Errorf("relation %+v", r)
	}
	if len(r.Remote) != 2 || r.Remote[0].Unit != "mysql/0" || r.Remote[0].Settings["port"] != "3306" || r.Remote[1].Unit != "mysql/1" {
		t.Errorf("remote units %+v", r.Remote)
	}
	if d, err := w.ShowUnit(w.ctx, "mysql/0"); err != nil || !d.Leader || d.WorkloadVersion != "8.0" {
		t.Errorf("got %+v, %v", d, err)
	}
	_, err = w.ShowUnit(w.ctx, "mysql/9")
	w.fails(err, `unit "mysql/9" not found`)
}

func TestGoalState(t *testing.T) {
	t.Parallel()
	w, id := pair(t)
	w.deploy("shop db=requirer:mysql", 1)
	gone := w.relate("shop", "mysql")
	w.enter("shop/0", gone)
	w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", status("active", "")))
	w.ok(w.SetDying(w.ctx, "wordpress/0"))
	w.ok(w.DestroyRelationID(w.ctx, gone))
	g, err := w.GoalState(w.ctx, "mysql/0")
	w.ok(err)
	words := map[string]string{}
	for name, goal := range g.Units {
		words[name] = goal.Status
	}
	for name, goal := range g.Relations["server"] {
		words["server "+name] = goal.Status
	}
	want := map[string]string{
		"mysql/0": "active", "mysql/1": "waiting",
		"server wordpress": "joined", "server wordpress/0": "dying",
		"server shop": "dying", "server shop/0": "waiting",
	}
	if fmt.Sprint(words) != fmt.Sprint(want) || len(g.Relations) != 1 {
		t.Errorf("got %v and %d endpoints, want %v", words, len(g.Relations), want)
	}
	w.ok(w.Suspend(w.ctx, "", id))
	g, err = w.GoalState(w.ctx, "mysql/0")
	w.ok(err)
	if g.Relations["server"]["wordpress"].Status != "suspended" {
		t.Errorf("a suspended relation: %v", g.Relations)
	}
	w.ok(w.SetDying(w.ctx, "mysql/1"))
	w.ok(w.LeaveScope(w.ctx, "mysql/1", 0))
	w.ok(w.LeaveScope(w.ctx, "mysql/1", id))
	w.ok(w.SetDead(w.ctx, "mysql/1"))
	if g, err = w.GoalState(w.ctx, "mysql/0"); err != nil || len(g.Units) != 1 {
		t.Errorf("a Dead unit is a goal: %v, %v", g.Units, err)
	}
}

// A principal is told of its own subordinates.
func TestGoalStateHasNoSubordinatesOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(wordpress, 2)
	w.deploy(logging, 0)
	id := w.relate("wordpress", "logging:info")
	w.enter("wordpress/0", id)
	w.enter("wordpress/1", id)
	g, err := w.GoalState(w.ctx, "wordpress/1")
	w.ok(err)
	if goals := g.Relations["juju-info"]; len(goals) != 2 || goals["logging/1"].Status == "" {
		t.Errorf("got %v", g.Relations)
	}
}

// present shows the machine's agent for an hour.
func (w *world) present(machine string) {
	w.Helper()
	lease, err := w.store.Grant(w.ctx, time.Hour)
	w.ok(err)
	doc, err := w.Machine(w.ctx, machine)
	w.ok(err)
	w.ok(w.Appear(w.ctx, lease, doc))
}
