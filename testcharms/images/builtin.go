package images

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Web is NewWeb for a test, which fails where it can't be built.
func Web(tb testing.TB) Image {
	tb.Helper()
	image, err := NewWeb()
	if err != nil {
		tb.Fatal(err)
	}
	return image
}

// NewWeb is an image that has nothing but the program in the folder web, as /web, a
// passwd and a group, and the folders /srv and /tmp. There is no shell in it. It has
// an entrypoint, which containers of charms don't run. The program is built by the
// "go" on the PATH; the error has what that says.
func NewWeb() (Image, error) {
	data, err := program()
	if err != nil {
		return Image{}, err
	}
	files := append(base(), File{Name: "web", Mode: 0o755, Data: data}, File{Name: "srv", Mode: fs.ModeDir | 0o755, UID: 584792, GID: 584792})
	return Image{Layers: []Layer{files}, Entrypoint: []string{"/web"}}, nil
}

// program is the web server for this host's processor, built once.
var program = sync.OnceValues(buildWeb)

// buildWeb builds the same bytes each time, where the module and Go are in the same
// folders: without these in it, all of the standard library would have to be compiled
// once more, for it alone.
func buildWeb() ([]byte, error) {
	_, file, _, _ := runtime.Caller(0)
	dir, err := os.MkdirTemp("", "unitd-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", filepath.Join(dir, "web"), "./web")
	build.Dir, build.Env = filepath.Dir(file), append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build the web server: %w\n%s", err, out)
	}
	return os.ReadFile(filepath.Join(dir, "web"))
}

// base is what every image has.
func base() Layer {
	const passwd = "root:x:0:0:root:/root:/bin/sh\nweb:x:584792:584792:web:/srv:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
	const group = "root:x:0:\nweb:x:584792:\nnogroup:x:65534:\n"
	return Layer{
		{Name: "etc/passwd", Mode: 0o644, Data: []byte(passwd)},
		{Name: "etc/group", Mode: 0o644, Data: []byte(group)},
		{Name: "root", Mode: fs.ModeDir | 0o700},
		{Name: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
}

// applets are those of busybox that have a name of their own in the image.
const applets = "[ ash awk cat chmod chown cp date dd df echo env expr false find grep head hostname httpd id ip kill ln ls mkdir mkfifo mount mv nc " +
	"nslookup ping ps pwd readlink rm rmdir sed seq sh sleep sort stat sync tail tar tee test touch tr true uname vi wc wget which whoami xargs yes"

// Busybox is an image that has Debian's busybox-static, so a shell, and what Web has
// but for the web server. The package is fetched by apt-get once, and kept in the
// user's cache directory. Where that can't be done, the test is skipped with the
// reason; so a test that takes this image is called TestHost….
func Busybox(tb testing.TB) Image {
	tb.Helper()
	data, err := busybox()
	if err != nil {
		tb.Skipf("skipped: there is no busybox: %v", err)
	}
	files := append(base(), File{Name: "bin/busybox", Mode: 0o755, Data: data})
	for name := range strings.FieldsSeq(applets) {
		files = append(files, File{Name: "bin/" + name, Mode: fs.ModeSymlink | 0o777, Target: "busybox"})
	}
	return Image{Layers: []Layer{files}, Env: []string{"PATH=/bin"}}
}

var busybox = sync.OnceValues(fetchBusybox)

func fetchBusybox() ([]byte, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("this is %s", runtime.GOOS)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	kept := filepath.Join(cache, "unitd-test", "busybox-"+runtime.GOARCH)
	if data, err := os.ReadFile(kept); err == nil {
		return data, nil
	}
	dir, err := os.MkdirTemp("", "unitd-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, line := range []string{"apt-get download busybox-static", "dpkg-deb -x busybox-static_*.deb ."} {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(string(out)))
		}
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*bin", "busybox"))
	usr, _ := filepath.Glob(filepath.Join(dir, "usr", "*bin", "busybox")) // since Debian 13
	found = append(found, usr...)
	if len(found) == 0 {
		return nil, fmt.Errorf("the package busybox-static has no busybox")
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		return nil, err
	}
	return data, keep(kept, data)
}

// keep writes the file whole or not at all: other tests look for it.
func keep(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// WithPebbleLayer is the image with a layer for Pebble, such as rocks have: a file
// NAME.yaml in /var/lib/pebble/default/layers, where NAME begins with a number and a
// dash. Source: docs/spec/containers.md §4.4.
func WithPebbleLayer(i Image, name, yaml string) Image {
	return i.With(File{Name: "var/lib/pebble/default/layers/" + name + ".yaml", Mode: 0o644, Data: []byte(yaml)})
}

// WriteOCI writes the image as an OCI archive below tb.TempDir, and returns the
// path.
func WriteOCI(tb testing.TB, i Image, name string) string {
	tb.Helper()
	return write(tb, "oci.tar", name, i.OCI)
}

// WriteDocker is WriteOCI for a docker archive.
func WriteDocker(tb testing.TB, i Image, name string) string {
	tb.Helper()
	return write(tb, "docker.tar", name, i.Docker)
}

func write(tb testing.TB, file, name string, to func(io.Writer, string) error) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), file)
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := to(f, name); err != nil {
		tb.Fatalf("cannot write the image %q: %v", name, err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// WriteLayout writes the image as an OCI layout in a folder below tb.TempDir, and
// returns the path.
func WriteLayout(tb testing.TB, i Image, name string) string {
	tb.Helper()
	l, err := i.layout(name)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	for _, f := range l.files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}
