package oci

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// blobsAsked counts the layers and configurations that a registry is asked for.
func blobsAsked(n *atomic.Int32) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if q.Method == http.MethodGet && strings.Contains(q.URL.Path, "/blobs/") {
				n.Add(1)
			}
			h.ServeHTTP(w, q)
		})
	}
}

func TestASecondImageCostsItsOwnLayersOnly(t *testing.T) {
	t.Parallel()
	var asked, made atomic.Int32
	host := serve(t, blobsAsked(&asked))
	base := layerOf(t, tarOf(t, file("base", "b")), gzipped)
	push(t, host+"/a:1", imageOf(t, base, layerOf(t, tarOf(t, file("a", "a")), gzipped)))
	// The same base, compressed by another.
	push(t, host+"/b:1", imageOf(t, layerOf(t, tarOf(t, file("base", "b")), zstandard), layerOf(t, tarOf(t, file("b", "b")), gzipped)))
	c := cacheIn(t)
	c.Form, c.Disk = Single, counting(&made)
	_, a := fetched(t, c, source(t, host+"/a:1"))
	if asked.Load() != 3 || made.Load() != 2 {
		t.Errorf("the first image has asked for %d blobs, and made %d layers", asked.Load(), made.Load())
	}
	_, b := fetched(t, c, source(t, host+"/b:1"))
	if asked.Load() != 5 || made.Load() != 3 || a.Layers[1] != b.Layers[1] {
		t.Errorf("the second image has asked for %d blobs, and made %d layers", asked.Load(), made.Load())
	}
	r, _ := fetched(t, c, source(t, host+"/b:1"))
	if asked.Load() != 5 || made.Load() != 3 {
		t.Errorf("an image that is there has asked for %d blobs", asked.Load())
	}
	// It needs no registry at all.
	if _, err := c.Fetch(t.Context(), source2(t, "127.0.0.1:1/none"), r.Digest); err != nil {
		t.Error(err)
	}
}

func TestManyWhoFetchTheSameAtOnceMakeItOnce(t *testing.T) {
	t.Parallel()
	var asked, made atomic.Int32
	host := serve(t, blobsAsked(&asked))
	push(t, host+"/a:1", threeLayers(t))
	dir := cacheIn(t).Dir
	s := source(t, host+"/a:1")
	r, err := (&Cache{Dir: dir}).Resolve(t.Context(), s)
	must(t, err)
	defer r.Release()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { // a cache for each, as processes have
			c := &Cache{Dir: dir, Form: Single, Disk: counting(&made)}
			i, err := c.Fetch(t.Context(), s, r.Digest)
			if err != nil {
				t.Error(err)
				return
			}
			defer i.Release()
			checkThree(t, i)
		})
	}
	all.Wait()
	if asked.Load() != 4 || made.Load() != 3 {
		t.Errorf("%d blobs were asked for, %d layers made", asked.Load(), made.Load())
	}
}

func TestProgressIsTold(t *testing.T) {
	t.Parallel()
	host := serve(t, nil)
	push(t, host+"/a:1", threeLayers(t))
	c := cacheIn(t)
	c.Form = Single
	var told []Progress
	c.Progress = func(p Progress) { told = append(told, p) }
	fetched(t, c, source(t, host+"/a:1"))
	last := told[len(told)-1]
	if last.Layers != 3 || last.Ready != 3 || last.Total == 0 || last.Fetched != last.Total || last.Reference != host+"/a:1" {
		t.Errorf("the last that was told is %+v", last)
	}
	if !slices.IsSortedFunc(told, func(a, b Progress) int { return int(a.Fetched - b.Fetched) }) {
		t.Errorf("it went back: %+v", told)
	}
}

// Who is told shows nothing of a fetch that goes on no more.
func TestAFetchThatFailsIsToldOfAsDone(t *testing.T) {
	t.Parallel()
	image := threeLayers(t)
	m, err := image.Manifest()
	must(t, err)
	host := serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if q.Method == http.MethodGet && strings.Contains(q.URL.Path, m.Layers[1].Digest.String()) {
				http.Error(w, "gone", http.StatusGone)
				return
			}
			h.ServeHTTP(w, q)
		})
	})
	push(t, host+"/a:1", image)
	c := cacheIn(t)
	c.Form = Single
	var told []Progress
	c.Progress = func(p Progress) { told = append(told, p) }
	s := source(t, host+"/a:1")
	r, err := c.Resolve(t.Context(), s)
	must(t, err)
	t.Cleanup(r.Release)
	if _, err := c.Fetch(t.Context(), s, r.Digest); err == nil {
		t.Fatal("it was fetched")
	}
	first, last := told[0], told[len(told)-1]
	if first.Text() == "" || last.Text() != "" || last.Reference != s.String() {
		t.Errorf("told were %+v", told)
	}
}

