package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
)

// MaxRuns is how many runs of a unit a page has: the newest. `unitd history` has all.
const MaxRuns = 500

// Runs are the runs of a model's units, as they come.
type Runs struct {
	// Whole: each run has all that there is of it. Else its calls but for their ticks, notes
	// and whatever its message has beyond a line are asked for when somebody looks at it, as
	// they are most of it; see Whole.
	Whole bool

	causes history.Causes
	units  map[model.UnitName]span
	// keys are those of the runs that others may follow from; ended is when the last run of
	// each unit had ended.
	keys    map[history.Ref]string
	ended   map[model.UnitName]time.Time
	retries history.Retries[model.UnitName]
	// late are the newest runs that may follow from others, by when they began: one on another
	// host comes when it has been asked for.
	late []lateRun
}

// lateRun is a run as it is on the page, and the entry that it was made of.
type lateRun struct {
	key   string
	run   Run
	entry history.Entry
}

// mostLate is how many runs are looked at once more when others come.
const mostLate = 2000

// span says which runs of a unit a page has, by the numbers in their keys. Refs are the
// runs, the oldest first.
type span struct {
	first, next int
	refs        []history.Ref
}

// NewRuns has no runs yet.
func NewRuns(whole bool) *Runs {
	return &Runs{Whole: whole, units: map[model.UnitName]span{}, keys: map[history.Ref]string{}, ended: map[model.UnitName]time.Time{}}
}

// Note makes runs known that others may follow from. It is called with all that have come
// before Add is.
func (r *Runs) Note(entries []history.Entry) {
	for _, e := range entries {
		r.causes.Note(e)
	}
}

// Add adds entries of histories: those of a unit in their order, and no entry twice. The
// result is what comes to a page by that, and the keys of the runs that go, as their units
// have more than MaxRuns.
func (r *Runs) Add(entries []history.Entry) (came Parts, gone []string) {
	came = Parts{}
	for _, e := range entries {
		has, ref := r.units[e.Unit], history.Ref{Unit: e.Unit, ID: e.ID, Run: e.Run}
		key := runKey(e.Unit, has.next)
		run := r.runOf(e)
		run.Retry = r.retries.Again(e.Unit, e)
		came[key] = run
		r.keys[ref] = key
		has.next++
		has.refs = append(has.refs, ref)
		if has.next-has.first > MaxRuns {
			old := runKey(e.Unit, has.first)
			if r.keys[has.refs[0]] == old {
				delete(r.keys, has.refs[0])
			}
			has.first, has.refs = has.first+1, has.refs[1:]
			if _, new := came[old]; new {
				delete(came, old)
			} else {
				gone = append(gone, old)
			}
		}
		r.units[e.Unit] = has
	}
	// Now that all of them have keys.
	for _, e := range entries {
		key := r.keys[history.Ref{Unit: e.Unit, ID: e.ID, Run: e.Run}]
		run, is := came[key].(Run)
		if from, ok := r.causes.Of(e); is && ok {
			run.From = r.keys[from]
			came[key] = run
		}
		if is && history.Follows(e) {
			e.Calls, e.Notes = nil, nil
			if r.late = append(r.late, lateRun{key, run, e}); len(r.late) > 8*mostLate {
				r.trim()
			}
		}
	}
	return came, gone
}

// trim leaves the newest that there are.
func (r *Runs) trim() {
	slices.SortStableFunc(r.late, func(a, b lateRun) int { return a.entry.Started.Compare(b.entry.Started) })
	r.late = slices.Clone(r.late[len(r.late)-mostLate:])
}

// Again looks once more which runs the newest ones follow from, by all that has come. The result
// is what is different on the page by that.
func (r *Runs) Again() (came Parts) {
	came = Parts{}
	if len(r.late) > mostLate {
		r.trim()
	}
	for i := range r.late {
		l := &r.late[i]
		from, ok := r.causes.Of(l.entry)
		key := r.keys[from]
		if !ok || key == "" || key == l.run.From || r.keys[history.Ref{Unit: l.entry.Unit, ID: l.entry.ID, Run: l.entry.Run}] != l.key {
			continue
		}
		l.run.From = key
		came[l.key] = l.run
	}
	return came
}

func runKey(unit model.UnitName, n int) string { return fmt.Sprintf("run/%s/%d", unit, n) }

// Whole is a run with all that there is of it.
func Whole(e history.Entry) Run { return (&Runs{Whole: true}).runOf(e) }

func (r *Runs) runOf(e history.Entry) Run {
	run := Run{
		Unit: string(e.Unit), ID: e.ID, Run: e.Run, Hook: e.Name, Outcome: string(e.Outcome), Cause: e.Cause(), Relation: e.Hook.RelationRef(),
		Remote: string(e.Hook.RemoteUnit), Seen: e.Seen, Rev: e.Rev, Took: fraction(e.Duration), Exit: e.Exit, Missing: e.Missing,
		Debugged: e.Debugged, Tools: e.Tools, Wrote: e.Written.String(),
	}
	if run.Remote == "" {
		run.Remote = e.Hook.RemoteApp
	}
	began := e.Started
	if began.IsZero() { // its agent was killed: it began after the run before it
		run.Unknown, began = true, r.ended[e.Unit]
	}
	if !began.IsZero() {
		run.Started = float64(began.UnixMicro()) / 1000
	}
	if r.ended != nil {
		r.ended[e.Unit] = began.Add(e.Duration)
	}
	if !r.Whole {
		run.Message, run.Ticks = beginning(e.Message), ticks(e.Calls)
		return run
	}
	run.Message, run.Notes = e.Message, e.Notes
	for _, c := range e.Calls {
		run.Calls = append(run.Calls, Call{Call: c.String(), At: fraction(c.At), Took: fraction(c.Took), Exit: c.Code})
	}
	return run
}

func ticks(calls []history.Call) (at []float64) {
	for _, c := range calls {
		at = append(at, fraction(c.At))
	}
	return at
}

// shortMessage is how much of a message a run has in brief, in characters.
const shortMessage = 200

func beginning(message string) string {
	if r := []rune(message); len(r) > shortMessage {
		return string(r[:shortMessage]) + "…"
	}
	return message
}

// fraction is a time in milliseconds, to the microsecond.
func fraction(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
