package oci

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	registries "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// threeLayers is an image with a layer of each form.
func threeLayers(t testing.TB) v1.Image {
	return imageOf(t,
		layerOf(t, tarOf(t, dir("bin", 0o755), file("bin/app", "old"), file("etc/conf", "1"), file("gone", "x")), gzipped),
		layerOf(t, tarOf(t, dir("bin", 0o711), file("bin/app", "new"), file(".wh.gone", "")), zstandard),
		layerOf(t, tarOf(t, dir("srv", 0o755), file("srv/data", "d")), plain),
	)
}

// serve is a registry on loopback, whose requests go through a function.
func serve(t testing.TB, around func(http.Handler) http.Handler) string {
	t.Helper()
	h := registries.New(registries.Logger(nowhere()))
	if around != nil {
		h = around(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func push(t testing.TB, ref string, i v1.Image, options ...remote.Option) {
	t.Helper()
	to, err := name.ParseReference(ref)
	must(t, err)
	must(t, remote.Write(to, i, options...))
}

func source(t testing.TB, ref string) Source {
	t.Helper()
	s, err := ReadSource(ref)
	must(t, err)
	return s
}

// fetched resolves and fetches a source, and releases both when the test ends.
func fetched(t testing.TB, c *Cache, s Source) (Resolved, *Image) {
	t.Helper()
	r, err := c.Resolve(t.Context(), s)
	must(t, err)
	t.Cleanup(r.Release)
	return r, fetch(t, c, r, s)
}

func fetch(t testing.TB, c *Cache, r Resolved, s Source) *Image {
	t.Helper()
	ref, err := Parse(r.Reference)
	must(t, err)
	i, err := c.Fetch(t.Context(), Source{ref, s.Username, s.Password}, r.Digest)
	must(t, err)
	t.Cleanup(i.Release)
	return i
}

func TestEachKindOfSourceGivesTheSame(t *testing.T) {
	t.Parallel()
	image := threeLayers(t)
	digest, err := image.Digest()
	must(t, err)
	tag, err := name.NewTag("app:1")
	must(t, err)
	layoutDir := layoutOf(t, image)
	docker := filepath.Join(t.TempDir(), "saved.tar")
	must(t, tarball.WriteToFile(docker, tag, image))
	zipped := filepath.Join(t.TempDir(), "saved.tar.gz")
	b, err := os.ReadFile(docker)
	must(t, err)
	must(t, os.WriteFile(zipped, gzipOf(t, b), 0o600))
	rock := filepath.Join(t.TempDir(), "app.rock")
	must(t, os.Rename(tarDir(t, layoutDir), rock))
	archive := tarDir(t, layoutDir)
	host := serve(t, nil)
	push(t, host+"/team/app:1", image)
	for ref, want := range map[string]string{
		"docker-archive:" + docker: "docker-archive:" + docker,
		docker:                     "docker-archive:" + docker,
		zipped:                     "docker-archive:" + zipped,
		rock:                       "oci-archive:" + rock,
		"oci-archive:" + archive:   "oci-archive:" + archive,
		"oci-layout:" + layoutDir:  "oci-layout:" + layoutDir + "@" + digest.String(),
		layoutDir:                  "oci-layout:" + layoutDir + "@" + digest.String(),
		"oci-layout:" + layoutDir + "@" + digest.String():                  "oci-layout:" + layoutDir + "@" + digest.String(),
		host + "/team/app:1":                                               host + "/team/app:1",
		host + "/team/app@" + digest.String():                              host + "/team/app@" + digest.String(),
		strings.Replace(host, "127.0.0.1", "localhost", 1) + "/team/app:1": strings.Replace(host, "127.0.0.1", "localhost", 1) + "/team/app:1",
	} {
		c := cacheIn(t)
		c.Form = Single
		r, i := fetched(t, c, source(t, ref))
		if r.Reference != want || i.Reference != want || i.Digest != r.Digest {
			t.Errorf("%s is %s, %s", ref, r.Reference, i.Digest)
		}
		// A docker archive has no manifest: its digest is the same each time.
		if !strings.Contains(want, "docker") && r.Digest != digest.String() {
			t.Errorf("%s has %s", ref, r.Digest)
		}
		checkThree(t, i)
	}
}

// checkThree compares with threeLayers.
func checkThree(t testing.TB, i *Image) {
	t.Helper()
	var got []string
	for _, l := range i.Layers {
		got = append(got, shown(t, l))
	}
	want := []string{
		"srv drwxr-xr-x\nsrv/data -rw-r--r-- d",
		"bin drwx--x--x\nbin/app -rw-r--r-- new\ngone Dc---------",
		"bin drwxr-xr-x\nbin/app -rw-r--r-- old\netc drwxr-xr-x\netc/conf -rw-r--r-- 1\ngone -rw-r--r-- x",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: layers are\n%s", i.Reference, strings.Join(got, "\n--\n"))
	}
	c := i.Config
	if c.User != "app:100" || c.WorkingDir != "/srv" || !slices.Equal(c.Env, []string{"A=1", "PATH=/bin"}) || c.Entrypoint[0] != "/bin/app" || c.Cmd[0] != "serve" || c.Labels["l"] != "1" {
		t.Errorf("%s: config %+v", i.Reference, c)
	}
}

func TestWhatWasResolvedMayGoAway(t *testing.T) {
	t.Parallel()
	layoutDir := layoutOf(t, threeLayers(t))
	for _, ref := range []string{"oci-archive:" + tarDir(t, layoutDir), "oci-layout:" + layoutDir} {
		c := cacheIn(t)
		c.Form = Single
		r, err := c.Resolve(t.Context(), source(t, ref))
		must(t, err)
		defer r.Release()
		path := strings.SplitN(strings.SplitN(r.Reference, ":", 2)[1], "@", 2)[0]
		must(t, os.RemoveAll(path))
		checkThree(t, fetch(t, c, r, Source{}))

		// Another host's cache can't have it, and says so.
		_, err = cacheIn(t).Fetch(t.Context(), source2(t, r.Reference), r.Digest)
		if !errors.Is(err, errors.NotFound) || !strings.Contains(err.Error(), "deployed on another host") {
			t.Errorf("%s: got %v", ref, err)
		}
	}
}

func source2(t testing.TB, ref string) Source {
	t.Helper()
	r, err := Parse(ref)
	must(t, err)
	return Source{Reference: r}
}

// What a registry's tag means changes; what was resolved doesn't.
func TestAnImageIsFixedByItsDigest(t *testing.T) {
	t.Parallel()
	host := serve(t, nil)
	push(t, host+"/app:1", threeLayers(t))
	c := cacheIn(t)
	c.Form = Single
	s := source(t, host+"/app:1")
	r, err := c.Resolve(t.Context(), s)
	must(t, err)
	defer r.Release()
	push(t, host+"/app:1", imageOf(t, layerOf(t, tarOf(t, file("other", "")), plain)))
	checkThree(t, fetch(t, c, r, s))
	other := cacheIn(t)
	other.Form = Single
	checkThree(t, fetch(t, other, r, s)) // another host has it from the registry, by the digest
	if again, err := c.Resolve(t.Context(), s); err != nil || again.Digest == r.Digest {
		t.Errorf("the new one is %s, %v", again.Digest, err)
	}
	// An archive that was replaced isn't the image any more.
	first, second := tarDir(t, layoutOf(t, threeLayers(t))), tarDir(t, layoutOf(t, imageOf(t, layerOf(t, tarOf(t, file("x", "")), plain))))
	r, err = c.Resolve(t.Context(), source(t, "oci-archive:"+first))
	must(t, err)
	defer r.Release()
	must(t, os.Rename(second, first))
	if _, err := cacheIn(t).Fetch(t.Context(), source2(t, r.Reference), r.Digest); !errors.Is(err, errors.NotFound) || !strings.Contains(err.Error(), "another one by now") {
		t.Errorf("got %v", err)
	}
}

func TestDirectoriesAreImages(t *testing.T) {
	t.Parallel()
	c, root := cacheIn(t), t.TempDir()
	r, i := fetched(t, c, source(t, "rootfs:"+root))
	if r.Reference != "rootfs:"+root || r.Digest != "" || len(i.Layers) != 1 || i.Layers[0] != root {
		t.Errorf("got %+v, %+v", r, i)
	}
	if dir, lower := i.Lower(); dir != "/" || lower != root {
		t.Errorf("lowerdir %s in %s", lower, dir)
	}
	if r, i := fetched(t, c, source(t, "host")); r.Reference != "host" || i.Layers[0] != "/" {
		t.Errorf("got %+v, %+v", r, i)
	}
	if _, err := c.Resolve(t.Context(), source2(t, "rootfs:"+root+"/none")); !errors.Is(err, errors.NotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(c.Dir); err == nil {
		t.Error("a cache was made for nothing")
	}
}

func TestTheImageOfThisPlatformIsChosen(t *testing.T) {
	t.Parallel()
	other := map[bool]string{true: "s390x", false: "amd64"}[runtime.GOARCH == "amd64"]
	mine, theirs := threeLayers(t), imageFor(t, other)
	add := func(i v1.Image, arch, variant string) mutate.IndexAddendum {
		return mutate.IndexAddendum{Add: i, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch, Variant: variant}}}
	}
	unknown := mutate.IndexAddendum{Add: imageFor(t, "none"), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}}}
	newest := add(imageOf(t, layerOf(t, tarOf(t, file("newest", "")), plain)), runtime.GOARCH, "v9")
	host := serve(t, nil)
	for name_, index := range map[string]v1.ImageIndex{
		"both": mutate.AppendManifests(empty.Index, unknown, add(theirs, other, ""), newest, add(mine, runtime.GOARCH, "")),
		"none": mutate.AppendManifests(empty.Index, unknown, add(theirs, other, "")),
	} {
		ref, err := name.ParseReference(host + "/app:" + name_)
		must(t, err)
		must(t, remote.WriteIndex(ref, index))
	}
	push(t, host+"/app:theirs", theirs)
	c := cacheIn(t)
	c.Form = Single
	_, i := fetched(t, c, source(t, host+"/app:both"))
	checkThree(t, i)
	for _, tag := range []string{"none", "theirs"} {
		_, err := c.Resolve(t.Context(), source(t, host+"/app:"+tag))
		if !errors.Is(err, errors.NotFound) || !strings.Contains(err.Error(), "isn't there for linux/"+runtime.GOARCH) || !strings.Contains(err.Error(), other) {
			t.Errorf("%s: got %v", tag, err)
		}
	}
}

