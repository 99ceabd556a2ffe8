package state_test

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

func ptr(s string) *string { return &s }

// pair is wordpress/0 and mysql/0, who leads, in relation 1; mysql's peer
// relation is 0.
func pair(t *testing.T) (*world, model.RelationID) {
	w := newWorld(t)
	w.deploy(mysql, 2)
	w.deploy(wordpress, 1)
	id := w.relate("wordpress", "mysql")
	w.enter("mysql/0", 0, id)
	w.enter("mysql/1", 0, id)
	w.enter("wordpress/0", id)
	w.lead("mysql/0")
	return w, id
}

func TestACommitSaysItsRevision(t *testing.T) {
	t.Parallel()
	w, _ := pair(t)
	commit := func(run int64) (at int64) {
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: run, LeaveScope: model.NoRelation, At: &at}))
		return at
	}
	rev, err := w.Rev(w.ctx)
	w.ok(err)
	first := commit(5)
	now, err := w.Rev(w.ctx)
	w.ok(err)
	if first <= rev || first != now {
		t.Errorf("between %d and %d it was committed at %d", rev, now, first)
	}
	if again := commit(5); again != 0 {
		t.Errorf("what was stamped already was committed at %d", again)
	}
}

// TestACommitSaysHowTheUnitLooks: in the transaction of the hook, once, and unless the charm has said it itself.
func TestACommitSaysHowTheUnitLooks(t *testing.T) {
	t.Parallel()
	w, _ := pair(t)
	unknown := state.Report{Workload: &model.Status{Status: model.StatusUnknown}, UnlessCharm: true}
	w.ok(w.SetCharmStatus(w.ctx, "mysql/1", model.Status{Status: model.StatusActive, Message: "ready"}))
	for unit, want := range map[model.UnitName]string{"mysql/0": "unknown", "mysql/1": "active"} {
		var at int64
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: unit, Run: 5, LeaveScope: model.NoRelation, Seen: unknown, At: &at}))
		w.is("status", strings.SplitN(w.status(state.WorkloadStatus, string(unit)), ":", 2)[0], want)
		now, err := w.Rev(w.ctx)
		if w.ok(err); now != at {
			t.Errorf("%s: committed at %d, and the store is at %d", unit, at, now)
		}
	}
	stopped := state.Report{Workload: &model.Status{Status: model.StatusMaintenance}}
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/1", Run: 5, LeaveScope: model.NoRelation, Seen: stopped}))
	w.is("status", strings.SplitN(w.status(state.WorkloadStatus, "mysql/1"), ":", 2)[0], "active")
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/1", Run: 6, LeaveScope: model.NoRelation, Seen: stopped}))
	w.is("status", strings.SplitN(w.status(state.WorkloadStatus, "mysql/1"), ":", 2)[0], "maintenance")
}

// TestAUnitIsTakenOnOnce: with how it looks, in one transaction.
func TestAUnitIsTakenOnOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 1)
	rev, err := w.Rev(w.ctx)
	w.ok(err)
	for i, message := range []string{"agent initialising", "again"} {
		first, err := w.TakeOn(w.ctx, "mysql/0", state.Report{Workload: &model.Status{Status: model.StatusWaiting, Message: message}})
		w.ok(err)
		now, err := w.Rev(w.ctx)
		w.ok(err)
		if first != (i == 0) || now != rev+1 {
			t.Errorf("%d: first %v, at %d, and it was at %d before", i, first, now, rev)
		}
	}
	u, err := w.Unit(w.ctx, "mysql/0")
	if w.ok(err); !u.Deployed {
		t.Error("it isn't taken on")
	}
	if got := w.status(state.WorkloadStatus, "mysql/0"); !strings.Contains(got, "agent initialising") {
		t.Errorf("it looks like this: %s", got)
	}
	if _, err := w.TakeOn(w.ctx, "mysql/7", state.Report{}); !errors.Is(err, errors.NotFound) {
		t.Errorf("%v", err)
	}
}

func TestTextIsStoredAsLongAsItIs(t *testing.T) {
	t.Parallel()
	w, id := pair(t)
	text := strings.Repeat("<&>", 200_000)
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 5, LeaveScope: model.NoRelation, Changes: model.Changes{
		State:     map[string]*string{"k": &text},
		Relations: map[model.RelationID]model.RelationChange{id: {Unit: model.Settings{"k": text}}},
	}}))
	values, err := w.CharmState(w.ctx, "mysql/0")
	w.ok(err)
	settings, err := w.Settings(w.ctx, id, "mysql/0")
	w.ok(err)
	if values["k"] != text || settings["k"] != text {
		t.Error("it comes back as something else")
	}
}

