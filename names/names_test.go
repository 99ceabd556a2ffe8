package names_test

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/names"
)

// two is a model of two applications: app has an address of its own, db has none.
func two() names.Model {
	return names.Model{Name: "m", Applications: []names.Application{
		{Name: "db", Units: []names.Unit{{Name: "db/10", Address: "10.64.0.7", Ready: true}, {Name: "db/2", Address: "10.64.0.6", Ready: true}, {Name: "db/3", Address: "10.64.0.8"}}},
		{Name: "app", Address: "10.64.3.254", Units: []names.Unit{{Name: "app/0", Address: "10.64.0.2", Ready: true}, {Name: "app/1", Ready: true}}},
	}}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		own    names.Own
		models []names.Model
		want   string
	}{
		{
			name: "a unit alone knows itself by its full name, and then its host name",
			own:  names.Own{Model: "m", Unit: "app/0", Address: "10.64.0.2"},
			want: "10.64.0.2 app-0.app-endpoints.m.svc.cluster.local app-0.m app-0\n",
		},
		{
			name: "without an address it finds itself by the loopback device (K-108)",
			own:  names.Own{Model: "m", Unit: "app/0"},
			want: "127.0.1.1 app-0.app-endpoints.m.svc.cluster.local app-0.m app-0\n127.0.0.1 localhost\n",
		},
		{
			name:   "the own line is the first with its address; endpoints are all units, by number; who isn't ready is found as well (K-102, K-103)",
			own:    names.Own{Model: "m", Unit: "db/2", Address: "10.64.0.6"},
			models: []names.Model{two()},
			want: "10.64.0.6 db-2.db-endpoints.m.svc.cluster.local db-2.m db-2\n" +
				"10.64.0.2 app-0.app-endpoints.m.svc.cluster.local app-0.m app-0\n" +
				"10.64.0.2 app-endpoints.m.svc.cluster.local\n" +
				"10.64.3.254 app.m.svc.cluster.local\n" +
				"10.64.0.8 db-3.db-endpoints.m.svc.cluster.local db-3.m db-3\n" +
				"10.64.0.7 db-10.db-endpoints.m.svc.cluster.local db-10.m db-10\n" +
				"10.64.0.6 db-endpoints.m.svc.cluster.local\n" +
				"10.64.0.8 db-endpoints.m.svc.cluster.local\n" +
				"10.64.0.7 db-endpoints.m.svc.cluster.local\n" +
				"10.64.0.6 db.m.svc.cluster.local\n" +
				"10.64.0.7 db.m.svc.cluster.local\n",
		},
		{
			name:   "who shares the host's network, which is only told by its loopback address, isn't found from another one",
			own:    names.Own{Model: "m", Unit: "app/0", Address: "10.64.0.2"},
			models: []names.Model{{Name: "m", Applications: []names.Application{{Name: "db", Units: []names.Unit{{Name: "db/0", Address: "127.0.0.1", Ready: true}}}}}},
			want:   "10.64.0.2 app-0.app-endpoints.m.svc.cluster.local app-0.m app-0\n",
		},
		{
			name:   "but by who shares it too; the address is localhost first",
			own:    names.Own{Model: "m", Unit: "app/0"},
			models: []names.Model{{Name: "m", Applications: []names.Application{{Name: "db", Units: []names.Unit{{Name: "db/0", Address: "127.0.0.1", Ready: true}}}}}},
			want: "127.0.1.1 app-0.app-endpoints.m.svc.cluster.local app-0.m app-0\n" +
				"127.0.0.1 localhost\n" +
				"127.0.0.1 db-0.db-endpoints.m.svc.cluster.local db-0.m db-0\n" +
				"127.0.0.1 db-endpoints.m.svc.cluster.local\n" +
				"127.0.0.1 db.m.svc.cluster.local\n",
		},
		{
			name: "short names are what the search list would find, of other models with the model's name",
			own:  names.Own{Model: "m", Unit: "app/0", Address: "10.64.0.2", Short: true},
			models: []names.Model{
				{Name: "n", Applications: []names.Application{{Name: "app", Address: "10.64.3.1"}}},
				{Name: "m", Applications: []names.Application{{Name: "localhost", Address: "10.64.3.2"}}},
			},
			want: "10.64.0.2 app-0.app-endpoints.m.svc.cluster.local app-0.app-endpoints.m.svc app-0.app-endpoints.m app-0.app-endpoints app-0.m app-0\n" +
				"10.64.3.2 localhost.m.svc.cluster.local localhost.m.svc localhost.m\n" +
				"10.64.3.1 app.n.svc.cluster.local app.n.svc app.n\n",
		},
		{
			name: "units of other models are found by their model's name alone",
			own:  names.Own{Model: "m", Unit: "app/0", Address: "10.64.0.2"},
			models: []names.Model{{Name: "n", Applications: []names.Application{
				{Name: "app", Address: "10.64.3.1", Units: []names.Unit{{Name: "app/0", Address: "10.64.0.9"}}},
			}}},
			want: "10.64.0.2 app-0.app-endpoints.m.svc.cluster.local app-0.m app-0\n" +
				"10.64.0.9 app-0.app-endpoints.n.svc.cluster.local app-0.n\n" +
				"10.64.0.9 app-endpoints.n.svc.cluster.local\n" +
				"10.64.3.1 app.n.svc.cluster.local\n",
		},
		{
			name: "a search list's name of a unit isn't another one's, of a model that is called so",
			own:  names.Own{Model: "m", Unit: "a/0", Address: "10.64.0.2", Short: true},
			models: []names.Model{{Name: "a-endpoints", Applications: []names.Application{
				{Name: "a", Address: "10.64.3.1", Units: []names.Unit{{Name: "a/0", Address: "10.64.0.9"}}},
			}}},
			want: "10.64.0.2 a-0.a-endpoints.m.svc.cluster.local a-0.a-endpoints.m.svc a-0.a-endpoints.m a-0.a-endpoints a-0.m a-0\n" +
				"10.64.0.9 a-0.a-endpoints.a-endpoints.svc.cluster.local a-0.a-endpoints.a-endpoints.svc a-0.a-endpoints.a-endpoints\n" +
				"10.64.0.9 a-endpoints.a-endpoints.svc.cluster.local a-endpoints.a-endpoints.svc a-endpoints.a-endpoints\n" +
				"10.64.3.1 a.a-endpoints.svc.cluster.local a.a-endpoints.svc a.a-endpoints\n",
		},
		{
			name: "IPv6 addresses come after the others; units that have none are found all the same",
			own:  names.Own{Model: "m", Unit: "app/0", Address: "10.64.0.2", IPv6: "fd00::2"},
			models: []names.Model{{Name: "m", Applications: []names.Application{{Name: "db", Units: []names.Unit{
				{Name: "db/0", Address: "10.64.0.3", IPv6: "fd00::3", Ready: true}, {Name: "db/1", Address: "10.64.0.4", Ready: true},
			}}}}},
			want: "10.64.0.2 app-0.app-endpoints.m.svc.cluster.local app-0.m app-0\n" +
				"fd00::2 app-0.app-endpoints.m.svc.cluster.local app-0.m app-0\n" +
				"10.64.0.3 db-0.db-endpoints.m.svc.cluster.local db-0.m db-0\n" +
				"fd00::3 db-0.db-endpoints.m.svc.cluster.local db-0.m db-0\n" +
				"10.64.0.4 db-1.db-endpoints.m.svc.cluster.local db-1.m db-1\n" +
				"10.64.0.3 db-endpoints.m.svc.cluster.local\n" +
				"fd00::3 db-endpoints.m.svc.cluster.local\n" +
				"10.64.0.4 db-endpoints.m.svc.cluster.local\n" +
				"10.64.0.3 db.m.svc.cluster.local\n" +
				"fd00::3 db.m.svc.cluster.local\n" +
				"10.64.0.4 db.m.svc.cluster.local\n",
		},
		{
			name: "a unit that has no IPv6 address, whose cell is of a former agent, finds none; one on the host does",
			own:  names.Own{Model: "m", Unit: "app/0", Address: "10.64.0.2"},
			models: []names.Model{{Name: "m", Applications: []names.Application{
				{Name: "db", Address: "10.64.3.1", Units: []names.Unit{{Name: "db/0", Address: "10.64.0.3", IPv6: "fd00::3", Ready: true}}},
			}}},
			want: "10.64.0.2 app-0.app-endpoints.m.svc.cluster.local app-0.m app-0\n" +
				"10.64.0.3 db-0.db-endpoints.m.svc.cluster.local db-0.m db-0\n" +
				"10.64.0.3 db-endpoints.m.svc.cluster.local\n" +
				"10.64.3.1 db.m.svc.cluster.local\n",
		},
		{
			name:   "that is for those who have the host's network",
			own:    names.Own{Model: "m", Unit: "app/0"},
			models: []names.Model{{Name: "m", Applications: []names.Application{{Name: "db", Address: "10.64.3.1", Units: []names.Unit{{Name: "db/0", Address: "10.64.0.3", IPv6: "fd00::3"}}}}}},
			want: "127.0.1.1 app-0.app-endpoints.m.svc.cluster.local app-0.m app-0\n" +
				"127.0.0.1 localhost\n" +
				"10.64.0.3 db-0.db-endpoints.m.svc.cluster.local db-0.m db-0\n" +
				"fd00::3 db-0.db-endpoints.m.svc.cluster.local db-0.m db-0\n" +
				"10.64.0.3 db-endpoints.m.svc.cluster.local\n" +
				"fd00::3 db-endpoints.m.svc.cluster.local\n" +
				"10.64.3.1 db.m.svc.cluster.local\n",
		},
		{
			name:   "a unit that finds names as a pod does finds IPv4 addresses only, its own too",
			own:    names.Own{Model: "m", Unit: "a/0", Address: "10.64.0.2", IPv6: "fd00::2", Short: true},
			models: []names.Model{{Name: "m", Applications: []names.Application{{Name: "b", Address: "10.64.3.1", Units: []names.Unit{{Name: "b/0", Address: "10.64.0.3", IPv6: "fd00::3"}}}}}},
			want: "10.64.0.2 a-0.a-endpoints.m.svc.cluster.local a-0.a-endpoints.m.svc a-0.a-endpoints.m a-0.a-endpoints a-0.m a-0\n" +
				"10.64.0.3 b-0.b-endpoints.m.svc.cluster.local b-0.b-endpoints.m.svc b-0.b-endpoints.m b-0.b-endpoints b-0.m b-0\n" +
				"10.64.0.3 b-endpoints.m.svc.cluster.local b-endpoints.m.svc b-endpoints.m b-endpoints\n" +
				"10.64.3.1 b.m.svc.cluster.local b.m.svc b.m b\n",
		},
	} {
		got := strings.ReplaceAll(names.Hosts(test.own, test.models), "\t", " ")
		if got != test.want {
			t.Errorf("%s: got\n%swant\n%s", test.name, got, test.want)
		}
	}
}