// What isn't what it says is refused: it never gets a name in the cache.
func TestDigestsAreCompared(t *testing.T) {
	t.Parallel()
	image := threeLayers(t)
	m, err := image.Manifest()
	must(t, err)
	config, err := image.ConfigName()
	must(t, err)
	manifestDigest, err := image.Digest()
	must(t, err)
	for what, digest := range map[string]v1.Hash{"layer": m.Layers[0].Digest, "configuration": config, "manifest": manifestDigest} {
		for how, change := range map[string]func([]byte) []byte{
			"changed": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
			"shorter": func(b []byte) []byte { return b[:len(b)-1] },
			"longer":  func(b []byte) []byte { return append(b, '\n') },
			"empty":   func([]byte) []byte { return nil },
		} {
			dir := layoutOf(t, image)
			path := filepath.Join(dir, "blobs/sha256", digest.Hex)
			b, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, change(b), 0o600))
			c := cacheIn(t)
			c.Form = Single
			_, err = c.Resolve(t.Context(), source(t, dir))
			if !errors.Is(err, errors.NotValid) {
				t.Errorf("a %s that is %s: got %v", what, how, err)
			}
			if _, err := os.Stat(c.path(blobsDir, digest.Hex)); err == nil {
				t.Errorf("a %s that is %s has a name in the cache", what, how)
			}
			left, err := os.ReadDir(c.path(workDir))
			if err != nil || len(left) != 0 {
				t.Errorf("a %s that is %s leaves %v", what, how, left)
			}
		}
	}
}

func TestALayerThatIsntItsDiffID(t *testing.T) {
	t.Parallel()
	good := layerOf(t, tarOf(t, file("a", "x")), plain)
	lie := tarLayer{layerOf(t, tarOf(t, file("a", "y")), gzipped).(tarLayer).Layer, good.(tarLayer).diff}
	c := cacheIn(t)
	c.Form = Single
	s := source(t, layoutOf(t, imageOf(t, lie)))
	if _, err := c.Resolve(t.Context(), s); !errors.Is(err, errors.NotValid) {
		t.Errorf("got %v", err)
	}
	_, i := fetched(t, c, source(t, layoutOf(t, imageOf(t, good))))
	if got := shown(t, i.Layers[0]); got != "a -rw-r--r-- x" {
		t.Errorf("the layer is %s", got)
	}
}

// A blob that the disk has damaged is fetched anew.
func TestABlobThatIsDamagedInTheCache(t *testing.T) {
	t.Parallel()
	host := serve(t, nil)
	push(t, host+"/a:1", threeLayers(t))
	c := cacheIn(t)
	c.Form = Single
	r, _ := fetched(t, c, source(t, host+"/a:1"))
	must(t, os.RemoveAll(c.path(layersDir)))
	all, err := os.ReadDir(c.path(blobsDir))
	must(t, err)
	for _, e := range all {
		b, err := os.ReadFile(c.path(blobsDir, e.Name()))
		must(t, err)
		b[len(b)/2] ^= 1
		must(t, os.WriteFile(c.path(blobsDir, e.Name()), b, 0o600))
	}
	checkThree(t, fetch(t, c, r, Source{}))
}

