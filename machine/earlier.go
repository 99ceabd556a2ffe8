package machine

import "slices"

// cutAt notes that there is more of a file, before a mark.
func (f *Files) cutAt(name string, begin LogMark) {
	if f.Begins == nil {
		f.Begins = map[string]LogMark{}
	}
	f.Cut, f.Begins[name] = true, begin
}

// Size is how many bytes the files have.
func (f Files) Size() (n int) {
	for _, text := range f.Files {
		n += len(text)
	}
	return n
}

// Precede puts what an agent has answered to a FilesQuestion with Before, which was Begins, before what there is.
// It says whether anything has come. What hasn't is there no more, or is too much for an answer: it isn't asked
// for again, and the files stay cut.
func (f *Files) Precede(earlier Files) (more bool) {
	for name, before := range f.Begins {
		text := earlier.Files[name]
		if len(text) == 0 {
			f.lost = true
			delete(f.Begins, name)
			continue
		}
		more = true
		f.Files[name] = slices.Concat(text, f.Files[name])
		if begin, ok := earlier.Begins[name]; ok && begin != before {
			f.Begins[name] = begin
		} else {
			delete(f.Begins, name)
		}
	}
	f.Cut = f.lost || len(f.Begins) > 0
	return more
}
