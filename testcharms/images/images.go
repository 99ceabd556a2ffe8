// Package images makes container images for tests, without a registry and without a
// library, so that what reads images is tested with files that it hasn't written.
//
//	image := images.Web(t)                          // a web server and nothing else
//	image.User = "584792"
//	path := images.WriteOCI(t, image, "web:1.0")    // unitd deploy … --resource web-image=oci-archive:PATH
//
// The same image has the same bytes, and so the same digest, whenever it is written:
// with the same version of Go where it is compressed, and from the same folders where
// it has a program of ours. Source: the OCI image specification's media types and
// layout, and docs/spec/containers.md §4.4 for the folder of Pebble's layers.
package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
)

const (
	mediaIndex    = "application/vnd.oci.image.index.v1+json"
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar"
)

// Image is what an image has. The zero value is one without any files. Its methods
// change nothing; a copy with other fields is another image.
type Image struct {
	Layers     []Layer  // the lowest first
	Env        []string // NAME=VALUE
	User       string   // as in a Dockerfile: a name or a number, and a group after a colon
	Entrypoint []string
	WorkingDir string
	// Arch is the processor, as Go names it; empty is this host's.
	Arch string
	// Gzip has the layers compressed in OCI form. A docker archive has none compressed.
	Gzip bool
}

// Layer is a layer's entries in the order in which they are written. Folders above
// an entry that nothing in the layer has made before are made with mode 0755.
type Layer []File

// File is one entry: by Mode a folder, a symbolic link, or a file, which is a hard
// link if it has Hard. A whiteout is a file with a whiteout's name (".wh.NAME",
// ".wh..wh..opq").
type File struct {
	Name     string // below the root, without a slash at the beginning
	Mode     fs.FileMode
	UID, GID int
	Data     []byte
	Target   string            // of a symbolic link
	Hard     string            // the entry that a hard link is of
	Xattrs   map[string]string // by name, such as security.capability
}

// With is the image with one more layer on top.
func (i Image) With(files ...File) Image {
	i.Layers = append(slices.Clone(i.Layers), files)
	return i
}

// Digest is the digest of the image's manifest in OCI form, "sha256:…".
func (i Image) Digest() (string, error) {
	l, err := i.layout("")
	return l.manifest, err
}

// OCI writes an archive of an OCI layout that has the image under the name (empty:
// without one).
func (i Image) OCI(w io.Writer, name string) error {
	l, err := i.layout(name)
	if err != nil {
		return err
	}
	return l.tar(w)
}

// Docker writes an archive as "docker save" does. name is REPOSITORY:TAG, or empty.
func (i Image) Docker(w io.Writer, name string) error {
	i.Gzip = false
	var out layout
	config, layers, err := i.blobs()
	if err != nil {
		return err
	}
	entry := map[string]any{"Config": trim(digest(config)) + ".json", "RepoTags": names(name)}
	var paths []string
	for _, data := range layers {
		p := trim(digest(data)) + "/layer.tar"
		if !slices.Contains(paths, p) {
			out.add(p, data)
		}
		paths = append(paths, p)
	}
	entry["Layers"] = paths
	out.add(trim(digest(config))+".json", config)
	if err := out.addJSON("manifest.json", []any{entry}); err != nil {
		return err
	}
	return out.tar(w)
}

// layout is an OCI layout: the files by their paths, in the order of writing.
type layout struct {
	files    []File
	manifest string // its digest
}

func (l *layout) add(name string, data []byte) {
	l.files = append(l.files, File{Name: name, Mode: 0o644, Data: data})
}

func (l *layout) addJSON(name string, v any) error {
	data, err := json.Marshal(v)
	l.add(name, data)
	return err
}

// blob adds a blob, and returns what refers to it.
func (l *layout) blob(media string, data []byte) map[string]any {
	name := "blobs/sha256/" + trim(digest(data))
	if !slices.ContainsFunc(l.files, func(f File) bool { return f.Name == name }) {
		l.add(name, data)
	}
	return map[string]any{"mediaType": media, "digest": digest(data), "size": len(data)}
}

func (l *layout) tar(w io.Writer) error { return writeTar(w, l.files) }