// lead makes the unit the leader for an hour and returns the lease.
func (w *world) lead(unit model.UnitName) store.LeaseID {
	w.Helper()
	lease, err := w.store.Grant(w.ctx, time.Hour)
	w.ok(err)
	leads, err := w.ClaimLeadership(w.ctx, unit, lease)
	w.ok(err)
	if !leads {
		w.Fatalf("%s doesn't lead", unit)
	}
	return lease
}

// everything is one change of each kind.
func everything(id model.RelationID) model.Changes {
	return model.Changes{
		Relations: map[model.RelationID]model.RelationChange{id: {
			Unit:        model.Settings{"port": "3306"},
			Application: model.Settings{"database": "shop"},
		}},
		Ports:           []model.PortChange{open(tcp(3306, 3306))},
		State:           map[string]*string{"primary": ptr("yes")},
		LeaderSettings:  model.Settings{"password": "x"},
		WorkloadVersion: ptr("8.0"),
		Storage:         map[string]int{"data": 2},
		Secrets: []model.SecretChange{{
			ID: "9m4e2mr0ui3e8a215n4g", Make: &model.SecretOwner{Kind: model.OwnedByApplication, Name: "mysql"},
			Content: model.SecretContent{"token": "czNjcmV0"},
		}},
		Epoch:  1,
		Reboot: model.RebootAfter,
		// Of these two the model has nothing: they are the agent's.
		Requeue: &model.Requeue{Reason: "not ready"},
	}
}

// written is what the model has of everything, in the order of its fields.
func (w *world) written(unit model.UnitName, id model.RelationID) []string {
	w.Helper()
	app := unit.Application()
	settings, err := w.Settings(w.ctx, id, unit)
	w.ok(err)
	appSettings, err := w.ApplicationSettings(w.ctx, id, app)
	w.ok(err)
	u, err := w.Unit(w.ctx, unit)
	w.ok(err)
	ports, err := w.Ports(w.ctx, u.Machine)
	w.ok(err)
	charmState, err := w.CharmState(w.ctx, unit)
	w.ok(err)
	leader, err := w.LeaderSettings(w.ctx, app)
	w.ok(err)
	var open []string
	for _, p := range ports[unit].All() {
		open = append(open, p.String())
	}
	return []string{settings["port"], appSettings["database"], strings.Join(open, " "), charmState["primary"], leader["password"], u.WorkloadVersion, w.secret("9m4e2mr0ui3e8a215n4g")["token"], w.storage()}
}

