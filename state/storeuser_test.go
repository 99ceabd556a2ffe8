package state_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

func rightsOf(t *testing.T, c *state.Controller, names ...string) (rights store.Rights, trusted bool, err error) {
	t.Helper()
	_, viewed := c.Store().View(t.Context(), func(r store.Reader) error {
		rights, trusted, err = c.StoreRights(r, names)
		return nil
	})
	if viewed != nil {
		t.Fatal(viewed)
	}
	return rights, trusted, err
}

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
		rights, trusted, err := rightsOf(t, c, names...)
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
	if rights, trusted, err := rightsOf(t, c, "alice"); err != nil || len(rights) > 0 || trusted {
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
	rights, trusted, err := rightsOf(t, c, "alice")
	if err != nil || len(rights) > 0 || trusted {
		t.Errorf("rights are %v, %v", rights, err)
	}
}

// TestNobodyLogsAChangeAsSomebodyElse, nor another one in place of what is logged. What an import writes
// stays as it is.
func TestNobodyLogsAChangeAsSomebodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := state.NewController(w.store, w.clock)
	at, other := "m/"+w.UUID()+"/logged/", "m/none/logged/000000000"
	there, next := at+"000000000", at+"000000001"
	if _, err := w.store.Update(ctx, func(tx store.Tx) error { return tx.Put(there, []byte(`{"user":"alice"}`)) }); err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct{ key, value, want string }{
		{next, `{"user":"alice"}`, `{"user":"alice"}`},
		{next, `{"user":"1000"}`, `{"user":"1000"}`},
		{next, `{"user":"bob as alice"}`, `{"user":"bob as alice"}`},
		{next, `{"more":[12345678901234567],"user":"bob"}`, `{"more":[12345678901234567],"user":"alice (says bob)"}`},
		{next, `{"user":"alice as bob"}`, `{"user":"alice (says alice as bob)"}`},
		{next, `{"user":"%1000"}`, `{"user":"alice (says %1000)"}`},
		{next, `{"user":7}`, `{"user":"alice (says )"}`},
		{next, `[]`, ""},
		{next, "rubbish", ""},
		{there, `{"user":"alice"}`, ""},
		{other, `{"user":"bob"}`, `{"user":"bob"}`},
		{"m/" + w.UUID() + "/logged-next", "2", "2"},
		{"m/" + w.UUID() + "/unit/logged/0", `{"user":"bob"}`, `{"user":"bob"}`},
		{"models/logged/0", `{"user":"bob"}`, `{"user":"bob"}`},
	} {
		if _, err := w.store.View(ctx, func(r store.Reader) error {
			got, err := c.LoggedAs(r, of.key, []byte(of.value), []string{"alice", "1000", "%1000"})
			if strings.TrimSpace(string(got)) != of.want || (err == nil) != (of.want != "") || err != nil && !errors.Is(err, errors.NotValid) {
				t.Errorf("%s of %s: %s, %v", of.value, of.key, got, err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNobodyGetsRightsByWhatHeWrites: who may write a model's entry may write there that it is
// another one's, or what nobody can read.
func TestNobodyGetsRightsByWhatHeWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	c := state.NewController(w.store, w.clock)
	one, err := c.AddModel(ctx, "one")
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []state.StoreUser{{Name: "alice", Role: state.RoleOperator, Model: "one", UUID: one.UUID()}, {Name: "eve", Role: "emperor"}} {
		if err := c.SetStoreUser(ctx, u); err != nil {
			t.Fatal(err)
		}
	}
	for _, entry := range []string{`{"name":"shop","uuid":"` + one.UUID() + `"}`, "rubbish"} {
		if _, err := w.store.Update(ctx, func(tx store.Tx) error { return tx.Put("models/one", []byte(entry)) }); err != nil {
			t.Fatal(err)
		}
		if rights, _, err := rightsOf(t, c, "alice"); err != nil || rights.MayWrite("models/shop") {
			t.Errorf("with %s she has %v, %v", entry, rights, err)
		}
	}
	for entry, may := range map[string]bool{
		`{"name":"two","uuid":"2","type":"caas"}`: true, `{"name":"two","uuid":"3"}`: false, `{"name":"shop","uuid":"2"}`: false, "rubbish": false, `{}`: false,
	} {
		if _, err := w.store.Update(ctx, func(tx store.Tx) error {
			if err := tx.Put("models/two", []byte(`{"name":"two","uuid":"2"}`)); err != nil {
				return err
			}
			if err := c.CheckEntry(tx, "models/two", []byte(entry)); (err == nil) != may || err != nil && !errors.Is(err, errors.NotValid) {
				t.Errorf("the entry %s: %v", entry, err)
			}
			if err := c.CheckEntry(tx, "models/none", []byte(entry)); !errors.Is(err, errors.NotValid) {
				t.Errorf("the entry %s of no model: %v", entry, err)
			}
			return tx.Delete("models/two")
		}); err != nil {
			t.Fatal(err)
		}
	}
	if rights, trusted, err := rightsOf(t, c, "eve"); err != nil || rights.Writes() || trusted {
		t.Errorf("one with an unknown role has %v, %v, %v", rights, trusted, err)
	}
	if _, err := w.store.Update(ctx, func(tx store.Tx) error { return tx.Delete("models/one") }); err != nil {
		t.Fatal(err)
	}
}
