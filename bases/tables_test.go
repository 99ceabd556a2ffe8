package bases

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/unitd/unitd/model"
)

func TestWhatABaseIsFetchedFrom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		from Kind
		has  bool
		want string
	}{
		{"debian@12", "", true, "debootstrap bookworm"},
		{"debian@12", "", false, "image docker.io/library/debian:12"},
		{"debian@12", Image, true, "image docker.io/library/debian:12"},
		{"ubuntu@25.10", "", true, "image docker.io/library/ubuntu:25.10"},
		{"ubuntu@25.10", Debootstrap, true, "can't be fetched by debootstrap"},
		{"debian@12", Debootstrap, false, "debootstrap isn't installed"},
		{"centos@9", "", true, "can't be fetched"},
	} {
		base, err := model.ParseBase(c.name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := choose(base, c.from, c.has)
		got := r.source()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s from %q, has %v: %s, want %s", c.name, c.from, c.has, got, c.want)
		}
	}
}

func TestFlagsWinOverTheHost(t *testing.T) {
	t.Parallel()
	host := Host{Mirror: "http://m/debian", Security: "http://m/security", HTTP: "http://u:secret@p:1", HTTPS: "http://q:2", Direct: []string{"a.example", ".b.example"}, CAs: []CA{{Name: "x"}}}
	for _, c := range []struct {
		asked Asked
		host  Host
		want  settings
		taken string
	}{
		{Asked{}, Host{}, settings{}, ""},
		{
			Asked{}, host, settings{mirror: "http://m/debian", security: "http://m/security", http: host.HTTP, https: "http://q:2", direct: host.Direct, kept: true, cas: host.CAs},
			"the archive http://m/debian; the proxy http://u:xxxxx@p:1; the CA certificates x",
		},
		{Asked{Mirror: DefaultMirror, Proxy: NoProxy, NoCAs: true}, host, settings{noProxy: true}, ""},
		{
			Asked{Mirror: "http://n", Proxy: "http://r", CAs: []CA{{Name: "y"}}}, host,
			settings{mirror: "http://n", http: "http://r", https: "http://r", kept: true, cas: []CA{{Name: "y"}}, caAsked: true}, "",
		},
		{Asked{}, Host{HTTP: "http://127.0.0.1:3128"}, settings{http: "http://127.0.0.1:3128"}, "the proxy http://127.0.0.1:3128 (only while the base is made: units' machines can't reach it)"},
	} {
		got, taken := settle(c.asked, c.host)
		if !reflect.DeepEqual(got, c.want) || taken != c.taken {
			t.Errorf("%+v: got %+v and %q, want %+v and %q", c.asked, got, taken, c.want, c.taken)
		}
	}
	s, _ := settle(Asked{}, host)
	want := "Acquire::http::Proxy \"http://u:secret@p:1\";\nAcquire::https::Proxy \"http://q:2\";\nAcquire::http::Proxy::a.example \"DIRECT\";\nAcquire::https::Proxy::a.example \"DIRECT\";\n"
	if got := s.aptProxy(); got != want {
		t.Errorf("apt is told %q, want %q", got, want)
	}
	for host, direct := range map[string]bool{"a.example": true, "x.b.example": true, "c.example": false, "localhost": true} {
		if s.goesDirect(host) != direct {
			t.Errorf("%s goes direct: %v", host, !direct)
		}
	}
}

