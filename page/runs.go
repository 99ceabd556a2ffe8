package page

import (
	"fmt"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
)

// MaxRuns is how many runs of a unit a page has: the newest. `unitd history` has all.
const MaxRuns = 500

// Runs are the runs of a model's units, as they come. The zero value has none.
type Runs struct {
	causes history.Causes
	units  map[model.UnitName]span
}

// span says which runs of a unit a page has, by the numbers in their keys.
type span struct{ first, next int }

// Add adds entries of histories: those of a unit in their order, and no entry twice. The
// result is what comes to a page by that, and the keys of the runs that go, as their units
// have more than MaxRuns.
func (r *Runs) Add(entries []history.Entry) (came Parts, gone []string) {
	if r.units == nil {
		r.units = map[model.UnitName]span{}
	}
	for _, e := range entries {
		r.causes.Note(e)
	}
	came = Parts{}
	for _, e := range entries {
		run := runOf(e)
		if from, ok := r.causes.Of(e); ok {
			run.From = &from
		}
		has := r.units[e.Unit]
		came[runKey(e.Unit, has.next)] = run
		has.next++
		if has.next-has.first > MaxRuns {
			old := runKey(e.Unit, has.first)
			has.first++
			if _, new := came[old]; new {
				delete(came, old)
			} else {
				gone = append(gone, old)
			}
		}
		r.units[e.Unit] = has
	}
	return came, gone
}

func runKey(unit model.UnitName, n int) string { return fmt.Sprintf("run/%s/%d", unit, n) }

func runOf(e history.Entry) Run {
	r := Run{
		Unit: string(e.Unit), Run: e.Run, Hook: e.Name, Outcome: string(e.Outcome), Cause: e.Cause(), Relation: e.Hook.RelationRef(),
		Remote: string(e.Hook.RemoteUnit), Seen: e.Seen, Rev: e.Rev, Took: fraction(e.Duration), Exit: e.Exit, Message: e.Message, Missing: e.Missing,
		Debugged: e.Debugged, Tools: e.Tools, Wrote: e.Written.String(), Notes: e.Notes,
	}
	if !e.Started.IsZero() {
		r.Started = float64(e.Started.UnixMicro()) / 1000
	}
	if r.Remote == "" {
		r.Remote = e.Hook.RemoteApp
	}
	for _, c := range e.Calls {
		r.Calls = append(r.Calls, Call{Call: c.String(), At: fraction(c.At), Took: fraction(c.Took), Exit: c.Code})
	}
	return r
}

// fraction is a time in milliseconds, to the microsecond.
func fraction(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