// K-008: what was given goes to the registry, and nowhere else.
func TestRegistriesThatWantAPassword(t *testing.T) {
	dockerConfig := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dockerConfig)
	host := serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if user, password, _ := q.BasicAuth(); user != "me" || password != "hunter2" {
				w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			h.ServeHTTP(w, q)
		})
	})
	push(t, host+"/app:1", threeLayers(t), remote.WithAuth(&authn.Basic{Username: "me", Password: "hunter2"}))
	s := source(t, host+"/app:1")
	for _, wrong := range []Source{s, {s.Reference, "me", "hunter3"}} {
		_, err := cacheIn(t).Resolve(t.Context(), wrong)
		if !errors.Is(err, errors.Unauthorized) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("got %v", err)
		}
	}
	c := cacheIn(t)
	c.Form = Single
	_, i := fetched(t, c, Source{s.Reference, "me", "hunter2"})
	checkThree(t, i)

	// "me:hunter2", as docker login writes it.
	must(t, os.WriteFile(filepath.Join(dockerConfig, "config.json"), []byte(`{"auths":{"`+host+`":{"auth":"bWU6aHVudGVyMg=="}}}`), 0o600))
	c = cacheIn(t)
	c.Form = Single
	_, i = fetched(t, c, s)
	checkThree(t, i)
	must(t, filepath.WalkDir(c.Dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), "hunter2") {
				t.Errorf("%s has the password, %v", path, err)
			}
		}
		return err
	}))
}

