package state_test

import (
	"slices"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// TestStoreUsers gives roles, and takes them.
func TestStoreUsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := state.NewController(w.store, w.clock)
	one, err := c.AddModel(ctx, "one")
	if err != nil {
		t.Fatal(err)
	}
	two, err := c.AddModel(ctx, "two")
	if err != nil {
		t.Fatal(err)
	}
	set := func(name string, role state.Role, m *state.Model) {
		t.Helper()
		u := state.StoreUser{Name: name, Role: role}
		if m != nil {
			u.Model, u.UUID = m.Name(), m.UUID()
		}
		if err := c.SetStoreUser(ctx, u); err != nil {
			t.Fatal(err)
		}
	}
	may := func(names []string, read, write string) (bool, bool) {
		t.Helper()
		rights, trusted, err := c.StoreRights(ctx, names)
		if err != nil {
			t.Fatal(err)
		}
		if was := slices.ContainsFunc(names, func(name string) bool { return name != "grafana" && name != "ops" }); trusted != was {
			t.Errorf("%v are trusted: %v", names, trusted)
		}
		return rights.MayRead(store.Below(read)), rights.MayWrite(write)
	}
	ofOne, ofTwo := "m/"+one.UUID()+"/", "m/"+two.UUID()+"/"
	set("alice", state.RoleOperator, one)
	set("alice", state.RoleReader, two)
	set("%ops", state.RoleAgent, two)
	set("root", state.RoleOperator, nil)
	set("grafana", state.RoleReader, nil)
	for _, tt := range []struct {
		names       []string
		below, key  string
		read, write bool
	}{
		{[]string{"alice"}, ofOne, ofOne + "unit/a/0", true, true},
		{[]string{"alice"}, "blob", "blob/x", true, true},
		{[]string{"alice"}, ofTwo, ofTwo + "unit/a/0", true, false},
		{[]string{"alice"}, ofTwo, ofTwo + "question/0/x", true, true},
		{[]string{"alice"}, ofTwo, ofTwo + "request/0/x", true, false},
		{[]string{"alice"}, "models/", "models/one", true, true},
		{[]string{"alice"}, "models/", "models/two", true, false},
		{[]string{"alice"}, "m/", "controller/users", false, false},
		{[]string{"bob", "%ops"}, ofTwo, ofTwo + "unit/a/0", true, true},
		{[]string{"bob", "%ops"}, "blob", "blob/x", true, false},
		{[]string{"bob", "%ops"}, ofOne, ofOne + "unit/a/0", false, false},
		{[]string{"ops"}, ofTwo, ofTwo, false, false},
		{[]string{"root"}, "", "controller/users", true, true},
		{[]string{"grafana"}, "", "controller/users", true, false},
		{nil, "models/", "models/one", false, false},
	} {
		if read, write := may(tt.names, tt.below, tt.key); read != tt.read || write != tt.write {
			t.Errorf("%v may read below %q: %v, and write %q: %v", tt.names, tt.below, read, tt.key, write)
		}
	}
	if err := c.RemoveStoreUser(ctx, "alice"); err != nil {
		t.Fatal(err)
	}
	if err := c.RemoveStoreUser(ctx, "alice"); !errors.Is(err, errors.NotFound) {
		t.Errorf("removed again: %v", err)
	}
	if rights, trusted, err := c.StoreRights(ctx, []string{"alice"}); err != nil || len(rights) > 0 || trusted {
		t.Errorf("alice still has %v, %v", rights, err)
	}
	users, err := c.StoreUsers(ctx)
	if err != nil || len(users) != 3 || users[0].Name != "%ops" {
		t.Errorf("users are %v, %v", users, err)
	}
}

// TestARoleEndsWithItsModel: one of the same name that is made later isn't the same.
func TestARoleEndsWithItsModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := state.NewController(w.store, w.clock)
	former, err := c.AddModel(ctx, "other")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetStoreUser(ctx, state.StoreUser{Name: "alice", Role: state.RoleOperator, Model: "other", UUID: former.UUID()}); err != nil {
		t.Fatal(err)
	}
	if err := former.Destroy(ctx, false); err != nil {
		t.Fatal(err)
	}
	if gone, err := former.RemoveIfEmpty(ctx); err != nil || !gone {
		t.Fatalf("removed: %v, %v", gone, err)
	}
	if _, err := c.AddModel(ctx, "other"); err != nil {
		t.Fatal(err)
	}
	rights, trusted, err := c.StoreRights(ctx, []string{"alice"})
	if err != nil || len(rights) > 0 || trusted {
		t.Errorf("rights are %v, %v", rights, err)
	}
}
