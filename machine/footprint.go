package machine

import (
	"path"
	"strings"

	"github.com/unitd/unitd/footprint"
	"github.com/unitd/unitd/isolate"
)

// fileRoots are the directories in which a hook of the unit leaves files that are told of: its
// charm directory and, of an isolated unit, what its machine has that its base hasn't, but for its
// /tmp; nil: that isn't known.
func (u *unit) fileRoots() []footprint.Root {
	roots := []footprint.Root{{Dir: u.charm.Path(), Skip: compiled}}
	c := u.cell.Load()
	if c == nil {
		return roots
	}
	layers, err := isolate.Layers(c.Dir())
	if err != nil {
		u.log.Error("cannot look for what hooks have changed", "unit", u.name, "err", err)
		return nil
	}
	for _, l := range layers {
		if l.Path == "/tmp" {
			continue
		}
		roots = append(roots, footprint.Root{
			Dir: l.Dir, As: l.Path,
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
// that runs already, for a former agent, isn't known. Of what isn't recorded nobody is told.
func (u *unit) lookAround() {
	switch {
	case !u.files.On():
	case u.taking == nil:
		u.files.Unfollowed()
	default:
		u.files.Begin(u.fileRoots())
	}
}

// lookBack is what it has done; nil: nobody wants to know.
func (u *unit) lookBack() *footprint.Found {
	if !u.files.On() {
		return nil
	}
	return u.files.End(u.fileRoots())
}
