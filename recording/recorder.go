package recording

import (
	"slices"
	"sync"
	"time"
)

// Recorder takes down the calls of one run while it runs, and what is asked of
// Pebbles.
type Recorder struct {
	began time.Time

	mu    sync.Mutex
	calls []Call
	left  int // of MaxSize; below 0, calls are missing

	asked     []Asked
	askedLeft int                    // the same of MaxAsked
	streams   map[string]*streamEnds // by the container and the path
}

// NewRecorder begins to record. began is the start of the run, in real time.
func NewRecorder(began time.Time) *Recorder {
	return &Recorder{began: began, left: MaxSize, askedLeft: MaxAsked, streams: map[string]*streamEnds{}}
}

// Reserve keeps that many bytes of MaxSize for other things than calls.
func (r *Recorder) Reserve(size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left -= size
}

// Add adds a call that began at that time. It may be called many times at once.
// The call's bytes must not be changed afterwards.
func (r *Recorder) Add(c Call, began time.Time) {
	c.At = began.Sub(r.began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left -= c.size()
	// Once one call is missing, those that follow are of no use: left only falls.
	if r.left >= 0 {
		r.calls = append(r.calls, c)
	}
}

// Recall adds calls that another process has recorded of the same run; cutOff: there were
// more.
func (r *Recorder) Recall(calls []Call, cutOff bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range calls {
		r.left -= c.size()
	}
	if cutOff {
		r.left = -1
	}
	r.calls = append(r.calls, calls...)
}

// Calls are the calls in the order in which they began, and whether there were
// more.
func (r *Recorder) Calls() (calls []Call, cutOff bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls = slices.Clone(r.calls)
	slices.SortStableFunc(calls, func(a, b Call) int { return int(a.At - b.At) })
	return calls, r.left < 0
}
