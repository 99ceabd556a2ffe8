package bundle

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"
)

// bundleFile is the bundle in a directory or an archive.
const bundleFile = "bundle.yaml"

// Source is the text of a bundle or an overlay, with the path that it is from: what
// the text names is relative to the directory of that.
type Source struct {
	Path    string
	Content []byte
	// Foreign is one that somebody else has made, as a hub's are: it may name no files of
	// this host.
	Foreign bool
}

// maxBundle is how long the text of a bundle may be.
const maxBundle = 4 << 20

// Is says whether a path names a bundle: a YAML file, a directory with a bundle.yaml,
// or an archive that is one. Source: docs/spec/juju-clients.md §13.1.
func Is(path string) bool {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".bundle":
		return true
	case ".zip":
		_, err := readArchive(path)
		return err == nil
	}
	_, err := os.Stat(filepath.Join(path, bundleFile))
	return err == nil
}

// As says why a directory is taken for a bundle, with what is to follow;
// nothing of a file, which says so by its name.
func As(path, then string) string {
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		return ""
	}
	return path + " is taken for a bundle, as it has a bundle.yaml" + then
}

// Read reads the bundle at path, a file, a directory with a bundle.yaml, or an archive
// with one, and lays overlays over it, in their order. Errors are NotFound, and NotValid
// with file, line and key.
func Read(path string, overlays ...string) (*Bundle, error) { return read(path, false, overlays) }

// ReadForeign is Read for a bundle that is of a hub. Its overlays are from here.
func ReadForeign(path string, overlays ...string) (*Bundle, error) { return read(path, true, overlays) }

func read(path string, foreign bool, overlays []string) (*Bundle, error) {
	base, err := readSource("bundle", path)
	if err != nil {
		return nil, errors.Trace(err)
	}
	base.Foreign = foreign
	var over []Source
	for _, path := range overlays {
		source, err := readSource("overlay", path)
		if err != nil {
			return nil, errors.Trace(err)
		}
		over = append(over, source)
	}
	bundle, err := parse(base, over...)
	return bundle, errors.Trace(err)
}

// readSource reads a bundle or an overlay; what says which.
func readSource(what, path string) (Source, error) {
	if ext := filepath.Ext(path); ext == ".bundle" || ext == ".zip" {
		content, err := readArchive(path)
		return Source{Path: path, Content: content}, errors.Trace(err)
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() && what == "bundle" {
		path = filepath.Join(path, bundleFile)
	}
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return Source{}, errors.NewNotFound(nil, fmt.Sprintf("no %s was found at %q", what, path))
	}
	return Source{Path: path, Content: content}, errors.Annotatef(err, "cannot read the %s", what)
}

// readArchive is the bundle in an archive.
func readArchive(path string) ([]byte, error) {
	if _, err := os.Stat(path); os.IsNotExist(err) {
		return nil, errors.NewNotFound(nil, fmt.Sprintf("no bundle was found at %q", path))
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, errors.NewNotValid(nil, fmt.Sprintf("cannot read bundle %s: %v", path, err))
	}
	defer z.Close()
	f, err := z.Open(bundleFile)
	if err != nil {
		return nil, errors.NewNotValid(nil, fmt.Sprintf("cannot read bundle %s: it has no %s", path, bundleFile))
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxBundle+1))
	if len(content) > maxBundle {
		return nil, errors.NewNotValid(nil, fmt.Sprintf("cannot read bundle %s: its %s is longer than %d MiB", path, bundleFile, maxBundle>>20))
	}
	return content, errors.Annotatef(err, "cannot read bundle %s", path)
}

// documents reads the YAML documents of a source; the nodes of each are noted to be
// from there. One without content is left out.
func (p *parser) documents(s Source) ([]*yaml.Node, error) {
	from := s.origin()
	var docs []*yaml.Node
	for d := yaml.NewDecoder(bytes.NewReader(s.Content)); ; {
		var doc yaml.Node
		err := d.Decode(&doc)
		if err == io.EOF {
			return docs, nil
		}
		if err != nil {
			return nil, errors.NewNotValid(nil, fmt.Sprintf("%s: %s", from.file, strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " ")))
		}
		if len(doc.Content) == 0 || isNull(doc.Content[0]) {
			continue
		}
		p.note(doc.Content[0], from)
		docs = append(docs, doc.Content[0])
	}
}

// origin is where a text is from: a file, for errors, and a directory, for paths.
type origin struct {
	file, dir string
	foreign   bool
}

func (s Source) origin() *origin {
	return &origin{filepath.Base(s.Path), filepath.Dir(s.Path), s.Foreign}
}

// note notes where a node is from, and all that is in it.
func (p *parser) note(n *yaml.Node, from *origin) {
	p.from[n] = from
	for _, c := range n.Content {
		p.note(c, from)
	}
}

// origin is where a node is from.
func (p *parser) origin(n *yaml.Node) *origin {
	if from := p.from[n]; from != nil {
		return from
	}
	return p.base
}

// path is a path that a node has, from the directory of what says it; key is for errors.
func (p *parser) path(n *yaml.Node, key, path string) (string, error) {
	from := p.origin(n)
	switch {
	case from.foreign:
		return "", p.errorf(n, key, "%q is a path, but a bundle of a hub names no files", path)
	case filepath.IsAbs(path):
		return path, nil
	}
	return filepath.Join(from.dir, path), nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// behind is the node that an alias stands for, or the node.
func behind(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