func TestEditKeepsWhatIsTheUnits(t *testing.T) {
	t.Parallel()
	const (
		begin = "# unitd: the names of units; this part is kept current by the agent\n"
		end   = "# unitd: end of the names of units\n"
		lines = "10.64.0.2\tfull app-0\n"
		block = begin + lines + end
	)
	for _, test := range []struct{ name, file, want string }{
		{"an empty file", "", block},
		{"names come first, what there was stays", "127.0.0.1 localhost\n# mine\n10.0.0.1 x", block + "127.0.0.1 localhost\n# mine\n10.0.0.1 x\n"},
		{"the line that hides the full name goes", "127.0.0.1 localhost\n10.64.0.2 app-0\n::1 localhost\n", block + "127.0.0.1 localhost\n::1 localhost\n"},
		{"that of a unit without an address too", "127.0.1.1 app-0\n127.0.1.1 app-0 other\n", block + "127.0.1.1 app-0 other\n"},
		{"former names are replaced where they are", "10.0.0.1 x\n" + begin + "1.2.3.4 old\n" + end + "10.64.0.2 app-0\n", "10.0.0.1 x\n" + block + "10.64.0.2 app-0\n"},
		{"what comes after a begin without an end is the unit's", begin + "1.2.3.4 x\n", block + "1.2.3.4 x\n"},
		{"an end alone goes", end + "1.2.3.4 x\n", block + "1.2.3.4 x\n"},
	} {
		if got := names.Edit(test.file, lines); got != test.want {
			t.Errorf("%s: got\n%swant\n%s", test.name, got, test.want)
		}
		if got := names.Edit(test.want, lines); got != test.want {
			t.Errorf("%s, once more: got\n%s", test.name, got)
		}
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("127.0.0.1 localhost\n", "10.0.0.1 a b\n", "10.0.0.2 a b\n")
	f.Fuzz(func(t *testing.T, file, first, second string) {
		if strings.Contains(first+second, "# unitd") || first != "" && !strings.HasSuffix(first, "\n") || second != "" && !strings.HasSuffix(second, "\n") {
			t.Skip()
		}
		once := names.Edit(file, first)
		if again := names.Edit(once, first); again != once {
			t.Errorf("%q becomes %q, and then %q", file, once, again)
		}
		if there, back := names.Edit(once, second), names.Edit(names.Edit(once, second), first); back != once {
			t.Errorf("%q, by %q, comes back as %q", once, there, back)
		}
	})
}

func TestResolv(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, host, want string }{
		{"a host that knows no server", "", "search m.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"},
		{
			"servers stay, the host's search list comes last, its ndots goes",
			"# made by x\nnameserver 192.0.2.1\ndomain old\nsearch lan cluster.local\noptions ndots:1 edns0\nnameserver 192.0.2.2\n",
			"search m.svc.cluster.local svc.cluster.local cluster.local lan\nnameserver 192.0.2.1\nnameserver 192.0.2.2\noptions ndots:5 edns0\n",
		},
	} {
		if got := names.Resolv(test.host, "m"); got != test.want {
			t.Errorf("%s: got\n%swant\n%s", test.name, got, test.want)
		}
		if got := names.Resolv(test.want, "m"); got != test.want {
			t.Errorf("%s, once more: got\n%s", test.name, got)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	u := model.NewUnitName("web-app", 12)
	for got, want := range map[string]string{
		names.Host(u):                 "web-app-12",
		names.FQDN("m", u):            "web-app-12.web-app-endpoints.m.svc.cluster.local",
		names.Endpoints("m", "web"):   "web-endpoints.m.svc.cluster.local",
		names.Service("m", "web-app"): "web-app.m.svc.cluster.local",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
