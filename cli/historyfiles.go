package cli

import (
	"github.com/unitd/unitd/footprint"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// filesOf finds what runs did to files, in their recordings.
type filesOf struct {
	m     *state.Model
	where places
	refs  map[model.UnitName][]recording.Ref
	// some: something was recorded of a run; texts: so were differences.
	some, texts bool
}

// of is what a run did to files; nil: nothing of that is recorded.
func (f *filesOf) of(e history.Entry) *footprint.Found {
	refs, known := f.refs[e.Unit]
	if !known {
		refs, _ = recordings(f.m, f.where, e.Unit) // who has none has none
		if f.refs == nil {
			f.refs = map[model.UnitName][]recording.Ref{}
		}
		f.refs[e.Unit] = refs
	}
	for _, ref := range refs {
		if ref.Run != e.Run {
			continue
		}
		r, err := ref.Read()
		if err != nil || r.ID != e.ID || r.Files == nil {
			continue
		}
		f.some = true
		for _, c := range r.Files.Files {
			f.texts = f.texts || c.Diff != "" || c.Note != ""
		}
		f.texts = f.texts || len(r.Files.Files) == 0
		return r.Files
	}
	return nil
}

// historyFiles shows runs, each with what it did to files.
func (a statusVerbs) historyFiles(m *state.Model, where places, runs []history.Entry, f historyFlags) error {
	files := &filesOf{m: m, where: where}
	defer func() { a.noteFiles(files, false) }()
	if f.format != "table" {
		out := make([]render.Tree, len(runs))
		for i, e := range runs {
			out[i] = render.RunTree(e, false)
			render.AddFiles(out[i], files.of(e), false)
		}
		return a.write(f.format, f.output, out)
	}
	withAuthors(runs, a.sources(m))
	return a.text(f.output, render.HistoryFiles(runs, files.of))
}

// noteFiles says what to do where nothing was recorded.
func (a statusVerbs) noteFiles(f *filesOf, diff bool) {
	switch {
	case !f.some:
		a.Note(`No files were recorded: "unitd model-config record-files=names" has those of later runs recorded.`)
	case diff && !f.texts:
		a.Note(`What has changed in text wasn't recorded: "unitd model-config record-files=content" has that of later runs recorded.`)
	}
}
