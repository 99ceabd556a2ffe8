package charmdir

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
)

// archiveTime is the time of every entry, so that the same tree makes the same
// archive.
func archiveTime() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }

// Archive writes the charm as an archive to w and returns its hash (SHA-256,
// hex). The archive of a tree is made so that the same tree always gives the
// same bytes; git's directory and other charms' archives are left out. Errors
// are NotValid, naming the entry, for what may not be in a charm.
func (c *Charm) Archive(w io.Writer) (string, error) {
	sum := sha256.New()
	out := io.MultiWriter(w, sum)
	var err error
	if c.Dir {
		err = c.pack(out)
	} else {
		err = copyFile(out, c.Path)
	}
	if err != nil {
		return "", errors.Annotatef(err, "cannot pack charm %s", c.Path)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return errors.Trace(err)
}

func (c *Charm) pack(w io.Writer) error {
	root, err := filepath.EvalSymlinks(c.Path)
	if err != nil {
		return errors.Trace(err)
	}
	if c.Project != nil && !c.built {
		return errors.NewNotValid(nil, "it is a source tree that hasn't been built")
	}
	p := &packer{root: root, zip: zip.NewWriter(w), method: zip.Deflate, names: map[string]bool{}, hooks: hooksOf(c.Charm)}
	if c.Plain {
		p.method = zip.Store
	}
	err = walk(c.Path, c.Project, func(e treeEntry) error {
		for _, name := range c.names(e.name) {
			if _, made := c.generated[name]; made {
				continue // a link to nothing, or Read had found it
			}
			if err := p.add(e, name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.generated)) {
		mode := fs.FileMode(0o644)
		if name == "dispatch" {
			mode = 0o755
		}
		if err := p.addText(name, mode, string(c.generated[name])); err != nil {
			return err
		}
	}
	if c.venv != "" {
		p.root = c.venv
		err := walk(c.venv, nil, func(e treeEntry) error {
			if c.portable && slices.Contains(strings.Split(e.name, "/"), "__pycache__") {
				return nil
			}
			return p.add(e, "venv/"+e.name)
		})
		if err != nil {
			return err
		}
	}
	return errors.Trace(p.zip.Close())
}

// names are the paths in the charm of an entry of its tree.
func (c *Charm) names(name string) []string {
	if c.Project == nil {
		return []string{name}
	}
	return c.Project.names(name)
}

// packer adds the entries of a tree.
type packer struct {
	root   string
	zip    *zip.Writer
	method uint16
	names  map[string]bool // that were added
	hooks  hookNames
}

func (p *packer) header(name string, mode fs.FileMode) *zip.FileHeader {
	h := &zip.FileHeader{Name: name, Method: p.method, Modified: archiveTime()}
	h.SetMode(mode)
	return h
}

// add adds an entry of the tree under a name; the first one with it stays.
func (p *packer) add(e treeEntry, name string) error {
	if p.names[name] {
		return nil
	}
	p.names[name] = true
	switch e.mode.Type() {
	case fs.ModeDir:
		_, err := p.zip.CreateHeader(p.header(name+"/", fs.ModeDir|0o755))
		return errors.Trace(err)
	case fs.ModeSymlink:
		if err := checkLink(name, e.target); err != nil {
			return err // it isn't where it was
		}
		return p.addText(name, fs.ModeSymlink|0o777, e.target)
	}
	return p.addFile(e, name)
}

func (p *packer) addText(name string, mode fs.FileMode, text string) error {
	e, err := p.zip.CreateHeader(p.header(name, mode))
	if err != nil {
		return errors.Trace(err)
	}
	_, err = io.WriteString(e, text)
	return errors.Trace(err)
}

func (p *packer) addFile(from treeEntry, name string) error {
	e, err := p.zip.CreateHeader(p.header(name, p.hooks.mode(name, from.mode)))
	if err != nil {
		return errors.Trace(err)
	}
	return copyFile(e, filepath.Join(p.root, from.name))
}

// checkEntries refuses an archive with an entry that may not be in a charm,
// and returns the names of all files and links, sorted.
func checkEntries(files []*zip.File) ([]string, error) {
	if len(files) > maxEntries {
		return nil, errSize(files[maxEntries].Name)
	}
	kinds := make(map[string]fs.FileMode, len(files))
	var total uint64
	for _, f := range files {
		if err := checkEntry(f); err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(f.Name, "/")
		if _, twice := kinds[name]; twice {
			return nil, errors.NewNotValid(nil, fmt.Sprintf("entry %s: given twice", quote(name)))
		}
		kinds[name] = f.Mode().Type()
		if total += f.UncompressedSize64; total > maxTotal {
			return nil, errSize(name)
		}
	}
	if err := checkDirs(kinds); err != nil {
		return nil, err
	}
	maps.DeleteFunc(kinds, func(_ string, kind fs.FileMode) bool { return kind == fs.ModeDir })
	return slices.Sorted(maps.Keys(kinds)), nil
}

func checkEntry(f *zip.File) error {
	if err := checkName(f.Name); err != nil {
		return err
	}
	if f.UncompressedSize64 > maxFile {
		return errSize(f.Name)
	}
	switch f.Mode().Type() {
	case fs.ModeDir, 0:
		return nil
	case fs.ModeSymlink:
		target, err := linkTarget(f)
		if err != nil {
			return err
		}
		return checkLink(f.Name, target)
	}
	return errKind(f.Name)
}

// checkDirs refuses an entry below one that isn't a directory, and more
// directories than an archive may have: they need not be entries themselves.
//
// Sorted with the lowest byte for "/", a directory comes right before what is
// below it, so that each path has to be compared with the one before only.
func checkDirs(kinds map[string]fs.FileMode) error {
	paths := make([]string, 0, len(kinds))
	for name := range kinds {
		paths = append(paths, strings.ReplaceAll(name, "/", "\x00"))
	}
	slices.Sort(paths)
	name := func(path string) string { return strings.ReplaceAll(path, "\x00", "/") }
	before, count := "", 0
	for _, path := range paths {
		common := 0
		for common < min(len(before), len(path)) && before[common] == path[common] {
			common++
		}
		count += strings.Count(path[common:], "\x00") // directories that the one before isn't in
		if path[common] != 0 {
			count++
		} else if kinds[name(before)] != fs.ModeDir {
			return errors.NewNotValid(nil, fmt.Sprintf("entry %s: below %s, which isn't a directory", quote(name(path)), quote(name(before))))
		}
		if count > maxEntries {
			return errSize(name(path))
		}
		before = path
	}
	return nil
}

// linkTarget is at most a byte longer than a link may be.
func linkTarget(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", errors.Annotatef(err, "entry %q", f.Name)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxPath+1))
	return string(b), errors.Annotatef(err, "entry %q", f.Name)
}