func TestManifestsThatAreRefused(t *testing.T) {
	t.Parallel()
	d := `{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"` + aDigest + `","size":1}`
	for text, want := range map[string]string{
		"":                                  "not valid",
		"[]":                                "not valid",
		"{}":                                "no config",
		`{"schemaVersion":1,"fsLayers":[]}`: "schema 1",
		`{"manifests":[],"layers":[]}`:      "an index as well",
		`{"manifests":[],"config":{}}`:      "an index as well",
		`{"config":` + d + `,"layers":[{"digest":"x:y"}]}`:                                      "not valid",
		`{"config":` + strings.Replace(d, aDigest, "sha512:"+strings.Repeat("0", 128), 1) + `}`: "isn't sha256",
		`{"config":` + strings.Replace(d, `1}`, `-1}`, 1) + `}`:                                 "-1 bytes",
		`{"config":` + d + `,"layers":[` + strings.Repeat(d+",", 127) + d + `]}`:                "128 layers",
	} {
		if _, _, err := parseDocument([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %s", text, err, want)
		}
	}
	// An index in an index in an index…
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "blobs/sha256"), 0o700))
	text := `{"manifests":[]}`
	for range 5 {
		must(t, os.WriteFile(filepath.Join(dir, "blobs/sha256", hexOf(digestOf([]byte(text)))), []byte(text), 0o600))
		text = fmt.Sprintf(`{"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":%q,"size":%d}]}`, digestOf([]byte(text)), len(text))
	}
	must(t, os.WriteFile(filepath.Join(dir, "index.json"), []byte(text), 0o600))
	if _, err := cacheIn(t).Resolve(t.Context(), source(t, dir)); !errors.Is(err, errors.NotValid) || !strings.Contains(err.Error(), "an index in an index") {
		t.Errorf("got %v", err)
	}
}

func TestArchivesThatAreRefused(t *testing.T) {
	t.Parallel()
	dir, second := t.TempDir(), imageOf(t, layerOf(t, tarOf(t, file("x", "")), plain))
	two := map[name.Reference]v1.Image{}
	for n, i := range map[string]v1.Image{"a:1": threeLayers(t), "b:1": second} {
		ref, err := name.NewTag(n)
		must(t, err)
		two[ref] = i
	}
	at := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, b, 0o600))
		return path
	}
	docker := filepath.Join(dir, "two.tar")
	must(t, tarball.MultiRefWriteToFile(docker, two))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "passwd")))
	manifest := func(config string, layers ...string) []byte {
		return tarOf(t, file("manifest.json", fmt.Sprintf(`[{"Config":%q,"Layers":["%s"]}]`, config, strings.Join(layers, `","`))),
			file("c.json", "{}"), link('2', "out.json", "../../etc/passwd"), link('2', "loop.json", "loop.json"))
	}
	for ref, want := range map[string]string{
		"docker-archive:" + docker:                                               "2 images",
		"oci-archive:" + tarDir(t, layoutOf(t, threeLayers(t), second)):          "2 images",
		"oci-archive:" + docker:                                                  "it isn't an image",
		"oci-archive:" + dir:                                                     "is a directory",
		"oci-layout:" + dir:                                                      "isn't an image",
		"docker-archive:" + dir + "/none":                                        "there is no file",
		"oci-layout:" + dir + "/none":                                            "there is no directory",
		at("text.tar", []byte(strings.Repeat("text ", 999))):                     "it isn't a tar file",
		at("none.tar", tarOf(t, file("a", "b"))):                                 "it isn't an image",
		at("cut.tar.gz", gzipOf(t, tarOf(t, file("a", "b")))[:40]):               "unexpected EOF",
		at("noconfig.tar", manifest("none.json", "l")):                           "there is no none.json",
		at("nolayer.tar", manifest("c.json", "none.tar")):                        "there is no none.tar",
		at("out.tar", manifest("out.json", "l")):                                 "there is no out.json",
		at("loop.tar", manifest("loop.json", "l")):                               "there is no loop.json",
		at("many.tar", manifest("c.json", slices.Repeat([]string{"l"}, 200)...)): "200 layers",
		at("noindex.tar", tarOf(t, file("index.json", `{"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"`+aDigest+`","size":3}]}`))): "there is no blobs",
	} {
		_, err := cacheIn(t).Resolve(t.Context(), source2(t, ref))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", ref, err, want)
		}
	}
}

// A layout's links don't lead out of it, and its pipes aren't waited for.
func TestALayoutThatLeadsOut(t *testing.T) {
	t.Parallel()
	image := threeLayers(t)
	m, err := image.Manifest()
	must(t, err)
	dir := layoutOf(t, image)
	path := filepath.Join(dir, "blobs/sha256", m.Layers[0].Digest.Hex)
	outside := filepath.Join(t.TempDir(), "layer")
	must(t, os.Rename(path, outside))
	must(t, os.Symlink(outside, path))
	if _, err := cacheIn(t).Resolve(t.Context(), source(t, dir)); err == nil {
		t.Error("a link was followed out of the layout")
	}
	must(t, os.Remove(path))
	must(t, mkfifo(path))
	if _, err := cacheIn(t).Resolve(t.Context(), source(t, dir)); err == nil || !strings.Contains(err.Error(), "isn't a file") {
		t.Errorf("got %v", err)
	}
}

