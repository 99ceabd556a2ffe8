package main_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/unitd/unitd/isolate/isolatetest"
	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/testcharms/images"
)

// subordinateUser is what a user who isn't root has in a directory: the programs, a
// charm, an image, and a root for the charm's units.
type subordinateUser struct {
	*testing.T
	dir string
}

func newSubordinateUser(t *testing.T) subordinateUser {
	t.Helper()
	isolatetest.Need(t)
	dir, err := os.MkdirTemp("", "u") // sockets are in it; and others can't see t.TempDir
	u := subordinateUser{t, dir}
	u.must(err)
	t.Cleanup(func() { u.must(os.RemoveAll(dir)) })
	bin, err := programs()
	u.must(err)
	image := images.Busybox(t)
	image.Layers = append(image.Layers, images.Layer{
		{Name: "srv", Mode: fs.ModeDir | 0o755, UID: 584792, GID: 584792}, {Name: "srv/shut", Mode: fs.ModeDir | 0o700, UID: 584792, GID: 584792},
		{Name: "srv/shut/x", Mode: 0o600, UID: 12, GID: 13, Data: []byte("x")},
	})
	u.unpack(image)
	archive, err := txtar.ParseFile(filepath.Join("testdata", "subid.txtar"))
	u.must(err)
	for _, f := range archive.Files {
		path := filepath.Join(dir, f.Name)
		u.must(os.MkdirAll(filepath.Dir(path), 0o755))
		u.must(os.WriteFile(path, f.Data, 0o755))
	}
	for _, line := range []string{
		"cp " + filepath.Join(bin, "unitd") + " " + filepath.Join(bin, "unitd-hooktool") + " bin; cp " + pebbletest.Program(t) + " bin/pebble; cp bin/pebble app",
		"cp " + images.WriteOCI(t, image, "base") + " image.tar",
		`bash=$(command -v bash); cp $bash root/bin; ldd $bash | grep -o '/[^ ]*' | while read f; do mkdir -p root${f%/*}; cp -L $f root$f; done`,
		"mkdir -m 700 data tmp; chown -R 65534:65534 .; chmod 755 .",
	} {
		cmd := exec.Command("sh", "-ec", "mkdir -p bin; "+line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	t.Cleanup(func() { u.says(isolatetest.Size, "unitd shutdown >&2 || true") }) // also of an agent that a failure leaves
	return u
}

// unpack has the image's first layer as the root of units.
func (u subordinateUser) unpack(image images.Image) {
	u.Helper()
	root := filepath.Join(u.dir, "root")
	for _, d := range []string{"bin", "etc", "tmp", "proc", "run"} {
		u.must(os.MkdirAll(filepath.Join(root, d), 0o755))
	}
	for _, f := range image.Layers[0] {
		path := filepath.Join(root, f.Name)
		switch {
		case f.Target != "":
			u.must(os.Symlink(f.Target, path))
		case f.Mode.IsRegular():
			u.must(os.WriteFile(path, f.Data, f.Mode.Perm()))
		}
	}
}

func (u subordinateUser) must(err error) {
	u.Helper()
	if err != nil {
		u.Fatal(err)
	}
}

// says is what commands print that the user gives who has so many subordinate ids.
func (u subordinateUser) says(size int, commands string) string {
	u.Helper()
	cmd := isolatetest.Command(u, size, "sh", "-ec", commands)
	cmd.Dir = u.dir
	cmd.Env = []string{"PATH=" + filepath.Join(u.dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + u.dir, "TMPDIR=" + filepath.Join(u.dir, "tmp"), "UNITD_DATA=" + filepath.Join(u.dir, "data"), "TZ=UTC"}
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "units can't be isolated here") {
		u.Skipf("skipped: %s", out)
	}
	if err != nil {
		u.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return string(out)
}

// TestHostWhoHasSubordinateIDsHasCharmsOfManyUsers without being root: a charm that is
// juju's, a container that is _daemon_'s, storage that both share, and files of theirs
// that nobody else may read. The agent is killed, the charm refreshed, and at the end
// nothing of it is left, once the cache is pruned.
func TestHostWhoHasSubordinateIDsHasCharmsOfManyUsers(t *testing.T) {
	t.Parallel()
	u := newSubordinateUser(t)
	const want = `charm 170:170 170 170:170
containers 170:170 2775 584792:170 2775
mounted page
workload 584792:584792 584792 170
image 584792:584792 12:13 0:0
stored 584792:170 170 2775
copied 170:170
found
closed x
pruned
left:
`
	got := u.says(isolatetest.Size, "sh life.sh 2>log || { cat log; unitd debug-log --lines 40; exit 1; }")
	if got != want {
		log, _ := os.ReadFile(filepath.Join(u.dir, "log"))
		t.Errorf("got\n%s\nwant\n%s\n%s", got, want, log)
	}
}

// TestHostWithOneIDACharmOfOtherUsersIsRefused, by itself and in a bundle, with what to do.
func TestHostWithOneIDACharmOfOtherUsersIsRefused(t *testing.T) {
	t.Parallel()
	u := newSubordinateUser(t)
	const reason = `needs unitd to run as root, or as a user with subordinate ids: its charm-user is non-root, and there is only one user in its containers, ` +
		`as /etc/subuid has no 65536 ids for nobody: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 nobody gives them`
	for _, what := range []string{"deploy ./app --resource base=host", "deploy ./bundle.yaml --isolate=files", "up ./bundle.yaml --isolate=files --exit-when-settled"} {
		got := u.says(1000, "unitd "+what+" && exit 1 || [ $? = 1 ]; unitd status 2>&1")
		if !strings.Contains(got, reason) || strings.Contains(got, "\napp ") || strings.Contains(got, "\nother ") {
			t.Errorf("%s: got\n%s", what, got)
		}
	}
}
