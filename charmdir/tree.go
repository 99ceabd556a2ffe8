package charmdir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/juju/errors"
)

// treeEntry is a directory, file or link of a charm's tree.
type treeEntry struct {
	name   string // below the tree, with slashes
	mode   fs.FileMode
	target string // of a link
}

// walk visits what belongs to the charm in a tree, sorted by path, and leaves
// out git's directories, other charms' archives and a Deployer's marker.
// Of a tree that is built, p says what belongs to it; nil: all does. Errors are
// NotValid, naming the entry, for what may not be in a charm.
func walk(root string, p *Project, visit func(treeEntry) error) error {
	// WalkDir doesn't follow its root if that is a link.
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return errors.Trace(err)
	}
	w := &walker{root: root}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return errors.Trace(err)
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return errors.Trace(err)
		}
		name = filepath.ToSlash(name)
		if leftOut(name) || p != nil && p.passes(name, d.IsDir()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if p != nil && len(p.names(name)) == 0 {
			return nil // what it is doesn't matter
		}
		e, err := w.entry(name, d)
		if err != nil {
			return err
		}
		return visit(e)
	})
}

func leftOut(name string) bool {
	top := !strings.Contains(name, "/")
	return filepath.Base(name) == ".git" || top && (strings.HasSuffix(name, ".charm") || name == markerName)
}

// walker counts what the limits are for.
type walker struct {
	root    string
	entries int
	total   int64
}

func (w *walker) entry(name string, d fs.DirEntry) (treeEntry, error) {
	if err := checkName(name); err != nil {
		return treeEntry{}, err
	}
	if w.entries++; w.entries > maxEntries {
		return treeEntry{}, errSize(name)
	}
	info, err := d.Info()
	if err != nil {
		return treeEntry{}, errors.Trace(err)
	}
	e := treeEntry{name: name, mode: info.Mode()}
	switch e.mode.Type() {
	case fs.ModeDir:
		return e, nil
	case fs.ModeSymlink:
		if e.target, err = os.Readlink(filepath.Join(w.root, name)); err != nil {
			return e, errors.Trace(err)
		}
		return e, checkLink(name, e.target)
	case 0:
		if w.total += info.Size(); info.Size() > maxFile || w.total > maxTotal {
			return e, errSize(name)
		}
		return e, nil
	}
	return e, errKind(name)
}

// checkName refuses a path that isn't one below the charm's directory.
func checkName(name string) error {
	clean := strings.TrimSuffix(name, "/")
	switch {
	case !fs.ValidPath(clean) || clean == "." || strings.ContainsAny(name, "\\\x00"):
		return errors.NewNotValid(nil, fmt.Sprintf("entry %s: not a path inside the charm", quote(name)))
	case len(name) > maxPath:
		return errors.NewNotValid(nil, fmt.Sprintf("entry %s: path longer than %d bytes", quote(name), maxPath))
	case clean == markerName:
		return errors.NewNotValid(nil, fmt.Sprintf("entry %q: unitd's own file, not a charm's", name))
	}
	return nil
}

// checkLink refuses a symbolic link that doesn't stay below the charm's
// directory. A ".." may only be at its beginning: there it leads up from the
// directory that the link is in, which is a real one, and can be counted;
// after a name, which may be a link itself, it could lead anywhere.
func checkLink(name, target string) error {
	refuse := func(why string) error {
		return errors.NewNotValid(nil, fmt.Sprintf("entry %s: link to %s %s", quote(name), quote(target), why))
	}
	switch {
	case target == "" || strings.ContainsRune(target, 0):
		return refuse("leads nowhere")
	case len(target) > maxPath:
		return refuse(fmt.Sprintf("is longer than %d bytes", maxPath))
	case strings.HasPrefix(target, "/"):
		return refuse("leads out of the charm: it is absolute")
	}
	up := strings.Count(name, "/")
	named := false
	for part := range strings.SplitSeq(target, "/") {
		switch {
		case part == "" || part == ".":
		case part != "..":
			named = true
		case named:
			return refuse(`may lead out of the charm: it has a ".." after a name`)
		default:
			if up--; up < 0 {
				return refuse("leads out of the charm")
			}
		}
	}
	return nil
}

func errKind(name string) error {
	return errors.NewNotValid(nil, fmt.Sprintf("entry %s: neither file, directory nor link", quote(name)))
}

func errSize(name string) error {
	return errors.NewNotValid(nil, fmt.Sprintf("entry %s: the charm is too large (at most %d MiB a file, %d MiB in all, %d files and directories)",
		quote(name), maxFile>>20, maxTotal>>20, maxEntries))
}

// quote shows a path in an error, shortened to fit in a line.
func quote(path string) string {
	if end := 200; len(path) > end {
		for end > 200-utf8.UTFMax && !utf8.RuneStart(path[end]) {
			end-- // not in the middle of a character
		}
		path = path[:end] + "…"
	}
	return fmt.Sprintf("%q", path)
}
