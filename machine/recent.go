package machine

import (
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/unitd/unitd/history"
)

// RunsMark is a place among the runs of an agent's units, in the order in which they ended.
type RunsMark struct {
	// Agent tells the runs of one process from those of another one.
	Agent string `json:"agent,omitempty"`
	Next  int64  `json:"next,omitempty"`
}

// keptRuns is how many runs are kept for who asks for those after a mark: the newest. Whoever
// has missed some finds them in the histories.
const keptRuns = 1000

// recent are the newest runs of a model that ended since its agent was started.
type recent struct {
	agent string

	mu   sync.Mutex
	runs []history.Entry
	next int64
}

func newRecent() *recent { return &recent{agent: uuid.NewString()} }

// add adds a run that is in its unit's history by now.
func (r *recent) add(e history.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next++; len(r.runs) >= 2*keptRuns {
		r.runs = slices.Clone(r.runs[len(r.runs)-keptRuns:])
	}
	r.runs = append(r.runs, e)
}

// mark is the place of the next run.
func (r *recent) mark() RunsMark {
	r.mu.Lock()
	defer r.mu.Unlock()
	return RunsMark{r.agent, r.next}
}

// after are the runs after a mark, and where to go on. missed: there were others, which aren't
// here any more, or of which another process knew.
func (r *recent) after(m RunsMark) (runs []history.Entry, next RunsMark, missed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next = RunsMark{r.agent, r.next}
	first := r.next - int64(len(r.runs))
	if m.Agent != r.agent || m.Next < first || m.Next > r.next {
		return nil, next, true
	}
	return slices.Clone(r.runs[m.Next-first:]), next, false
}