func TestCommitHook(t *testing.T) {
	t.Parallel()
	nothing := []string{"", "", "", "", "", "", "", ""}
	all := []string{"3306", "shop", "3306/tcp", "yes", "x", "8.0", "czNjcmV0", "data/0=mysql/0:pending data/1=mysql/0:pending"}

	t.Run("every kind of change is written, and the run stamped", func(t *testing.T) {
		t.Parallel()
		// A new field of Changes needs a line in everything and in written.
		for i, v := 0, reflect.ValueOf(everything(1)); i < v.NumField(); i++ {
			if v.Field(i).IsZero() {
				t.Errorf("Changes.%s isn't tried", v.Type().Field(i).Name)
			}
		}
		w, id := pair(t)
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 5, Changes: everything(id), LeaveScope: model.NoRelation}))
		if got := w.written("mysql/0", id); !reflect.DeepEqual(got, all) {
			t.Errorf("written: %q", got)
		}
		if run := w.snapshot("mysql/0").Unit.Run; run != 5 {
			t.Errorf("stamped with run %d", run)
		}
		w.members("wordpress/0", id, model.Member{Unit: "mysql/0", Version: 2}, model.Member{Unit: "mysql/1", Version: 1})
	})

	t.Run("a run that was stamped is committed already", func(t *testing.T) {
		t.Parallel()
		w, id := pair(t)
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 5, LeaveScope: model.NoRelation}))
		for _, run := range []int64{5, 4} {
			w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: run, Changes: everything(id), LeaveScope: id}))
		}
		if got := w.written("mysql/0", id); !reflect.DeepEqual(got, nothing) {
			t.Errorf("written: %q", got)
		}
		if s := w.snapshot("mysql/0"); s.Unit.Run != 5 || !s.Relations[1].InScope {
			t.Errorf("run %d, in scope %v", s.Unit.Run, s.Relations[1].InScope)
		}
	})

	t.Run("the broken hook's commit leaves the scope", func(t *testing.T) {
		t.Parallel()
		w, id := pair(t)
		w.ok(w.DestroyRelationID(w.ctx, id))
		w.leave("mysql/1", id)
		w.leave("wordpress/0", id)
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 5, Changes: everything(id), LeaveScope: id}))
		w.is("relation", w.relationLife(id), "gone")
		w.ok(w.RunCleanups(w.ctx))
		if keys := w.keys("m/" + w.UUID() + "/settings/1/"); len(keys) > 0 {
			t.Errorf("settings left: %v", keys)
		}
	})

	t.Run("what was written to a relation that is gone is dropped, the rest is not", func(t *testing.T) {
		t.Parallel()
		w, id := pair(t)
		w.ok(w.DestroyRelationID(w.ctx, id))
		for _, u := range []model.UnitName{"mysql/0", "mysql/1", "wordpress/0"} {
			w.leave(u, id)
		}
		c := everything(id)
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 5, Changes: c, LeaveScope: id}))
		w.ok(w.RunCleanups(w.ctx))
		if keys := w.keys("m/" + w.UUID() + "/settings/1/"); len(keys) > 0 {
			t.Errorf("settings of what is gone: %v", keys)
		}
		u, err := w.Unit(w.ctx, "mysql/0")
		w.ok(err)
		w.is("workload version", u.WorkloadVersion, "8.0")
	})

	for _, tt := range []struct {
		name  string
		spoil func(*world, model.RelationID, *model.Changes)
		is    error
		fails string
	}{
		{name: "application settings of one who leads no more",
			spoil: func(w *world, _ model.RelationID, c *model.Changes) {
				w.ok(w.ReleaseLeadership(w.ctx, "mysql/0"))
				c.LeaderSettings = nil
			},
			is: state.ErrNotLeader, fails: `cannot write the settings of "mysql" in relation 1: the unit is not the leader`},
		{name: "leader settings of one who leads no more",
			spoil: func(w *world, id model.RelationID, c *model.Changes) {
				w.ok(w.ReleaseLeadership(w.ctx, "mysql/0"))
				w.lead("mysql/1")
				c.Relations = map[model.RelationID]model.RelationChange{id: {Unit: model.Settings{"port": "3306"}}}
			},
			is: state.ErrNotLeader, fails: `cannot write the leader settings of "mysql": the unit is not the leader`},
		{name: "settings of one who has led, and leads anew",
			spoil: func(w *world, _ model.RelationID, c *model.Changes) {
				w.ok(w.ReleaseLeadership(w.ctx, "mysql/0"))
				w.lead("mysql/1")
				w.ok(w.ReleaseLeadership(w.ctx, "mysql/1"))
				w.lead("mysql/0")
			},
			is: state.ErrNotLeader, fails: `cannot write the settings of "mysql" in relation 1: the unit is not the leader`},
		{name: "more state than a charm may keep",
			spoil: func(_ *world, _ model.RelationID, c *model.Changes) {
				c.State["big"] = ptr(strings.Repeat("x", model.MaxStored))
			},
			is: errors.QuotaLimitExceeded, fails: "max allowed state size (1047552) exceeded by 26"},
		{name: "more settings than a databag may have",
			spoil: func(_ *world, id model.RelationID, c *model.Changes) {
				c.Relations = map[model.RelationID]model.RelationChange{id: {Unit: model.Settings{"big": strings.Repeat("x", model.MaxStored)}}}
			},
			is: errors.QuotaLimitExceeded, fails: "max allowed settings size (1047552) exceeded by 39"},
		{name: "more settings than one transaction takes",
			spoil: func(w *world, _ model.RelationID, c *model.Changes) {
				w.deploy("user db=requirer:mysql", 0)
				for i := range 70 {
					name := fmt.Sprintf("user%c%c", 'a'+i/26, 'a'+i%26)
					w.deploy(name+" db=requirer:mysql", 0)
					id := w.relate(name, "mysql")
					w.enter("mysql/0", id)
					c.Relations[id] = model.RelationChange{Unit: model.Settings{"a": "b"}}
				}
			},
			is: errors.QuotaLimitExceeded, fails: "the hook wrote more than one commit can take"},
		{name: "settings of a relation of others",
			spoil: func(w *world, _ model.RelationID, c *model.Changes) {
				w.deploy("other cluster=peer:other", 0)
				c.Relations[2] = model.RelationChange{Unit: model.Settings{"a": "b"}}
			},
			is: errors.NotValid, fails: `cannot write the settings of "mysql/0" in relation 2: it has no part in it`},
	} {
		t.Run("nothing is written, and no run stamped, with "+tt.name, func(t *testing.T) {
			t.Parallel()
			w, id := pair(t)
			c := everything(id)
			tt.spoil(w, id, &c)
			err := w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 5, Changes: c, LeaveScope: id})
			w.fails(err, tt.fails)
			if !errors.Is(err, tt.is) {
				t.Errorf("error is not %v", tt.is)
			}
			if got := w.written("mysql/0", id); !reflect.DeepEqual(got, nothing) {
				t.Errorf("written: %q", got)
			}
			if s := w.snapshot("mysql/0"); s.Unit.Run != 0 || !s.Relations[1].InScope {
				t.Errorf("run %d, in scope %v", s.Unit.Run, s.Relations[1].InScope)
			}
		})
	}

	t.Run("a unit that is gone is not found", func(t *testing.T) {
		t.Parallel()
		w, _ := pair(t)
		err := w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/9", Run: 1, LeaveScope: model.NoRelation})
		w.fails(err, `unit "mysql/9" not found`)
	})
}

