package workload

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/oci"
)

// layered is two layers of an image, top first, of which each has a file.
func layered(t *testing.T, passwd, group string) []string {
	t.Helper()
	var layers []string
	for name, text := range map[string]string{"passwd": passwd, "group": group} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "etc", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		layers = append(layers, dir)
	}
	return layers
}

// TestTheFirstProcessOfAContainer is Pebble, by the command line, in the environment
// and with the files that the contract names; what the image would run is nothing to
// it, and its variables give way. Source: docs/spec/containers.md §4.1 to §4.3.
func TestTheFirstProcessOfAContainer(t *testing.T) {
	t.Parallel()
	image := &oci.Image{
		Layers: []string{t.TempDir()},
		Config: oci.Config{Env: []string{"A=1", "PEBBLE=/elsewhere", "B=image"}, WorkingDir: "/srv", Entrypoint: []string{"/bin/app"}, Cmd: []string{"serve"}},
	}
	data := isolate.Bind{From: "/storage/0", To: "/data"}
	c := Container{
		Name: "db", Hostname: "app-0", Port: FirstPort + 1, Dir: "/unit/containers/db", Log: "/unit/containers/db.log",
		Binds: []isolate.Bind{data}, Env: []string{"B=pod"},
	}
	s, err := c.spec(image, nil, "/usr/bin/pebble")
	if err != nil {
		t.Fatal(err)
	}
	first := isolate.First{
		Path: "/charm/bin/pebble", Args: []string{"run", "--create-dirs", "--hold", "--http", ":38814", "--verbose"}, Dir: "/srv", Log: c.Log,
		Env: []string{
			"A=1", "PATH=" + imagePath, "HOME=/root", "B=pod", "JUJU_CONTAINER_NAME=db",
			"PEBBLE_SOCKET=/charm/container/pebble.socket", "PEBBLE=/charm/container/pebble", "PEBBLE_COPY_ONCE=/var/lib/pebble/default",
		},
	}
	if !reflect.DeepEqual(*s.First, first) {
		t.Errorf("\n got %+v\nwant %+v", *s.First, first)
	}
	binds := []isolate.Bind{{From: c.Dir, To: "/charm/container"}, {From: "/usr/bin/pebble", To: "/charm/bin/pebble", ReadOnly: true, Theirs: true}, data}
	if !slices.Equal(s.Binds, binds) || s.Hostname != "app-0" {
		t.Errorf("host name %s\n got %+v\nwant %+v", s.Hostname, s.Binds, binds)
	}

	const at = "/charm/etc/pebble/identities.yaml"
	c.Identities = "/unit/identities.yaml"
	if s, err = c.spec(image, nil, "/usr/bin/pebble"); err != nil {
		t.Fatal(err)
	}
	if args := append(first.Args, "--identities", at); !slices.Equal(s.First.Args, args) {
		t.Errorf("with identities: %q", s.First.Args)
	}
	if !slices.Contains(s.Binds, isolate.Bind{From: c.Identities, To: at, ReadOnly: true, Theirs: true}) {
		t.Errorf("with identities: %+v", s.Binds)
	}
}

// TestWhomPebbleRunsAs. Source: docs/spec/containers.md §5.3.
func TestWhomPebbleRunsAs(t *testing.T) {
	t.Parallel()
	layers := layered(t, "root:x:0:0::/root:/bin/sh\napp:x:584792:100::/srv/app:/bin/sh\n", "web:x:33:\n")
	id := func(n int) *int { return &n }
	for _, c := range []struct {
		name  string
		user  User
		image string
		want  person
		err   string
	}{
		{"root, whatever the image says", User{}, "app", person{0, 0, "/root"}, ""},
		{"the image's user, by its name", User{Image: true}, "app", person{584792, 100, "/srv/app"}, ""},
		{"the image's user, by its number", User{Image: true}, "584792", person{584792, 100, "/srv/app"}, ""},
		{"the image's user and group", User{Image: true}, "app:web", person{584792, 33, "/srv/app"}, ""},
		{"numbers that the image has no names for", User{Image: true}, "7:8", person{7, 8, "/"}, ""},
		{"an image that says nothing", User{Image: true}, "", person{0, 0, "/root"}, ""},
		{"the charm's uid and gid", User{Image: true, UID: id(999), GID: id(998)}, "app", person{999, 998, "/"}, ""},
		{"the charm's uid, whom the image knows", User{Image: true, UID: id(584792)}, "", person{584792, 0, "/srv/app"}, ""},
		{"the charm's gid alone", User{Image: true, GID: id(998)}, "app", person{584792, 998, "/srv/app"}, ""},
		{"a uid of 0 is said, too", User{Image: true, UID: id(0), GID: id(0)}, "app", person{0, 0, "/root"}, ""},
		{"a user that the image hasn't", User{Image: true}, "nobody", person{}, `the image has no user "nobody", as whom it is to run`},
		{"a group that the image hasn't", User{Image: true}, "app:no", person{}, `the image has no group "no", as which it is to run`},
	} {
		got, err := c.user.in(layers, c.image)
		switch {
		case c.err != "":
			if !errors.Is(err, errors.NotFound) || err.Error() != c.err {
				t.Errorf("%s: %v", c.name, err)
			}
		case err != nil || got != c.want:
			t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}

// TestPausesAreThoseOfKubelets: 10 s, 20 s and so on up to 5 min, and anew after 10
// min of running. Source: docs/spec/containers.md §4.4.
func TestPausesAreThoseOfKubelets(t *testing.T) {
	t.Parallel()
	var b backoff
	for i, want := range []time.Duration{0, 10, 20, 40, 80, 160, 300, 300} {
		if got := b.ended(time.Minute); got != want*time.Second {
			t.Errorf("end %d: %v, want %v", i+1, got, want*time.Second)
		}
	}
	if got := b.ended(longRun - 1); got != maxPause {
		t.Errorf("after less than %v: %v", longRun, got)
	}
	if first, second := b.ended(longRun), b.ended(time.Second); first != 0 || second != firstPause {
		t.Errorf("after %v: %v, then %v", longRun, first, second)
	}
	var never backoff
	if first, second := never.failed(), never.failed(); first != firstPause || second != 2*firstPause {
		t.Errorf("one that can't be started: %v, then %v", first, second)
	}
}
