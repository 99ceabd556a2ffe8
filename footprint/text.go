package footprint

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

const (
	// MaxText is the size in bytes of the largest file whose text is followed, and MaxTexts
	// that of all texts of a unit.
	MaxText  = 64 << 10
	MaxTexts = 8 << 20
	// MaxDiffs is the size in bytes of all differences of a run.
	MaxDiffs = 128 << 10
)

// content is that of a file: its text, or why there is none.
type content struct {
	text []byte
	why  string
}

// texts has the contents of a unit's files as they were at a sight.
type texts struct {
	at   map[string]content
	size int // of all texts, in bytes
}

// readTexts reads what there is at a sight.
func readTexts(roots []Root, s *Sight) *texts {
	t := &texts{at: map[string]content{}}
	for _, at := range slices.Sorted(maps.Keys(s.Files)) {
		t.keep(at, s.read(roots, at))
	}
	return t
}

// keep keeps the content of a path, if there is room.
func (t *texts) keep(at string, c content) {
	t.drop(at)
	if t.size+len(c.text) > MaxTexts {
		c = content{why: "the unit has more text than is kept"}
	}
	t.size += len(c.text)
	t.at[at] = c
}

func (t *texts) drop(at string) {
	t.size -= len(t.at[at].text)
	delete(t.at, at)
}

// advance goes from the contents of one sight to those of the next, and tells the differences of
// the changes, which are a hook's. What others have changed is only taken note of.
func (t *texts) advance(roots []Root, before, after *Sight, changes []Change) {
	room := MaxDiffs
	for i := range changes {
		c := &changes[i]
		was := t.before(roots, before, c)
		t.drop(c.Path)
		is := content{}
		if c.How != Removed {
			is = after.read(roots, c.Path)
			t.keep(c.Path, is)
		}
		c.Diff, c.Note = difference(c.Path, was, is)
		if room -= len(c.Diff); room < 0 {
			c.Diff, c.Note = "", "too much has changed in this run"
		}
	}
	for at, f := range after.Files {
		if _, kept := t.at[at]; !kept || !f.same(before.Files[at]) && !changed(changes, at) {
			t.keep(at, after.read(roots, at))
		}
	}
	for at := range before.Files {
		if _, is := after.Files[at]; !is {
			t.drop(at)
		}
	}
}

// changed says whether a path is one of the changes, which are sorted.
func changed(changes []Change, at string) bool {
	_, is := slices.BinarySearchFunc(changes, at, func(c Change, at string) int { return cmp.Compare(c.Path, at) })
	return is
}

// before is what a file was before it was changed: that of the layer below, if the unit had
// none of its own.
func (t *texts) before(roots []Root, before *Sight, c *Change) content {
	if f, is := before.Files[c.Path]; is && !f.Removed() {
		return t.at[c.Path]
	}
	if c.How == Made {
		return content{}
	}
	lower := lowerFile(roots, c.Path)
	if lower == "" {
		return content{why: "what it was isn't known"}
	}
	r, within := rootOf(roots, c.Path)
	return readIn(r.Lower, within)
}

// read is the content of a path at a sight.
func (s *Sight) read(roots []Root, at string) content {
	f := s.Files[at]
	r, within := rootOf(roots, at)
	switch {
	case f.Removed() || r == nil:
		return content{}
	case !f.regular():
		return content{why: "not a regular file"}
	case f.Size > MaxText:
		return content{why: "too large"}
	}
	return readIn(r.Dir, within)
}

// readIn is the content of a file in a directory.
func readIn(dir, within string) content {
	f, err := openIn(dir, within)
	if err != nil {
		return content{why: "it can't be read"}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxText+1))
	switch {
	case err != nil:
		return content{why: "it can't be read"}
	case len(b) > MaxText:
		return content{why: "too large"}
	case bytes.IndexByte(b, 0) >= 0 || !utf8.Valid(b):
		return content{why: "binary"}
	}
	return content{text: b}
}

// difference is what has become of a file's text, as diff writes it, or why that can't be told.
func difference(at string, was, is content) (text, why string) {
	if why = cmp.Or(is.why, was.why); why != "" {
		return "", why
	}
	b := diff.Diff(at+" (before)", was.text, at, is.text)
	if len(b) == 0 {
		return "", "its text is as it was"
	}
	_, b, _ = bytes.Cut(b, []byte("\n")) // the line that names both files says no more than those below
	return string(b), ""
}
