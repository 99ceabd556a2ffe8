package deploy

import (
	"errors"
	"testing"

	"github.com/unitd/unitd/model"
)

func TestACharmWithUsersOfItsOwnNeedsRoot(t *testing.T) {
	t.Parallel()
	alone := errors.New("there is no newuidmap")
	id := func(n int) *int { return &n }
	on := model.Isolation{Mode: model.IsolateFiles}
	containers := func(uid, gid *int) map[string]model.ContainerSpec {
		return map[string]model.ContainerSpec{"a": {}, "store": {UID: uid, GID: gid}}
	}
	for _, c := range []struct {
		single error
		how    model.Isolation
		charm  model.Charm
		want   string
	}{
		{alone, on, model.Charm{CharmUser: model.CharmUserRoot, Containers: containers(nil, id(0))}, ""},
		{alone, on, model.Charm{CharmUser: model.CharmUserSudoer}, "charm-user is sudoer"},
		{alone, on, model.Charm{Containers: containers(id(170), id(5))}, "container store has uid 170"},
		{alone, on, model.Charm{Containers: containers(id(0), id(5))}, "container store has gid 5"},
		{alone, model.Isolation{}, model.Charm{CharmUser: model.CharmUserNonRoot}, ""},
		{nil, on, model.Charm{CharmUser: model.CharmUserNonRoot}, ""},
	} {
		c.charm.Name = "app"
		want := ""
		if c.want != "" {
			want = `charm "app" needs unitd to run as root, or as a user with subordinate ids: its ` + c.want + `, and there is only one user in its containers, as there is no newuidmap`
		}
		got := ""
		if err := CheckUsers(func() error { return c.single }, c.how, c.charm); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