// A stand-in for the daemon: there is no real one where tests run.
func TestStandInForTheDockerDaemon(t *testing.T) {
	image := threeLayers(t)
	tag, err := name.NewTag("team/app:1")
	must(t, err)
	saved := filepath.Join(t.TempDir(), "saved.tar")
	must(t, tarball.WriteToFile(saved, tag, image))
	dir, err := os.MkdirTemp("", "oci-") // a socket's path has to be short
	must(t, err)
	defer os.RemoveAll(dir)
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	must(t, err)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/images/team/app:1/get":
			http.ServeFile(w, q, saved)
		case "/images/broken/get":
			http.Error(w, "out of\norder", http.StatusInternalServerError)
		default:
			http.NotFound(w, q)
		}
	}))
	s.Listener = listener
	s.Start()
	defer s.Close()
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(dir, "s"))
	c := cacheIn(t)
	c.Form = Single
	r, i := fetched(t, c, source(t, "docker-daemon:team/app:1"))
	checkThree(t, i)
	if r.Reference != "docker-daemon:team/app:1" || r.Digest == "" {
		t.Errorf("got %+v", r)
	}
	if _, err := c.Resolve(t.Context(), source(t, "docker-daemon:none")); !errors.Is(err, errors.NotFound) || !strings.Contains(err.Error(), "the docker daemon has no image none") {
		t.Errorf("got %v", err)
	}
	if _, err := c.Resolve(t.Context(), source(t, "docker-daemon:broken")); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	t.Setenv("DOCKER_HOST", "unix://"+dir+"/none")
	if _, err := c.Resolve(t.Context(), source(t, "docker-daemon:a")); !errors.Is(err, errors.NotFound) || !strings.Contains(err.Error(), "no docker daemon answers on "+dir+"/none: ") {
		t.Errorf("got %v", err)
	}
	t.Setenv("DOCKER_HOST", "tcp://10.0.0.1:2375")
	if _, err := c.Resolve(t.Context(), source(t, "docker-daemon:a")); !errors.Is(err, errors.NotSupported) {
		t.Errorf("got %v", err)
	}
}

// Whichever step fails, or is the last one of a process that is killed: the next
// one has all that it needs, and clears away what isn't whole.
func TestWhoeverIsStoppedAtAnyStepLeavesACacheThatWorks(t *testing.T) {
	t.Parallel()
	ref := source(t, layoutOf(t, imageOf(t, layerOf(t, tarOf(t, file("a/f", "x")), gzipped), layerOf(t, tarOf(t, dir("a", 0o700), file("b", "y")), plain))))
	stop := errors.New("stopped")
	for at := 0; ; at++ {
		c := cacheIn(t)
		c.Form = Single
		step, stopped := 0, false
		var mu sync.Mutex
		c.Disk = durable.Disk{Around: func(s durable.Step, half, whole func() error) error {
			mu.Lock()
			defer mu.Unlock()
			if stopped {
				return stop // as a process that is gone does nothing more
			}
			if step++; step <= at {
				return unsynced(s, half, whole)
			}
			if stopped = true; half != nil && at%2 == 0 {
				_ = half()
			}
			return stop
		}}
		attempt := func(c *Cache) (*Image, error) {
			r, err := c.Resolve(context.Background(), ref)
			if err != nil {
				return nil, err
			}
			defer r.Release()
			i, err := c.Fetch(context.Background(), ref, r.Digest)
			if err == nil {
				defer i.Release()
			}
			return i, err
		}
		_, err := attempt(c)
		again, err2 := attempt(&Cache{Dir: c.Dir, Form: Single, Disk: durable.Disk{Around: unsynced}})
		if err2 != nil || shown(t, again.Layers[1]) != "a drwxr-xr-x\na/f -rw-r--r-- x" || shown(t, again.Layers[0]) != "a drwx------\nb -rw-r--r-- y" {
			t.Fatalf("after step %d (%v): got %v", at, err, err2)
		}
		if left, _ := os.ReadDir(c.path(workDir)); len(left) != 0 {
			t.Fatalf("after step %d there is left %v", at, left)
		}
		if !stopped {
			if at < 20 {
				t.Errorf("there were only %d steps", at)
			}
			return
		}
	}
}
