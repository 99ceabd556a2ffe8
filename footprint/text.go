package footprint

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"slices"
	"time"
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

// readTexts reads what there is at a sight, until a time (zero: any).
func readTexts(roots []Root, s *Sight, until time.Time) *texts {
	t := &texts{at: map[string]content{}}
	for _, at := range slices.Sorted(maps.Keys(s.Files)) {
		t.take(roots, s, at, until)
	}
	return t
}

// take reads the content of a path at a sight, and keeps it, if there is room for it and time.
func (t *texts) take(roots []Root, s *Sight, at string, until time.Time) content {
	t.drop(at)
	c := s.unreadable(at)
	if c == nil {
		switch {
		case int64(t.size)+s.Files[at].Size > MaxTexts:
			c = &noRoom
		case !until.IsZero() && time.Now().After(until):
			c = &content{why: "reading all that has changed took too long"}
		default:
			is := read(roots, at)
			c = &is
		}
	}
	if t.size+len(c.text) > MaxTexts { // it has grown meanwhile
		c = &noRoom
	}
	t.size += len(c.text)
	t.at[at] = *c
	return *c
}

// noRoom is the content of a file that is one too many.
var noRoom = content{why: "the unit has more text than is kept"}

// tooMuch is that of one whose difference is one too many.
var tooMuch = content{why: "too much has changed in this run"}

func (t *texts) drop(at string) {
	t.size -= len(t.at[at].text)
	delete(t.at, at)
}

// advance goes from the contents of one sight to those of the next, and tells the differences of
// the changes, which are a hook's. What others have changed is only taken note of. Nothing is read
// of changes that nobody is shown, nor after a time (zero: any).
func (t *texts) advance(roots []Root, before, after *Sight, changes []Change, until time.Time) {
	room := MaxDiffs
	for i := range changes {
		c := &changes[i]
		was := t.before(before, c)
		t.drop(c.Path)
		is := content{}
		switch {
		case i >= MaxListed || room < 0:
			if is = tooMuch; c.How != Removed {
				is = *cmp.Or(after.unreadable(c.Path), &tooMuch)
				t.at[c.Path] = is
			}
		case c.How != Removed:
			is = t.take(roots, after, c.Path, until)
		}
		c.Diff, c.Note = difference(c.Path, was, is)
		if room -= len(c.Diff); c.Diff != "" && room < 0 {
			c.Diff, c.Note = "", tooMuch.why
		}
	}
	for at := range before.Files {
		if _, is := after.Files[at]; !is {
			t.drop(at)
		}
	}
	var others []string
	for at, f := range after.Files {
		if _, kept := t.at[at]; !kept || !f.same(before.Files[at]) && !changed(changes, at) {
			others = append(others, at)
		}
	}
	slices.Sort(others) // which of them there is room for is no matter of chance
	for _, at := range others {
		t.take(roots, after, at, until)
	}
}

// changed says whether a path is one of the changes, which are sorted.
func changed(changes []Change, at string) bool {
	_, is := slices.BinarySearchFunc(changes, at, func(c Change, at string) int { return cmp.Compare(c.Path, at) })
	return is
}

// before is what a file was before it was changed.
func (t *texts) before(before *Sight, c *Change) content {
	if f, is := before.Files[c.Path]; is && !f.Removed() {
		return t.at[c.Path]
	}
	if c.How == Made {
		return content{}
	}
	return content{why: "what it was isn't known"} // it was in the layer below
}

// unreadable is the content of a path at a sight that there is no need to read; nil: there is.
func (s *Sight) unreadable(at string) *content {
	switch f := s.Files[at]; {
	case f.Removed():
		return &content{}
	case !f.regular():
		return &content{why: "not a regular file"}
	case f.Size > MaxText:
		return &content{why: "too large"}
	}
	return nil
}

// read reads the content of a path.
func read(roots []Root, at string) content {
	r, within := rootOf(roots, at)
	if r == nil {
		return content{}
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
