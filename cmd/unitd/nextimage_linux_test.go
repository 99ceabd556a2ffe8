package main_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/testcharms/images"
)

// heldRegistry is a registry that answers no request for one blob until it is let go.
type heldRegistry struct {
	host         string
	held         atomic.Value // part of the blob's path; a string, or nothing as long as none is held
	asked, letGo chan struct{}
}

func newHeldRegistry(t *testing.T) *heldRegistry {
	t.Helper()
	r := &heldRegistry{asked: make(chan struct{}, 1), letGo: make(chan struct{})}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if held, ok := r.held.Load().(string); ok && q.Method == http.MethodGet && strings.Contains(q.URL.Path, held) {
			select {
			case r.asked <- struct{}{}:
			default:
			}
			select {
			case <-r.letGo:
			case <-q.Context().Done():
			}
		}
		inner.ServeHTTP(w, q)
	}))
	t.Cleanup(s.Close)
	r.host = strings.TrimPrefix(s.URL, "http://")
	return r
}

// push has an image in the registry, and returns it.
func (r *heldRegistry) push(t *testing.T, ref string, i images.Image) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(images.WriteLayout(t, i, ref))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	to, err := name.ParseReference(r.host + "/" + ref)
	if err == nil {
		err = remote.Write(to, image)
	}
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestHostAUnitKeepsItsContainersUntilTheNextImageIsThere(t *testing.T) {
	t.Parallel()
	a, r := newActivation(t), newHeldRegistry(t)
	r.push(t, "web:1", images.Web(t))
	second := r.push(t, "web:2", images.Web(t).With(images.File{Name: "srv/second", Mode: 0o644, Data: []byte("2")}))
	layers, err := second.Layers()
	if err != nil {
		t.Fatal(err)
	}
	top, err := layers[len(layers)-1].Digest()
	if err != nil {
		t.Fatal(err)
	}
	r.held.Store(top.String())
	a.added("contained", "shop", "--resource", "web-image="+r.host+"/web:1")

	a.unitd("attach-resource", "shop", "web-image="+r.host+"/web:2")
	select {
	case <-r.asked:
	case <-time.After(10 * time.Minute):
		t.Fatal("nobody asks for the image")
	}
	sockets, err := filepath.Glob(filepath.Join(a.data, "models", "*", "agents", "unit-shop-0", "containers", "web", "pebble.socket"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("the former container has the sockets %v (%v)", sockets, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := pebble.New(sockets[0]).SystemInfo(ctx); err != nil {
		t.Errorf("the former container doesn't answer: %v", err)
	}
	if out := string(a.unitd("history", "shop/0")); strings.Contains(out, " stop ") {
		t.Errorf("stop has run:\n%s", out)
	}
	if out, want := string(a.unitd("why", "shop/0")), "keeps its containers until the next image of container web is fetched: "+r.host+"/web:2"; !strings.Contains(out, want) {
		t.Errorf("why says %q, not %q", out, want)
	}
	if out, want := string(a.unitd("why", "shop/0")), r.host+"/web:2 (0 of "; !strings.Contains(out, want) {
		t.Errorf("why says %q, not %q", out, want)
	}
	if out, want := string(a.unitd("status")), "shop/0: fetching the image of container web: 0 of "; !strings.Contains(out, want) {
		t.Errorf("status says %q, not %q", out, want)
	}
	a.unitd("exec", "--unit", "shop/0", "true") // other things go on

	close(r.letGo)
	a.unitd("wait", "--timeout", "600s")
	lines := strings.Split(string(a.unitd("history", "shop/0")), "\n")
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, " stop ") }) {
		t.Errorf("the containers weren't replaced:\n%s", strings.Join(lines, "\n"))
	}
	if _, err := os.Stat(sockets[0]); err != nil {
		t.Error(err)
	}
}
