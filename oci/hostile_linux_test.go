package oci

import (
	"archive/tar"
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"

	"github.com/juju/errors"

	"github.com/unitd/unitd/testcharms/images"
)

// Archives that another program has written, which doesn't know the library.
func TestArchivesThatTheLibraryHasntWritten(t *testing.T) {
	t.Parallel()
	image := images.Image{Layers: []images.Layer{{{Name: "etc/a", Mode: 0o640, Data: []byte("a")}}, {{Name: "etc/.wh.a"}}}, User: "7:8"}
	digest, err := image.Digest()
	must(t, err)
	for _, ref := range []string{"oci-archive:" + images.WriteOCI(t, image, "a:1"), images.WriteDocker(t, image, "a:1"), images.WriteLayout(t, image, "a:1")} {
		c := cacheIn(t)
		c.Form = Single
		r, i := fetched(t, c, source(t, ref))
		if strings.HasPrefix(r.Reference, "oci") && r.Digest != digest {
			t.Errorf("%s has %s, and should have %s", ref, r.Digest, digest)
		}
		if got := shown(t, i.Layers[1]); i.Config.User != "7:8" || got != "etc drwxr-xr-x\netc/a -rw-r----- a" {
			t.Errorf("%s: %s, %+v", ref, got, i.Config)
		}
		if got := shown(t, i.Layers[0]); got != "etc drwxr-xr-x\netc/a Dc---------" {
			t.Errorf("%s: %s", ref, got)
		}
	}
}

// What a layer may not have is found where the image is given, and not only in a
// unit.
func TestAnImageOnThisHostIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for want, in := range map[string][]tar.Header{
		" ../out: the path leads out": {file("../out", "")},
		" in/h: the path leads out":   {link(tar.TypeLink, "in/h", "../../etc/passwd")},
	} {
		at := layoutOf(t, imageOf(t, layerOf(t, tarOf(t, in...), gzipped)))
		for _, ref := range []string{"oci-archive:" + tarDir(t, at), "oci-layout:" + at} {
			c := cacheIn(t)
			c.Form = Single
			if _, err := c.Resolve(t.Context(), source(t, ref)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", ref, err, want)
			}
		}
	}
}

// What a stranger has named can't write on a terminal by an error, nor by what was
// left out.
func TestErrorsAreOneLineOfText(t *testing.T) {
	t.Parallel()
	const name = "a\n\x1b[2Jb"
	for what, in := range map[string][]tar.Header{
		"a name that is too long":    {file(name+strings.Repeat("n", 300), "")},
		"a link to what isn't there": {link(tar.TypeLink, "h", name)},
		"something in the way":       {file(name, ""), file(name+"/b", "")},
		"an empty link":              {link(tar.TypeSymlink, name, "")},
	} {
		c := cacheIn(t)
		c.Form = Single
		s := source(t, layoutOf(t, imageOf(t, layerOf(t, tarOf(t, in...), plain))))
		_, err := c.Resolve(t.Context(), s)
		if err == nil || strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%s: got %q", what, err)
		}
	}
	c := cacheIn(t)
	c.Form = Single
	_, i := fetched(t, c, source(t, layoutOf(t, imageOf(t, layerOf(t, tarOf(t, link(tar.TypeChar, name, "")), plain)))))
	if len(i.Skipped) != 1 || strings.ContainsFunc(i.Skipped[0], unicode.IsControl) {
		t.Errorf("skipped are %q", i.Skipped)
	}
}

// Directories and devices are remembered until the end of a layer, so they may not be
// too many for the memory that there is.
func TestNamesThatAreKeptAreBounded(t *testing.T) {
	t.Parallel()
	for what, h := range map[string]tar.Header{"directories": dir("d", 0o755), "devices": link(tar.TypeChar, "d", ""), "implied directories": file("d/d/d", "")} {
		_, err := unpack(t.Context(), t.TempDir(), bytes.NewReader(tarOf(t, h)), Single, limits{bytes: 1, entries: 100, names: 50})
		if !errors.Is(err, errors.QuotaLimitExceeded) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// A registry of this host may send to another place of this host, and a layer is
// still compared with its digest.
func TestARegistryThatRedirects(t *testing.T) {
	t.Parallel()
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("evil")) }))
	defer evil.Close()
	var redirect bool
	host := serve(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if redirect && strings.Contains(q.URL.Path, "/blobs/") {
				http.Redirect(w, q, evil.URL, http.StatusTemporaryRedirect)
				return
			}
			h.ServeHTTP(w, q)
		})
	})
	push(t, host+"/a:1", threeLayers(t))
	redirect = true
	if _, err := cacheIn(t).Resolve(t.Context(), source(t, host+"/a:1")); err == nil {
		t.Error("what is evil was taken")
	}
}
