package cli

import (
	"context"
	"os"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/page"
	"github.com/unitd/unitd/page/live"
	"github.com/unitd/unitd/script"
	"github.com/unitd/unitd/why"
)

// pages are the pages of the worlds of scripts, by the scripts' files.
type pages struct {
	mu     sync.Mutex
	worlds map[string]page.World
	failed error
}

// see is a script.Params.Seen. What can't be read of one world is no reason to drop the
// others: write says it.
func (p *pages) see(ctx context.Context, s script.Seen) {
	w, err := live.NewView(s.Model, s.Dir).Capture(ctx, func(u model.UnitName) why.Answer { return why.Answer{Sentence: s.Why(u)} })
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.worlds == nil {
		p.worlds = map[string]page.World{}
	}
	if err != nil && p.failed == nil {
		p.failed = errors.Annotatef(err, "cannot look at the world of %s", s.File)
	}
	p.worlds[s.File] = w
}

// write writes a page with a world for each script that was run. What it lacks, as it
// couldn't be read, is no error of the page's.
func (p *pages) write(file string, outcomes []script.Outcome) (missing, err error) {
	var all []page.World
	for _, o := range outcomes {
		w := p.worlds[o.File]
		w.Name = o.Name
		told, err := page.Parts{"script/" + o.Name: page.Script{Name: o.Name, Outcome: o.Outcome, Seconds: o.Seconds, Output: o.Output}}.Encode()
		if err != nil {
			return nil, errors.Trace(err)
		}
		w.Parts = page.Delta{Set: w.Parts}.Then(page.Delta{Set: told}).Set
		all = append(all, w)
	}
	b, err := page.Static("unitd test", all)
	if err == nil {
		err = os.WriteFile(file, b, 0o644) // as reports of tests are, for whoever keeps them
	}
	return p.failed, errors.Annotate(err, "cannot write the page")
}
