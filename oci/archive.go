package oci

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/juju/errors"
)

// files are what an archive or a layout consists of. They are opened by their
// paths in it.
type files interface {
	open(name string) (io.ReadCloser, error)
	Close() error
}

// folder is a layout's directory. Links that lead out of it aren't followed.
type folder struct{ *os.Root }

func (f folder) open(name string) (io.ReadCloser, error) {
	st, err := f.Stat(name)
	if err == nil && !st.Mode().IsRegular() { // a pipe would be waited for
		return nil, errors.NewNotValid(nil, name+" isn't a file")
	}
	if err != nil {
		return nil, notIn(name, err)
	}
	got, err := f.Open(name)
	return got, errors.Trace(err)
}

func notIn(name string, err error) error {
	if os.IsNotExist(err) {
		return errors.NewNotFound(nil, "there is no "+visibleText(name)+" in it")
	}
	return errors.Trace(err)
}

// archive is a tar file, with where in it each file is.
type archive struct {
	file    *os.File
	members map[string]member
}

type member struct {
	at, size int64
	link     string // to the name that has the content
}

// maxMembers is how many files an image's archive may have.
const maxMembers = 10_000

// readArchive finds what is where in a tar file.
func readArchive(f *os.File) (*archive, error) {
	a := &archive{file: f, members: map[string]member{}}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		switch {
		case err == io.EOF:
			return a, nil
		case err != nil:
			return nil, errors.NewNotValid(nil, "it isn't a tar file, or a damaged one: "+oneLine(err))
		case len(a.members) >= maxMembers:
			return nil, errors.NewNotValid(nil, fmt.Sprintf("it has more than %d files", maxMembers))
		}
		m := member{size: h.Size}
		switch h.Typeflag {
		case tar.TypeReg:
			// The reader has read the header and nothing after it.
			if m.at, err = f.Seek(0, io.SeekCurrent); err != nil {
				return nil, errors.Trace(err)
			}
			if h.PAXRecords["GNU.sparse.major"] != "" {
				continue
			}
		case tar.TypeSymlink:
			m.link = path.Join(path.Dir(path.Clean(h.Name)), h.Linkname)
		case tar.TypeLink:
			m.link = path.Clean(h.Linkname)
		default:
			continue
		}
		a.members[path.Clean(h.Name)] = m
	}
}

func (a *archive) open(name string) (io.ReadCloser, error) {
	m, ok := a.members[path.Clean(name)]
	for range 10 {
		if !ok || m.link == "" {
			break
		}
		m, ok = a.members[m.link]
	}
	if !ok || m.link != "" {
		return nil, errors.NewNotFound(nil, "there is no "+visibleText(name)+" in it")
	}
	return io.NopCloser(io.NewSectionReader(a.file, m.at, m.size)), nil
}

func (a *archive) Close() error { return a.file.Close() }

// openArchive opens an archive, and says which kind it is. One that has both forms,
// as docker's newer ones, is taken for OCI's, which has digests.
func openArchive(ctx context.Context, ref Reference, work string) (origin, Kind, error) {
	f, err := os.Open(ref.Path)
	if err != nil {
		if os.IsNotExist(err) {
			err = errors.NewNotFound(nil, "there is no file "+ref.Path)
		}
		return nil, ref.Kind, errors.Trace(err)
	}
	o, kind, err := archiveOrigin(ctx, f, ref.Kind, work)
	return o, kind, errors.Annotatef(err, "%s", ref.Path)
}

// archiveOrigin has the file, and closes it.
func archiveOrigin(ctx context.Context, f *os.File, kind Kind, work string) (origin, Kind, error) {
	f, err := expanded(ctx, f, work)
	if err != nil {
		return nil, kind, errors.Trace(err)
	}
	a, err := readArchive(f)
	if err != nil {
		f.Close()
		return nil, kind, errors.Trace(err)
	}
	_, isOCI := a.members["index.json"]
	_, isDocker := a.members["manifest.json"]
	switch {
	case isOCI && kind != DockerArchive:
		return &layout{files: a}, OCIArchive, nil
	case isDocker && kind != OCIArchive:
		o, err := openDocker(ctx, a)
		return o, DockerArchive, errors.Trace(err)
	}
	f.Close()
	return nil, kind, errors.NewNotValid(nil, "it isn't an image: "+lacksOf(kind)+`; save one by "docker save" or skopeo, or unpack a root file system and give rootfs:DIR`)
}

// lacksOf is what an archive hasn't got that is to be of a kind.
func lacksOf(kind Kind) string {
	switch kind {
	case DockerArchive, DockerDaemon:
		return "it has no manifest.json, which docker-archive is to have"
	case OCIArchive:
		return "it has no index.json, which oci-archive is to have"
	}
	return "it has no index.json (OCI), and no manifest.json (docker)"
}

// expanded is a file that can be read at any place: the file itself, or what it is
// the compressed form of.
func expanded(ctx context.Context, f *os.File, work string) (_ *os.File, err error) {
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.NewNotValid(nil, "it isn't a file")
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	begin := make([]byte, 4)
	n, _ := f.ReadAt(begin, 0)
	if compression(begin[:n]) == plain {
		return f, nil
	}
	in, err := decompress(f)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer in.Close()
	out, err := scratch(work)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if _, err := io.Copy(out, &bounded{ctx: ctx, r: in, left: defaultLimits.bytes, dir: work}); err != nil {
		out.Close()
		return nil, errors.Trace(err)
	}
	f.Close()
	_, err = out.Seek(0, io.SeekStart)
	return out, errors.Trace(err)
}

// scratch is a file without a name, which is gone when it is closed.
func scratch(work string) (*os.File, error) {
	f, err := os.CreateTemp(work, "archive-")
	if err != nil {
		return nil, errors.Trace(err)
	}
	return f, errors.Trace(os.Remove(f.Name()))
}

