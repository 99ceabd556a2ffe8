package machine

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/unitd/unitd/footprint"
	"github.com/unitd/unitd/isolate"
)

// fileRoots are the directories in which a hook of the unit leaves files that are told of: its
// charm directory and, of an isolated unit, what its machine has that its base hasn't.
func (u *unit) fileRoots() []footprint.Root {
	roots := []footprint.Root{{Dir: u.charm.Path(), Skip: compiled}}
	c := u.cell.Load()
	if c == nil {
		return roots
	}
	layers, err := isolate.Layers(c.Dir())
	if err != nil {
		u.log.Error("cannot look for what hooks have changed", "unit", u.name, "err", err)
	}
	for _, l := range layers {
		roots = append(roots, footprint.Root{
			Dir: l.Dir, As: l.Path, Lower: filepath.Join("/", c.root, l.Path),
			Skip: func(at string) bool { return compiled(at) || isolate.OfUnitd(at) },
		})
	}
	return roots
}

// compiled says whether a path is what Python makes by itself, or of no concern to charms.
func compiled(at string) bool {
	base := path.Base(at)
	return base == "__pycache__" || base == ".git" || strings.HasSuffix(base, ".pyc")
}

// lookAround begins to follow what the hook that is about to run does to files. That of one
// that runs already, for a former agent, isn't known.
func (u *unit) lookAround() {
	if u.taking != nil {
		u.files.Begin(u.fileRoots())
	}
}

// lookBack is what it has done; nil: nobody wants to know.
func (u *unit) lookBack() *footprint.Found { return u.files.End(u.fileRoots()) }
