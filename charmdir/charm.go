package charmdir

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
)

// Limits of an archive or tree.
const (
	maxEntries  = 100_000
	maxFile     = 1 << 30
	maxTotal    = 2 << 30
	maxPath     = 1024 // bytes of a path in the charm, or of a link's target
	maxMetadata = 4 << 20
	maxLinks    = 8 // from one to the next, to a metadata file
)

// Charm is a charm that was read from files.
type Charm struct {
	model.Charm
	// Path is the tree or archive that it was read from.
	Path string
	// Dir says whether Path is a tree.
	Dir bool
	// Project is how the charm is built, for a source tree; nil for a charm that
	// runs as it is. It has to be Built before it is archived.
	Project *Project
	// Plain has the archive of a tree not be compressed: it is made, and unpacked, in a
	// fraction of the time, for who throws it away soon.
	Plain bool
	// venv is the directory with the packages that become the charm's venv.
	venv  string
	built bool
	// portable: without byte code.
	portable bool
	// generated are files that the charm reads when it runs and that the tree
	// lacks, since it has them all in charmcraft.yaml.
	generated map[string][]byte
}

// Read reads the charm at path, a tree or an archive. Errors: NotFound where
// there is nothing, NotValid, naming file, line and key, for what isn't a
// charm.
func Read(path string) (*Charm, error) {
	st, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil, errors.NewNotFound(nil, fmt.Sprintf("no charm was found at %q", path))
	case err != nil:
		return nil, errors.Annotate(err, "cannot read the charm")
	case st.IsDir():
		return ReadDir(path)
	}
	return ReadArchive(path)
}

// errNoCharm is the error for a tree or an archive that isn't a charm.
func errNoCharm() error {
	return errors.NewNotValid(nil, "it has no metadata.yaml and no charmcraft.yaml")
}

// ReadDir reads an unpacked charm, and checks all of its tree.
func ReadDir(path string) (*Charm, error) {
	// Before the tree: somebody may have named a whole disk by mistake.
	if !hasMetadata(path) {
		return nil, errors.Annotatef(errNoCharm(), "cannot read charm %s", path)
	}
	project, err := readProject(path)
	if err != nil {
		return nil, errors.Annotatef(err, "cannot read charm %s", path)
	}
	if err := walk(path, project, func(treeEntry) error { return nil }); err != nil {
		return nil, errors.Annotatef(err, "cannot read charm %s", path)
	}
	c, err := read(os.DirFS(path))
	if err != nil {
		return nil, errors.Annotatef(err, "cannot read charm %s", path)
	}
	c.Path, c.Dir, c.Project = path, true, project
	if project != nil && project.makesDispatch() {
		c.generated["dispatch"] = project.dispatch()
	}
	return c, nil
}

// Built says that what the charm's Project asks for is made: venv is the
// directory with its packages, which stays as it is as long as the charm is
// used; empty if it needs none.
func (c *Charm) Built(venv string) { c.venv, c.built = venv, true }

// Portable leaves the packages' byte code out of the archive: what one version of
// Python makes of the same source isn't what another one does, and the archive is to
// have the same bytes wherever it is packed.
func (c *Charm) Portable() { c.portable = true }

// hasMetadata says whether a directory has what makes it a charm, good or bad;
// what can't be looked at is for the reader to complain about.
func hasMetadata(dir string) bool {
	for _, name := range []string{"metadata.yaml", "charmcraft.yaml"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			return true
		}
	}
	return false
}

// ReadArchive reads a ".charm" file, a zip archive, and checks all its entries.
func ReadArchive(path string) (*Charm, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		if errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrInsecurePath) {
			return nil, errors.NewNotValid(nil, fmt.Sprintf("cannot read charm %s: %v", path, err))
		}
		return nil, errors.Annotatef(err, "cannot read charm %s", path)
	}
	defer z.Close()
	if _, err := checkEntries(z.File); err != nil {
		return nil, errors.Annotatef(err, "cannot read charm %s", path)
	}
	c, err := read(z)
	if err != nil {
		return nil, errors.Annotatef(err, "cannot read charm %s", path)
	}
	c.Path = path
	return c, nil
}

// read reads the metadata in files.
func read(files fs.FS) (*Charm, error) {
	c := &Charm{generated: map[string][]byte{}}
	meta, found, err := readYAML(files, "metadata.yaml")
	if err != nil {
		return nil, err
	}
	config, hasConfig, err := readYAML(files, "config.yaml")
	if err != nil {
		return nil, err
	}
	actions, hasActions, err := readYAML(files, "actions.yaml")
	if err != nil {
		return nil, err
	}
	craft, unified, err := readYAML(files, "charmcraft.yaml")
	switch {
	case err != nil:
		return nil, err
	case !found && !unified:
		return nil, errNoCharm()
	case !found:
		meta = craft
		if err := c.generate("metadata.yaml", pick(craft, metadataKeys())); err != nil {
			return nil, err
		}
	}
	if unified && !hasConfig && !craft.get("config").null() {
		config = craft.get("config")
		if err := c.generate("config.yaml", config.value()); err != nil {
			return nil, err
		}
	}
	if unified && !hasActions && !craft.get("actions").null() {
		actions = craft.get("actions")
		if err := c.generate("actions.yaml", actions.value()); err != nil {
			return nil, err
		}
	}
	for _, part := range []struct {
		n    node
		read func(node, *model.Charm) error
	}{{meta, readMetadata}, {config, readConfig}, {actions, readActions}} {
		if err := part.read(part.n, &c.Charm); err != nil {
			return nil, err
		}
	}
	c.Bases = basesOf(files, craft)
	_, hasManifest, err := readFile(files, "manifest.yaml")
	if err != nil {
		return nil, err
	}
	if err := checkV1(meta, hasManifest, &c.Charm); err != nil {
		return nil, err
	}
	version, _, err := readFile(files, "version")
	c.Version = strings.TrimSpace(string(version))
	return c, err
}

func readYAML(files fs.FS, name string) (node, bool, error) {
	data, found, err := readFile(files, name)
	if err != nil || !found {
		return node{file: name}, false, err
	}
	n, err := parse(name, data)
	return n, true, err
}

// readFile reads a file, or the one that a link leads to. Anything else that
// has the file's name is an error: a pipe, for one, would never end.
func readFile(files fs.FS, name string) ([]byte, bool, error) {
	for at, links := name, 0; ; links++ {
		st, err := fs.Stat(files, at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, false, nil
		case err != nil:
			return nil, false, errors.Annotate(err, name)
		case st.Mode().IsRegular():
			data, err := readRegular(files, at)
			return data, true, errors.Annotate(err, name)
		case st.Mode().Type() != fs.ModeSymlink || links == maxLinks:
			return nil, false, errors.NewNotValid(nil, name+": not a file")
		}
		target, err := readRegular(files, at) // an archive has it as content
		if err != nil {
			return nil, false, errors.Annotate(err, name)
		}
		at = path.Join(path.Dir(at), string(target))
	}
}

func readRegular(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxMetadata+1))
	if err == nil && len(data) > maxMetadata {
		err = errors.NewNotValid(nil, fmt.Sprintf("larger than %d bytes", maxMetadata))
	}
	return data, errors.Trace(err)
}

// pick is a map with some of n's keys.
func pick(n node, keys []string) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, k := range keys {
		if v := n.get(k); v.n != nil {
			out.Content = append(out.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: k}, v.n)
		}
	}
	return out
}

func (c *Charm) generate(name string, v *yaml.Node) error {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	if err := enc.Encode(v); err != nil {
		return errors.Annotate(err, name)
	}
	c.generated[name] = b.Bytes()
	return nil
}
