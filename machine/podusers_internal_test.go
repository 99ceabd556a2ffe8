package machine

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/workload"
)

// TestAUmaskKeepsNothingFromTheUsersInAUnit: an agent that was started with 077 has made
// what is there.
func TestAUmaskKeepsNothingFromTheUsersInAUnit(t *testing.T) {
	t.Parallel()
	u := &unit{dir: t.TempDir()}
	token := filepath.Join(u.accountDir(), "token")
	if err := os.MkdirAll(u.accountDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(token, []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := u.keepAccount(map[string][]byte{"token": []byte("t")}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{u.accountDir(): 0o755, token: 0o644} {
		if is, err := os.Stat(path); err != nil || is.Mode().Perm() != want {
			t.Errorf("%s: got %v, want %v (%v)", path, is.Mode(), want, err)
		}
	}
}

// TestUsersOfAUnitsContainers is the table of docs/spec/containers.md §5.3: whom the
// hooks run as, and the Pebbles of a container without a uid, and of one with.
func TestUsersOfAUnitsContainers(t *testing.T) {
	t.Parallel()
	id := 584792
	groups := []int{170}
	for _, row := range []struct {
		user  string // charm-user
		ids   bool   // some container has a uid
		charm isolate.Person
		image bool // Pebble runs as whom the image says
	}{
		{"", false, isolate.Person{}, false},
		{"", true, isolate.Person{Groups: groups}, true},
		{model.CharmUserRoot, false, isolate.Person{Groups: groups}, true},
		{model.CharmUserSudoer, false, isolate.Person{UID: 171, GID: 171, Groups: groups, Home: "/home/sjuju"}, true},
		{model.CharmUserNonRoot, true, isolate.Person{UID: 170, GID: 170, Groups: groups, Home: "/home/juju"}, true},
	} {
		c := model.Charm{CharmUser: row.user, Containers: map[string]model.ContainerSpec{"a": {}}}
		own := workload.User{Image: row.image}
		if row.image {
			own.Groups = groups
		}
		if row.ids {
			c.Containers["b"] = model.ContainerSpec{UID: &id, GID: &id}
			named := workload.User{Image: true, UID: &id, GID: &id, Groups: groups}
			if got := userOf(c, c.Containers["b"]); !reflect.DeepEqual(got, named) {
				t.Errorf("charm-user %q: a container with a uid runs as %+v", row.user, got)
			}
		}
		if got := charmPerson(c); !reflect.DeepEqual(got, row.charm) {
			t.Errorf("charm-user %q, a uid %v: hooks run as %+v, want %+v", row.user, row.ids, got, row.charm)
		}
		if got := userOf(c, c.Containers["a"]); !reflect.DeepEqual(got, own) {
			t.Errorf("charm-user %q, a uid %v: Pebble runs as %+v, want %+v", row.user, row.ids, got, own)
		}
	}
}