// layout is an origin: OCI's directory of blobs, or an archive of one.
type layout struct {
	files
	digest string // of the image that is meant; empty: there is one only
}

func openLayout(ref Reference) (*layout, error) {
	root, err := os.OpenRoot(ref.Path)
	if err != nil {
		return nil, errors.NewNotFound(nil, "there is no directory "+ref.Path)
	}
	l := &layout{files: folder{root}, digest: ref.Digest}
	if _, err := root.Stat("index.json"); err != nil {
		root.Close()
		return nil, errors.NewNotValid(nil, ref.Path+" isn't an image: it has no index.json (rootfs:DIR takes a directory with a root file system)")
	}
	return l, nil
}

func (l *layout) root(ctx context.Context) ([]byte, error) {
	if l.digest != "" {
		h, err := v1.NewHash(l.digest)
		if err != nil {
			return nil, errors.Trace(err)
		}
		return readDocument(ctx, l, v1.Descriptor{Digest: h})
	}
	raw, err := readFile(l.files, "index.json")
	if err != nil {
		return nil, errors.Trace(err)
	}
	_, index, err := parseDocument(raw)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if index == nil {
		return nil, errors.NewNotValid(nil, "its index.json isn't an index")
	}
	// One image for several platforms is one; several images are for nobody to
	// choose from.
	seen := map[string]bool{}
	for _, d := range index.Manifests {
		if (d.MediaType.IsImage() || d.MediaType.IsIndex()) && (d.Platform == nil || matches(*d.Platform)) {
			seen[d.Digest.String()] = true
		}
	}
	if len(seen) > 1 {
		return nil, errors.NewNotValid(nil, fmt.Sprintf("it has %d images: which one is said by oci-layout:DIR@DIGEST", len(seen)))
	}
	return raw, nil
}

func (l *layout) open(_ context.Context, d v1.Descriptor) (io.ReadCloser, error) {
	r, err := l.files.open("blobs/" + d.Digest.Algorithm + "/" + d.Digest.Hex)
	return r, errors.Trace(err)
}

// readFile is a document of an archive or layout.
func readFile(from files, name string) ([]byte, error) {
	r, err := from.open(name)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err == nil && len(raw) > maxDocument {
		err = errors.NewNotValid(nil, fmt.Sprintf("%s is longer than %d bytes", visibleText(name), maxDocument))
	}
	return raw, errors.Trace(err)
}

// docker is an origin: an archive that docker has saved. It has no manifest; one
// is made that always is the same.
type docker struct {
	files
	manifest []byte
	names    map[string]string // in the archive, by digest
}

func openDocker(ctx context.Context, from files) (_ *docker, err error) {
	defer func() {
		if err != nil {
			from.Close()
		}
	}()
	raw, err := readFile(from, "manifest.json")
	if err != nil {
		return nil, errors.Trace(err)
	}
	var images []struct {
		Config string
		Layers []string
	}
	if err := json.Unmarshal(raw, &images); err != nil {
		return nil, errors.NewNotValid(nil, "its manifest.json is not valid: "+oneLine(err))
	}
	if len(images) != 1 {
		return nil, errors.NewNotValid(nil, fmt.Sprintf("it has %d images, and is to have one", len(images)))
	}
	if len(images[0].Layers) > maxLayers {
		return nil, errors.NewNotSupported(nil, fmt.Sprintf("it has %d layers: no more than %d can be mounted", len(images[0].Layers), maxLayers))
	}
	config, err := readFile(from, images[0].Config)
	if err != nil {
		return nil, errors.Trace(err)
	}
	d := &docker{files: from, names: map[string]string{}}
	m := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: v1.Descriptor{MediaType: types.OCIConfigJSON}, Layers: []v1.Descriptor{}}
	if m.Config.Digest, err = v1.NewHash(digestOf(config)); err != nil {
		return nil, errors.Trace(err)
	}
	m.Config.Size = int64(len(config))
	d.names[m.Config.Digest.String()] = images[0].Config
	for _, name := range images[0].Layers {
		l, err := d.layer(ctx, name)
		if err != nil {
			return nil, errors.Trace(err)
		}
		m.Layers = append(m.Layers, l)
	}
	d.manifest, err = json.Marshal(m)
	return d, errors.Trace(err)
}

// layer is the descriptor of a layer in the archive.
func (d *docker) layer(ctx context.Context, name string) (v1.Descriptor, error) {
	r, err := d.files.open(name)
	if err != nil {
		return v1.Descriptor{}, errors.Trace(err)
	}
	defer r.Close()
	begin := make([]byte, 4)
	n, _ := io.ReadFull(r, begin)
	kind := types.OCIUncompressedLayer
	switch compression(begin[:n]) {
	case gzipped:
		kind = types.OCILayer
	case zstandard:
		kind = types.OCILayerZStd
	}
	hash, size, err := v1.SHA256(&bounded{ctx: ctx, r: io.NopCloser(io.MultiReader(bytes.NewReader(begin[:n]), r)), left: defaultLimits.bytes})
	if err != nil {
		return v1.Descriptor{}, errors.Trace(err)
	}
	d.names[hash.String()] = name
	return v1.Descriptor{MediaType: kind, Digest: hash, Size: size}, nil
}

func (d *docker) root(context.Context) ([]byte, error) { return d.manifest, nil }

func (d *docker) open(_ context.Context, of v1.Descriptor) (io.ReadCloser, error) {
	name, ok := d.names[of.Digest.String()]
	if !ok {
		return nil, errors.NotFoundf("%s", of.Digest)
	}
	r, err := d.files.open(name)
	return r, errors.Trace(err)
}
