package live

import (
	"context"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/page"
	"github.com/unitd/unitd/why"
)

// maxDetails is of how many units a page in a file has the details.
const maxDetails = 200

// Capture is the page as it is now, for a file. The view needn't run. why says what holds
// a unit up.
func (v *View) Capture(ctx context.Context, why func(model.UnitName) why.Answer) (page.World, error) {
	w := page.World{Name: v.model.Name(), Details: map[string]page.Detail{}}
	s, err := v.model.Status(ctx)
	if err != nil {
		return w, errors.Trace(err)
	}
	if word, err := machine.Ask(ctx, v.dir); err == nil {
		word.See(s)
	}
	parts := page.Of(s)
	runs, read := page.NewRuns(true), [][]history.Entry{}
	if err := history.NewFollower(machine.HistoryDir(v.dir, v.model.UUID())).Next(page.MaxRuns, func(entries []history.Entry) {
		read = append(read, entries)
	}); err != nil {
		return w, errors.Trace(err)
	}
	if v.Others != nil {
		m := newMirror(v)
		m.once(ctx)
		read = append(read, m.take()...)
	}
	for _, entries := range read {
		runs.Note(entries)
	}
	for _, entries := range read {
		came, _ := runs.Add(entries)
		for key, run := range came {
			parts[key] = run
		}
	}
	for key, run := range runs.Again() {
		parts[key] = run
	}
	if w.Parts, err = parts.Encode(); err != nil {
		return w, errors.Trace(err)
	}
	for _, app := range s.Applications {
		for _, u := range app.Units {
			if len(w.Details) == maxDetails {
				break
			}
			d, err := v.Detail(ctx, u.Name, why(u.Name))
			if err != nil && !errors.Is(err, errors.NotFound) {
				return w, errors.Trace(err)
			}
			if err == nil {
				w.Details[string(u.Name)] = d
			}
		}
	}
	err = debuglog.ReadAll(machine.LogPath(v.dir, v.model.UUID()), v.line)
	for _, line := range v.lines[max(0, len(v.lines)-maxLines):] {
		w.Lines = append(w.Lines, line.Entry)
	}
	return w, errors.Trace(err)
}
