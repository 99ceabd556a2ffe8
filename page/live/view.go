package live

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/page"
	"github.com/unitd/unitd/state"
)

// View is the page of a model as it is now.
type View struct {
	model *state.Model
	dir   string
	word  func(context.Context) (machine.Word, error)
	wake  chan struct{} // somebody has begun to look

	mu       sync.Mutex
	all      page.Encoded
	lines    []debuglog.Entry
	watchers map[*Watcher]bool
}

// NewView makes a view of a model whose agent, if one runs, works in dir (see
// machine.Config.Dir). Nothing is read before Run.
func NewView(m *state.Model, dir string) *View {
	word := func(ctx context.Context) (machine.Word, error) { return machine.Ask(ctx, dir) }
	return &View{
		model: m, dir: dir, word: word, wake: make(chan struct{}, 1), all: page.Encoded{}, watchers: map[*Watcher]bool{},
	}
}

// How often a view looks for what no commit tells of, while somebody looks at it: how
// the agent is, and new runs of hooks.
const (
	glance = 100 * time.Millisecond
	// settled is how long after the last change it does so less often.
	settled   = 2 * time.Second
	leisurely = time.Second
)

// Run keeps the view up to date until ctx ends, or the store can't be read. Errors of
// histories, of the log and of the agent, which may come and go, are no end of it.
func (v *View) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var log sync.WaitGroup
	defer log.Wait()
	defer cancel()
	log.Go(func() { _ = debuglog.Follow(ctx, machine.LogPath(v.dir, v.model.UUID()), v.line, nil) })
	changes, err := v.model.Watch(ctx, 0)
	if err != nil {
		return errors.Trace(err)
	}
	l := looker{view: v, histories: history.NewFollower(machine.HistoryDir(v.dir, v.model.UUID()))}
	last := time.Now()
	for {
		if v.watched() {
			changed, err := l.look(ctx)
			if err != nil {
				return errors.Trace(err)
			}
			if changed {
				last = time.Now()
			}
		}
		var again <-chan time.Time
		if v.watched() {
			every := glance
			if time.Since(last) > settled {
				every = leisurely
			}
			again = time.After(every)
		}
		select {
		case _, more := <-changes:
			if !more {
				return errors.Trace(ctx.Err())
			}
			l.stale = true
		case <-v.wake:
			l.stale = true
		case <-again:
		}
	}
}

// looker is the part of a view that Run alone uses.
type looker struct {
	view      *View
	histories *history.Follower
	runs      page.Runs
	// statuses are those parts of the page that are of the status.
	statuses page.Encoded
	word     string
	stale    bool // the model has changed since it was read
}

// look brings the view up to date, and says whether anything has changed.
func (l *looker) look(ctx context.Context) (bool, error) {
	v := l.view
	word, said, err := l.ask(ctx)
	if err != nil {
		return false, errors.Trace(err)
	}
	delta := page.Delta{Set: page.Encoded{}}
	if l.stale || said != l.word {
		l.stale, l.word = false, said
		s, err := v.model.Status(ctx)
		if err != nil {
			return false, errors.Trace(err)
		}
		word.See(s)
		now, err := page.Of(s).Encode()
		if err != nil {
			return false, errors.Trace(err)
		}
		delta = now.Since(l.statuses)
		l.statuses = now
	}
	if entries, err := l.histories.Next(); err == nil && len(entries) > 0 {
		came, gone := l.runs.Add(entries)
		runs, err := came.Encode()
		if err != nil {
			return false, errors.Trace(err)
		}
		for key, run := range runs {
			delta.Set[key] = run
		}
		delta.Gone = append(delta.Gone, gone...)
	}
	if delta.Empty() {
		return false, nil
	}
	v.publish(delta)
	return true, nil
}

// ask asks the agent how it is; said is all of that. One that is slow to answer is taken
// as it was.
func (l *looker) ask(ctx context.Context) (word machine.Word, said string, err error) {
	word, err = l.view.word(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return word, "", errors.Trace(ctx.Err())
		}
		return machine.Word{}, "silent", nil
	}
	b, err := json.Marshal(word)
	return word, string(b), errors.Trace(err)
}