// layout is the image's files in OCI form.
func (i Image) layout(name string) (*layout, error) {
	l := &layout{}
	config, layers, err := i.blobs()
	if err != nil {
		return l, err
	}
	manifest := map[string]any{"schemaVersion": 2, "mediaType": mediaManifest, "config": l.blob(mediaConfig, config)}
	refs := []any{}
	for _, data := range layers {
		media := mediaLayer
		if i.Gzip {
			media += "+gzip"
			data = compressed(data)
		}
		refs = append(refs, l.blob(media, data))
	}
	manifest["layers"] = refs
	data, err := json.Marshal(manifest)
	if err != nil {
		return l, err
	}
	ref := l.blob(mediaManifest, data)
	if name != "" {
		ref["annotations"] = map[string]string{"org.opencontainers.image.ref.name": name}
	}
	ref["platform"] = map[string]string{"os": "linux", "architecture": i.arch()}
	l.manifest = digest(data)
	l.add("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	return l, l.addJSON("index.json", map[string]any{"schemaVersion": 2, "mediaType": mediaIndex, "manifests": []any{ref}})
}

// blobs are the image's configuration, and its layers as tar files.
func (i Image) blobs() (config []byte, layers [][]byte, err error) {
	ids := []string{}
	for _, files := range i.Layers {
		var b bytes.Buffer
		if err := writeTar(&b, files); err != nil {
			return nil, nil, err
		}
		layers = append(layers, b.Bytes())
		ids = append(ids, digest(b.Bytes()))
	}
	run := map[string]any{}
	if len(i.Env) > 0 {
		run["Env"] = i.Env
	}
	if i.User != "" {
		run["User"] = i.User
	}
	if len(i.Entrypoint) > 0 {
		run["Entrypoint"] = i.Entrypoint
	}
	if i.WorkingDir != "" {
		run["WorkingDir"] = i.WorkingDir
	}
	config, err = json.Marshal(map[string]any{
		"created": "1970-01-01T00:00:00Z", "architecture": i.arch(), "os": "linux", "config": run,
		"rootfs": map[string]any{"type": "layers", "diff_ids": ids},
	})
	return config, layers, err
}

func (i Image) arch() string {
	if i.Arch == "" {
		return runtime.GOARCH
	}
	return i.Arch
}

// writeTar writes the entries, and the folders above them.
func writeTar(w io.Writer, files []File) error {
	out, made := tar.NewWriter(w), map[string]bool{".": true}
	for _, f := range files {
		var above []string
		for dir := path.Dir(f.Name); !made[dir]; dir = path.Dir(dir) {
			above = append(above, dir)
			made[dir] = true
		}
		for _, dir := range slices.Backward(above) {
			if err := out.WriteHeader(header(File{Name: dir, Mode: fs.ModeDir | 0o755})); err != nil {
				return fmt.Errorf("folder %q: %w", dir, err)
			}
		}
		if f.Mode.IsDir() {
			made[path.Clean(f.Name)] = true
		}
		if err := out.WriteHeader(header(f)); err != nil {
			return fmt.Errorf("entry %q: %w", f.Name, err)
		}
		if _, err := out.Write(f.Data); err != nil {
			return fmt.Errorf("entry %q: %w", f.Name, err)
		}
	}
	return out.Close()
}

func header(f File) *tar.Header {
	h := &tar.Header{
		Name: f.Name, Uid: f.UID, Gid: f.GID, Mode: int64(f.Mode.Perm()), ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
		Typeflag: tar.TypeReg, Size: int64(len(f.Data)),
	}
	for bit, in := range map[fs.FileMode]int64{fs.ModeSetuid: 0o4000, fs.ModeSetgid: 0o2000, fs.ModeSticky: 0o1000} {
		if f.Mode&bit != 0 {
			h.Mode |= in
		}
	}
	switch {
	case f.Mode.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, strings.TrimSuffix(f.Name, "/")+"/"
	case f.Mode&fs.ModeSymlink != 0:
		h.Typeflag, h.Linkname = tar.TypeSymlink, f.Target
	case f.Hard != "":
		h.Typeflag, h.Linkname = tar.TypeLink, f.Hard
	}
	for name, value := range f.Xattrs {
		if h.PAXRecords == nil {
			h.PAXRecords = map[string]string{}
		}
		h.PAXRecords["SCHILY.xattr."+name] = value
	}
	return h
}

func compressed(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b) // with no name and no time
	_, _ = w.Write(data)    // a buffer takes all
	_ = w.Close()
	return b.Bytes()
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// trim is the digest's hexadecimal part.
func trim(digest string) string { return strings.TrimPrefix(digest, "sha256:") }

// names is the list of one name, or of none.
func names(name string) []string {
	if name == "" {
		return []string{}
	}
	return []string{name}
}