func TestTheHostsArchive(t *testing.T) {
	t.Parallel()
	const release = "ID=debian\nVERSION_CODENAME=bookworm\n"
	const sources = "Types: deb\n# old\nURIs: http://m.example/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\nTypes: deb\nURIs: http://m.example/security\nSuites: bookworm-security\nComponents: main\n"
	for _, c := range []struct{ distribution, name, text, mirror, security string }{
		{"debian", "sources.list.d/debian.sources", sources, "http://m.example/debian", "http://m.example/security"},
		{"ubuntu", "sources.list.d/debian.sources", sources, "", ""},
		{"debian", "sources.list.d/debian.sources", strings.ReplaceAll(sources, "Types: deb", "Enabled: no\nTypes: deb"), "", ""},
		{"debian", "sources.list", "deb [signed-by=/x] https://n.example/d bookworm main # own\ndeb-src https://o.example/d bookworm main\n", "https://n.example/d", ""},
		{"debian", "sources.list", "deb http://deb.debian.org/debian bookworm main\n", "", ""},
		{"debian", "sources.list", "deb file:/srv/d bookworm main\ndeb https://tools.example/d stable main\n", "", ""},
	} {
		root := fstest.MapFS{"etc/os-release": {Data: []byte(release)}, "etc/apt/" + c.name: {Data: []byte(c.text)}}
		if mirror, security := archives(root, c.distribution); mirror != c.mirror || security != c.security {
			t.Errorf("%s of %q: got %q and %q, want %q and %q", c.distribution, c.text, mirror, security, c.mirror, c.security)
		}
	}
}

func TestTheHostsProxies(t *testing.T) {
	t.Parallel()
	env := map[string]string{"http_proxy": "http://e:1", "HTTPS_PROXY": "http://e:2", "no_proxy": "a, .b"}
	for _, c := range []struct{ config, http, https string }{
		{"", "http://e:1", "http://e:2"},
		{"Acquire \"\";\nAcquire::http::Proxy \"http://c:3\";\n", "http://c:3", "http://e:2"},
	} {
		http, https, direct := proxies(c.config, func(n string) string { return env[n] })
		if http != c.http || https != c.https || !reflect.DeepEqual(direct, []string{"a", ".b"}) {
			t.Errorf("%q: %s, %s, %v", c.config, http, https, direct)
		}
	}
}

func TestArchivesGiveWayToAMirror(t *testing.T) {
	t.Parallel()
	const m, s = "http://m/d", "http://m/s"
	for _, c := range []struct{ text, security, want string }{
		{"deb http://deb.debian.org/debian bookworm main\n", "", "deb http://m/d bookworm main\n"},
		{"URIs: http://ftp.de.debian.org/debian/\n", "", "URIs: http://m/d\n"},
		{"deb http://security.debian.org/debian-security x main", "", "deb http://security.debian.org/debian-security x main"},
		{"deb\thttp://deb.debian.org/debian-security x main", s, "deb\thttp://m/s x main"},
		{"URIs: http://de.archive.ubuntu.com/ubuntu/\nURIs: http://security.ubuntu.com/ubuntu/", "", "URIs: http://m/d\nURIs: http://m/d"},
		{"deb https://own.example/debian x main", s, "deb https://own.example/debian x main"},
	} {
		if got := mirrored(c.text, m, c.security); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestWhatABaseIsAddedFrom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for from, want := range map[string]string{
		dir: "file " + dir, "image:ubuntu:24.04": "image ubuntu:24.04", "image:" + dir: "image " + dir, "oci-layout:" + dir: "image oci-layout:" + dir,
		"docker-daemon:x": "image docker-daemon:x", "ubuntu:24.04": "an image of a registry is named image:ubuntu:24.04", "image:rootfs:/x": "is no image", dir + "/none": "there is no",
	} {
		r, err := added(from)
		got := string(r.Kind) + " " + r.From
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
	if got := recipeOf("debootstrap noble from http://m"); !reflect.DeepEqual(got, Recipe{Kind: Debootstrap, From: "noble", Asked: Asked{Mirror: "http://m"}}) {
		t.Errorf("%+v", got)
	}
}

func TestWhatAnImageLacks(t *testing.T) {
	t.Parallel()
	status := "Package: systemd\nStatus: install ok installed\nPriority: important\n\nPackage: sudo\nStatus: deinstall ok config-files\nPriority: optional\n"
	if got := strings.Join(missing(status), " "); got != "systemd-sysv dbus python3 sudo lsb-release iproute2 netbase ca-certificates procps" {
		t.Errorf("it lacks %s", got)
	}
}
