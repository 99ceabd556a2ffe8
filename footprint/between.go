package footprint

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// How says what became of a file.
type How string

// What becomes of files, in the signs by which people read them.
const (
	Made    How = "+"
	Changed How = "M"
	Removed How = "-"
)

// Change is what became of one file.
type Change struct {
	How  How
	Path string
	// Size is how many bytes it has; of one that was removed, had, where that is known.
	Size int64 `json:",omitempty"`
	// Diff is what became of its text, as diff writes it; empty where Note says why, or
	// nobody wanted to know.
	Diff string `json:",omitempty"`
	Note string `json:",omitempty"`
}

// Between is what has changed of files between two sights, by path: what was changed since a
// time, in ns of Unix time by the clock of File.Changed. The rest is somebody else's. What is
// new in the upper layer of an overlay counts as made, though the layer below may have had it:
// who looked there would go by paths that the unit has chosen.
func Between(before, after *Sight, since int64) []Change {
	var all []Change
	for at, f := range after.Files {
		was, known := before.Files[at]
		if known && was.same(f) || f.Changed < since && (known || !cameWith(before, after, at, since)) {
			continue
		}
		c := Change{How: Changed, Path: at, Size: f.Size}
		switch {
		case f.Removed() && known && was.Removed():
			continue
		case f.Removed():
			c.How, c.Size = Removed, was.Size
		case !known, was.Removed():
			c.How = Made
		}
		all = append(all, c)
	}
	for at, was := range before.Files {
		if _, is := after.Files[at]; !is && !was.Removed() && after.nearest(at) >= since && !after.unread(at) {
			all = append(all, Change{How: Removed, Path: at, Size: was.Size})
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// cameWith says whether a path that is new has come with a directory that is new, too, and that
// was changed since: one that was moved there has files that nobody has changed.
func cameWith(before, after *Sight, at string, since int64) bool {
	for dir := path.Dir(at); ; dir = path.Dir(dir) {
		changed, is := after.dirs[dir]
		_, was := before.dirs[dir]
		if !is || was {
			return false
		}
		if changed >= since {
			return true
		}
	}
}

// unread says whether a path is of a directory that couldn't be read, or is one itself: what has
// become of it isn't known.
func (s *Sight) unread(at string) bool {
	return slices.ContainsFunc(s.Unread, func(dir string) bool {
		return at == dir || strings.HasPrefix(at, strings.TrimSuffix(dir, "/")+"/") || dir == "." && !strings.HasPrefix(at, "/")
	})
}

// nearest is when the nearest directory was changed that is above a path: it is changed when
// what is in it is removed. Where none is left it is the latest time of all.
func (s *Sight) nearest(at string) int64 {
	for dir := path.Dir(at); ; dir = path.Dir(dir) {
		if changed, is := s.dirs[dir]; is {
			return changed
		}
		if dir == path.Dir(dir) {
			return 1<<63 - 1
		}
	}
}