func TestSettingsVersions(t *testing.T) {
	t.Parallel()
	w, id := pair(t)
	run := int64(0)
	commit := func(unit, app, leader model.Settings) {
		run++
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: run, LeaveScope: model.NoRelation, Changes: model.Changes{
			Relations:      map[model.RelationID]model.RelationChange{id: {Unit: unit, Application: app}},
			LeaderSettings: leader,
		}}))
	}
	for _, tt := range []struct {
		name   string
		change model.Settings
		unit   int // the version of the unit's settings; it entered with version 1
		others int // of the application's in the relation, and of the leader settings
	}{
		{"nothing", nil, 1, 0},
		{"a new key", model.Settings{"a": "1"}, 2, 1},
		{"the same value", model.Settings{"a": "1"}, 2, 1},
		{"another value", model.Settings{"a": "2"}, 3, 2},
		{"an empty value for a key that isn't there", model.Settings{"b": ""}, 3, 2},
		{"an empty value for a key that is", model.Settings{"a": ""}, 4, 3},
		{"several keys at once", model.Settings{"a": "1", "b": "2"}, 5, 4},
	} {
		commit(tt.change, tt.change, tt.change)
		s := w.snapshot("wordpress/0").Relations[0]
		if got := s.Members[0].Version; got != tt.unit {
			t.Errorf("%s: unit settings have version %d, want %d", tt.name, got, tt.unit)
		}
		if s.ApplicationVersion != tt.others {
			t.Errorf("%s: application settings have version %d, want %d", tt.name, s.ApplicationVersion, tt.others)
		}
		if got := w.snapshot("mysql/1").LeaderSettings; got != tt.others {
			t.Errorf("%s: leader settings have version %d, want %d", tt.name, got, tt.others)
		}
	}
	got, err := w.Settings(w.ctx, id, "mysql/0")
	w.ok(err)
	if want := (model.Settings{"private-address": "10.0.0.1", "a": "1", "b": "2"}); !maps.Equal(got, want) {
		t.Errorf("settings %v, want %v", got, want)
	}
}

func TestCharmState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(mysql, 1)
	for i, tt := range []struct {
		change, want map[string]string // "-" deletes
	}{
		{map[string]string{"a": "1", "b": "2"}, map[string]string{"a": "1", "b": "2"}},
		{map[string]string{"a": "", "b": "-"}, map[string]string{"a": ""}},
		{map[string]string{"nope": "-"}, map[string]string{"a": ""}},
	} {
		change := map[string]*string{}
		for k, v := range tt.change {
			change[k] = &v
			if v == "-" {
				change[k] = nil
			}
		}
		w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: int64(i + 1), LeaveScope: model.NoRelation,
			Changes: model.Changes{State: change}}))
		got, err := w.CharmState(w.ctx, "mysql/0")
		w.ok(err)
		if !maps.Equal(got, tt.want) {
			t.Errorf("after %v: %v, want %v", tt.change, got, tt.want)
		}
	}
}