func TestOnlyLoopbackDoesWithoutTLS(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{"127.0.0.1": true, "127.9.9.9": true, "::1": true, "localhost": true, "10.0.0.1": false, "registry.local": false, "127.0.0.1.example": false, "": false} {
		if loopback(host) != want {
			t.Errorf("%q is loopback: %v", host, !want)
		}
	}
	// The library would try to do without TLS here.
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer s.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	for to, want := range map[string]error{"http://registry.local:" + port: errors.NotSupported, s.URL: errors.Forbidden, "https://localhost:" + port: errors.Forbidden} {
		_, err := where{http.DefaultTransport, false}.RoundTrip(httptest.NewRequest(http.MethodGet, to, nil))
		if !errors.Is(err, want) || asked.Load() != 0 {
			t.Errorf("%s: got %v", to, err)
		}
	}
}

func TestARegistryThatHasntGotIt(t *testing.T) {
	t.Parallel()
	host := serve(t, nil)
	_, err := cacheIn(t).Resolve(t.Context(), source(t, host+"/none:1"))
	if !errors.Is(err, errors.NotFound) {
		t.Errorf("got %v", err)
	}
	_, err = cacheIn(t).Resolve(t.Context(), source(t, "127.0.0.1:1/none:1"))
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

// counting is a disk that counts the layers that are put in their places.
func counting(n *atomic.Int32) durable.Disk {
	return durable.Disk{Around: func(s durable.Step, half, whole func() error) error {
		if s.Do == durable.Rename && strings.Contains(s.Path, "/layers/") && !strings.Contains(s.Path, "gone-") {
			n.Add(1)
		}
		return unsynced(s, half, whole)
	}}
}
