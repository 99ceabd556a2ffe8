package main

import (
	"testing"

	"github.com/unitd/unitd/model"
)

func TestACharmWithUsersOfItsOwnNeedsRoot(t *testing.T) {
	t.Parallel()
	id := func(n int) *int { return &n }
	on := model.Isolation{Mode: model.IsolateFiles}
	containers := func(uid, gid *int) map[string]model.ContainerSpec {
		return map[string]model.ContainerSpec{"a": {}, "store": {UID: uid, GID: gid}}
	}
	for _, c := range []struct {
		uid   int
		how   model.Isolation
		charm model.Charm
		want  string
	}{
		{1000, on, model.Charm{CharmUser: model.CharmUserRoot, Containers: containers(nil, id(0))}, ""},
		{1000, on, model.Charm{CharmUser: model.CharmUserSudoer}, "charm-user is sudoer"},
		{1000, on, model.Charm{Containers: containers(id(170), id(5))}, "container store has uid 170"},
		{1000, on, model.Charm{Containers: containers(id(0), id(5))}, "container store has gid 5"},
		{1000, model.Isolation{}, model.Charm{CharmUser: model.CharmUserNonRoot}, ""},
		{0, on, model.Charm{CharmUser: model.CharmUserNonRoot}, ""},
	} {
		c.charm.Name = "app"
		want := ""
		if c.want != "" {
			want = `charm "app" needs unitd to run as root: its ` + c.want + `, and without root there is only one user in its containers`
		}
		got := ""
		if err := checkUsers(c.uid, c.how, c.charm); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
