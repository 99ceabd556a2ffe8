package oci

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	layouts "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/unitd/unitd/durable"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// when is the time of entries that have no other.
var when = time.Unix(1_700_000_000, 0)

func dir(name string, mode int64) tar.Header {
	return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: mode}
}

// file is a header whose content is in a record of its own, for tests to read easily.
func file(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)), PAXRecords: map[string]string{"TEST.content": content}}
}

func link(kind byte, name, to string) tar.Header {
	return tar.Header{Typeflag: kind, Name: name, Linkname: to, Mode: 0o777}
}

// with changes a header.
func with(h tar.Header, change func(*tar.Header)) tar.Header {
	change(&h)
	return h
}

func tarOf(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		content := h.PAXRecords["TEST.content"]
		records := map[string]string{}
		for k, v := range h.PAXRecords {
			if k != "TEST.content" {
				records[k] = v
			}
		}
		if h.PAXRecords = records; len(records) == 0 {
			h.PAXRecords = nil
		}
		if h.ModTime.IsZero() && h.Typeflag != tar.TypeXGlobalHeader {
			h.ModTime = when
		}
		must(t, w.WriteHeader(&h))
		_, err := io.WriteString(w, content)
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func gzipOf(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	must(t, err)
	must(t, w.Close())
	return out.Bytes()
}

func zstdOf(t testing.TB, b []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	must(t, err)
	return w.EncodeAll(b, nil)
}

// tarLayer is a layer as an image has it: its digest is that of what is fetched,
// its diff id that of the tar file.
type tarLayer struct {
	v1.Layer
	diff v1.Hash
}

func (l tarLayer) DiffID() (v1.Hash, error) { return l.diff, nil }

func (l tarLayer) Uncompressed() (io.ReadCloser, error) {
	r, err := l.Compressed()
	if err != nil {
		return nil, err
	}
	return decompress(r)
}

func layerOf(t testing.TB, content []byte, how format) v1.Layer {
	t.Helper()
	sum := sha256.Sum256(content)
	diff, err := v1.NewHash(fmt.Sprintf("sha256:%x", sum))
	must(t, err)
	raw, kind := content, types.OCIUncompressedLayer
	switch how {
	case gzipped:
		raw, kind = gzipOf(t, content), types.OCILayer
	case zstandard:
		raw, kind = zstdOf(t, content), types.OCILayerZStd
	}
	return tarLayer{static.NewLayer(raw, kind), diff}
}

// imageOf is an image for this host.
func imageOf(t testing.TB, layers ...v1.Layer) v1.Image {
	t.Helper()
	return imageFor(t, runtime.GOARCH, layers...)
}

func imageFor(t testing.TB, arch string, layers ...v1.Layer) v1.Image {
	t.Helper()
	i, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layers...)
	must(t, err)
	c, err := i.ConfigFile()
	must(t, err)
	c = c.DeepCopy()
	c.OS, c.Architecture = "linux", arch
	c.Config = v1.Config{Env: []string{"A=1", "PATH=/bin"}, User: "app:100", WorkingDir: "/srv", Entrypoint: []string{"/bin/app"}, Cmd: []string{"serve"}, Labels: map[string]string{"l": "1"}}
	i, err = mutate.ConfigFile(i, c)
	must(t, err)
	return i
}

// layoutOf writes images as a layout, and is its directory.
func layoutOf(t testing.TB, images ...v1.Image) string {
	t.Helper()
	dir := t.TempDir()
	p, err := layouts.Write(dir, empty.Index)
	must(t, err)
	for _, i := range images {
		must(t, p.AppendImage(i))
	}
	return dir
}

// tarDir is a tar file of a directory.
func tarDir(t testing.TB, from string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	f, err := os.Create(path)
	must(t, err)
	w := tar.NewWriter(f)
	must(t, w.AddFS(os.DirFS(from)))
	must(t, w.Close())
	must(t, f.Close())
	return path
}

func cacheIn(t testing.TB) *Cache {
	t.Helper()
	return &Cache{Dir: filepath.Join(t.TempDir(), "cache"), Disk: durable.Disk{Around: unsynced}}
}

// unsynced spares what only matters to a machine that loses its power.
func unsynced(s durable.Step, _, whole func() error) error {
	if s.Do == durable.Sync {
		return nil
	}
	return whole()
}

// shown describes a tree, a line for each name but the root: kind, mode, content.
func shown(t testing.TB, root string) string {
	t.Helper()
	var out []string
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		if err != nil || name == "." {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		line := name + " " + st.Mode().String()
		switch {
		case st.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += " " + string(b)
		case st.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line = name + " -> " + to
		}
		if opaqueHere(path) {
			line += " opaque"
		}
		out = append(out, line)
		return nil
	}))
	sort.Strings(out)
	return strings.Join(out, "\n")
}
