package images_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/testcharms/images"
)

// entry is one entry of a tar file.
type entry struct {
	*tar.Header
	data []byte
}

// read has the entries by name, and their order.
func read(t *testing.T, data []byte) (map[string]entry, []string) {
	t.Helper()
	entries, order := map[string]entry{}, []string(nil)
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return entries, order
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := entries[h.Name]; ok {
			t.Errorf("%s is there twice", h.Name)
		}
		entries[h.Name], order = entry{h, body}, append(order, h.Name)
	}
}

func open(t *testing.T, path string) map[string]entry {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := read(t, data)
	return entries
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}

type ref struct {
	MediaType, Digest string
	Size              int
	Annotations       map[string]string
}

type config struct {
	Architecture, OS string
	Config           struct {
		Env        []string
		User       string
		Entrypoint []string
	}
	Rootfs struct {
		DiffIDs []string `json:"diff_ids"`
	}
}

// opened is an OCI archive that has been followed from its index to its layers,
// with each digest and size compared.
type opened struct {
	name, digest string
	config       config
	layers       [][]byte // not compressed
	media        []string
}

func follow(t *testing.T, path string) opened {
	t.Helper()
	entries := open(t, path)
	blob := func(r ref) []byte {
		data := entries["blobs/sha256/"+strings.TrimPrefix(r.Digest, "sha256:")].data
		if "sha256:"+sum(data) != r.Digest || len(data) != r.Size {
			t.Errorf("%s: %d bytes with the digest %s", r.Digest, len(data), sum(data))
		}
		return data
	}
	var index struct{ Manifests []ref }
	var manifest struct {
		Config ref
		Layers []ref
	}
	var o opened
	decode(t, entries["index.json"].data, &index)
	if len(index.Manifests) != 1 || len(entries["oci-layout"].data) == 0 {
		t.Fatalf("no layout of one image: %v", entries)
	}
	o.digest, o.name = index.Manifests[0].Digest, index.Manifests[0].Annotations["org.opencontainers.image.ref.name"]
	decode(t, blob(index.Manifests[0]), &manifest)
	decode(t, blob(manifest.Config), &o.config)
	for i, r := range manifest.Layers {
		data := blob(r)
		if strings.HasSuffix(r.MediaType, "+gzip") {
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if data, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		if got := o.config.Rootfs.DiffIDs[i]; got != "sha256:"+sum(data) {
			t.Errorf("layer %d: diff id %s of what has %s", i, got, sum(data))
		}
		o.layers, o.media = append(o.layers, data), append(o.media, r.MediaType)
	}
	if len(o.layers) != len(o.config.Rootfs.DiffIDs) {
		t.Errorf("%d layers, %d diff ids", len(o.layers), len(o.config.Rootfs.DiffIDs))
	}
	return o
}

// small is an image with one of each.
func small() images.Image {
	return images.Image{
		Env: []string{"GREETING=hello"}, User: "584792:584792", Entrypoint: []string{"/a/run"},
		Layers: []images.Layer{{
			{Name: "a/run", Mode: fs.ModeSetuid | 0o755, UID: 7, GID: 8, Data: []byte("run"), Xattrs: map[string]string{"user.x": "y"}},
			{Name: "a/link", Mode: fs.ModeSymlink | 0o777, Target: "run"},
			{Name: "a/hard", Mode: 0o755, Hard: "a/run"},
			{Name: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
			{Name: "tmp/x", Mode: 0o600},
		}, {
			{Name: "a/.wh.link", Mode: 0o644},
		}},
	}
}

func TestAnOCIArchiveHasWhatItRefersTo(t *testing.T) {
	t.Parallel()
	for _, zip := range []bool{false, true} {
		image := small()
		image.Gzip = zip
		o := follow(t, images.WriteOCI(t, image, "small:1.0"))
		digest, err := image.Digest()
		if err != nil || o.digest != digest || o.name != "small:1.0" {
			t.Errorf("%q with the digest %s, want %s, %v", o.name, o.digest, digest, err)
		}
		if c := o.config; c.OS != "linux" || c.Architecture != runtime.GOARCH || c.Config.User != "584792:584792" ||
			!slices.Equal(c.Config.Env, image.Env) || !slices.Equal(c.Config.Entrypoint, image.Entrypoint) {
			t.Errorf("configuration: %+v", c)
		}
		media := "application/vnd.oci.image.layer.v1.tar"
		if zip {
			media += "+gzip"
		}
		if !slices.Equal(o.media, []string{media, media}) {
			t.Errorf("media types %v", o.media)
		}
	}
}

func TestALayerHasItsEntriesInOrderAndTheFoldersAboveThem(t *testing.T) {
	t.Parallel()
	o := follow(t, images.WriteOCI(t, small(), ""))
	entries, order := read(t, o.layers[0])
	if want := []string{"a/", "a/run", "a/link", "a/hard", "tmp/", "tmp/x"}; !slices.Equal(order, want) {
		t.Errorf("entries %v, want %v", order, want)
	}
	run := entries["a/run"]
	if run.Mode != 0o4755 || run.Uid != 7 || run.Gid != 8 || string(run.data) != "run" || run.PAXRecords["SCHILY.xattr.user.x"] != "y" {
		t.Errorf("a/run: %+v", run)
	}
	if h := entries["a/link"]; h.Typeflag != tar.TypeSymlink || h.Linkname != "run" {
		t.Errorf("a/link: %+v", h)
	}
	if h := entries["a/hard"]; h.Typeflag != tar.TypeLink || h.Linkname != "a/run" {
		t.Errorf("a/hard: %+v", h)
	}
	if h := entries["tmp/"]; h.Typeflag != tar.TypeDir || h.Mode != 0o1777 {
		t.Errorf("tmp: %+v", h)
	}
	if _, order := read(t, o.layers[1]); !slices.Equal(order, []string{"a/", "a/.wh.link"}) {
		t.Errorf("the second layer has %v", order)
	}
}

func TestADockerArchiveHasWhatItRefersTo(t *testing.T) {
	t.Parallel()
	image := small()
	image.Gzip = true // which such an archive hasn't
	entries := open(t, images.WriteDocker(t, image, "small:1.0"))
	var list []struct {
		Config           string
		RepoTags, Layers []string
	}
	var c config
	decode(t, entries["manifest.json"].data, &list)
	decode(t, entries[list[0].Config].data, &c)
	if len(list) != 1 || !slices.Equal(list[0].RepoTags, []string{"small:1.0"}) || len(list[0].Layers) != 2 {
		t.Fatalf("manifest: %+v", list)
	}
	for i, name := range list[0].Layers {
		if got := "sha256:" + sum(entries[name].data); got != c.Rootfs.DiffIDs[i] {
			t.Errorf("layer %d: %s, diff id %s", i, got, c.Rootfs.DiffIDs[i])
		}
	}
}

func TestALayoutInAFolderIsTheArchive(t *testing.T) {
	t.Parallel()
	dir, archive := images.WriteLayout(t, small(), "small:1.0"), open(t, images.WriteOCI(t, small(), "small:1.0"))
	for name, e := range archive {
		if e.Typeflag == tar.TypeDir {
			continue
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, e.data) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTheSameImageHasTheSameBytes: the second web server is built anew, by another
// process and elsewhere.
func TestTheSameImageHasTheSameBytes(t *testing.T) {
	t.Parallel()
	image := images.WithPebbleLayer(images.Web(t), "001-web", "summary: web\n")
	again, err := images.BuildWeb()
	if err != nil {
		t.Fatal(err)
	}
	other := images.Image{Layers: slices.Clone(image.Layers), Entrypoint: image.Entrypoint}
	other.Layers[0] = slices.Clone(other.Layers[0])
	for i, f := range other.Layers[0] {
		if f.Name == "web" {
			other.Layers[0][i].Data = again
		}
	}
	for name, write := range map[string]func(testing.TB, images.Image, string) string{"oci": images.WriteOCI, "docker": images.WriteDocker} {
		a, _ := os.ReadFile(write(t, image, "web:1"))
		b, _ := os.ReadFile(write(t, other, "web:1"))
		if len(a) == 0 || !bytes.Equal(a, b) {
			t.Errorf("%s: %d bytes, then %d others", name, len(a), len(b))
		}
	}
	one, _ := image.Digest()
	image.User = "web"
	if two, err := image.Digest(); err != nil || one == two || len(one) != len("sha256:")+64 {
		t.Errorf("another user: %s, %s, %v", one, two, err)
	}
}

func TestAPebbleLayerIsALayerOnTop(t *testing.T) {
	t.Parallel()
	image := images.WithPebbleLayer(small(), "001-web", "summary: web\n")
	o := follow(t, images.WriteOCI(t, image, ""))
	entries, _ := read(t, o.layers[len(o.layers)-1])
	if len(o.layers) != 3 || len(small().Layers) != 2 || string(entries["var/lib/pebble/default/layers/001-web.yaml"].data) != "summary: web\n" {
		t.Errorf("%d layers, the last with %v", len(o.layers), entries)
	}
}

// extract writes a file of the lowest layer to where it can be run.
func extract(t *testing.T, image images.Image, name string) string {
	t.Helper()
	entries, _ := read(t, follow(t, images.WriteOCI(t, image, "")).layers[0])
	path := filepath.Join(t.TempDir(), filepath.Base(name))
	if err := os.WriteFile(path, entries[name].data, fs.FileMode(entries[name].Mode)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSaveWritesTheImageOfTheWebServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "web.tar")
	out, err := exec.Command("go", "run", "./save", path).Output()
	want, _ := images.Web(t).Digest()
	if err != nil || strings.TrimSpace(string(out)) != want || follow(t, path).digest != want {
		t.Errorf("%q, %v, want %s", out, err, want)
	}
}

func TestTheWebServerServesItsFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("skipped: the image's program is for Linux")
	}
	ctx, cancel := context.WithCancel(context.Background())
	file := filepath.Join(t.TempDir(), "index.html")
	cmd := exec.CommandContext(ctx, extract(t, images.Web(t), "web"), "-listen", "127.0.0.1:0", "-file", file)
	cmd.Env = []string{"GREETING=hello"}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // where it hasn't ended by itself
	lines := bufio.NewScanner(out)
	lines.Scan()
	address, ok := strings.CutPrefix(lines.Text(), "listening on ")
	if !ok {
		t.Errorf("it says %q", lines.Text())
	}
	get := func(path string) (int, string) {
		res, err := http.Get("http://" + address + path)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text)
	}
	for _, path := range []string{"/", "/health", "/other"} {
		if code, _ := get(path); code < 400 {
			t.Errorf("without a page %s is %d", path, code)
		}
	}
	if err := os.WriteFile(file, []byte("hi\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := get("/"); code != 200 || text != "hi\n" {
		t.Errorf("/ is %d %q", code, text)
	}
	if code, _ := get("/health"); code != 200 {
		t.Errorf("/health is %d", code)
	}
	if _, text := get("/whoami"); !strings.HasSuffix(text, " hello\n") {
		t.Errorf("/whoami is %q", text)
	}
	cancel()
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	if last != "ended" {
		t.Errorf("the last line is %q", last)
	}
	if err := cmd.Wait(); err != nil && err != context.Canceled {
		t.Errorf("it ended with %v", err)
	}
}

func TestHostBusyboxHasAShell(t *testing.T) {
	t.Parallel()
	image := images.Busybox(t)
	out, err := exec.Command(extract(t, image, "bin/busybox"), "sh", "-c", "echo a$((1 + 1))").Output()
	if err != nil || string(out) != "a2\n" {
		t.Errorf("%q, %v", out, err)
	}
	list, err := exec.Command(extract(t, image, "bin/busybox"), "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range image.Layers[0] {
		if f.Target == "busybox" && !slices.Contains(strings.Fields(string(list)), filepath.Base(f.Name)) {
			t.Errorf("Debian's busybox has no %s", f.Name)
		}
	}
}
