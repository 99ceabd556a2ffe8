package machine

import (
	"slices"
	"strings"

	"github.com/juju/errors"
)

// cutAt notes that there is more of a file, before a mark.
func (f *Files) cutAt(name string, begin LogMark) {
	if f.Begins == nil {
		f.Begins = map[string]LogMark{}
	}
	f.Cut, f.Begins[name] = true, begin
}

// namesBefore are those of files of a model's directory before whose marks something is asked for. One that has
// just been set aside is one of them by its former name.
func namesBefore(dir string, before map[string]LogMark) (names []string, err error) {
	for name := range before {
		there, err := namesOf(dir, []string{name, name + setAside})
		if err != nil {
			return nil, errors.Trace(err)
		}
		if slices.Contains(there, name) || slices.Contains(there, name+setAside) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Size is how many bytes the files have.
func (f Files) Size() (n int) {
	for _, text := range f.Files {
		n += len(text)
	}
	return n
}

// Earlier is what a FilesQuestion can ask for as Before; empty: for nothing. A file that was set aside has its turn
// once the one that goes on from there is whole.
func (f Files) Earlier() map[string]LogMark {
	before := map[string]LogMark{}
	for name, begin := range f.Begins {
		if later, ok := strings.CutSuffix(name, setAside); ok && f.misses(later) {
			continue
		}
		before[name] = begin
	}
	return before
}

// misses says whether there is more of a file.
func (f Files) misses(name string) bool {
	_, cut := f.Begins[name]
	return cut || f.lost[name]
}

// Precede puts what an agent has answered to a FilesQuestion with Before, which was Earlier, before what there is.
// What hasn't come is there no more, or is too much for an answer: it isn't asked for again, and the files
// stay cut.
func (f *Files) Precede(before map[string]LogMark, earlier Files) {
	for name, was := range before {
		text, begin := earlier.Files[name], earlier.Begins[name]
		delete(f.Begins, name)
		_, asked := f.Files[name]
		if !asked || len(text) == 0 || begin != (LogMark{}) && (begin.First != was.First || begin.Offset >= was.Offset) {
			if f.lost == nil {
				f.lost = map[string]bool{}
			}
			f.lost[name] = true
			continue
		}
		f.Files[name] = slices.Concat(text, f.Files[name])
		if begin != (LogMark{}) {
			f.Begins[name] = begin
		}
	}
	f.Cut = len(f.lost)+len(f.Begins) > 0
}

// WithoutHoles drops what comes before something that is missing: a file that was set aside, where there is more
// of the one that goes on from there.
func (f *Files) WithoutHoles() {
	for name := range f.Files {
		if later, ok := strings.CutSuffix(name, setAside); ok && f.misses(later) {
			delete(f.Files, name)
		}
	}
}
