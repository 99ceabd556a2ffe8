package live

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/page"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// View is the page of a model as it is now.
type View struct {
	// Others are the other hosts of the model; nil: only this host's runs and lines are seen.
	// It is set before Run, or Capture.
	Others func(context.Context) ([]Other, error)

	model *state.Model
	dir   string
	wake  chan struct{} // somebody has begun to look
	over  chan struct{} // is closed once Run has ended

	mu       sync.Mutex
	all      page.Encoded
	lines    page.Lines
	own      float64 // the place of this host's last line
	watchers map[*Watcher]bool
	mirror   *mirror // nil: there is none
}

// NewView makes a view of a model whose agent, if one runs, works in dir (see
// machine.Config.Dir). Nothing is read before Run.
func NewView(m *state.Model, dir string) *View {
	return &View{
		model: m, dir: dir, wake: make(chan struct{}, 1), over: make(chan struct{}), all: page.Encoded{}, watchers: map[*Watcher]bool{},
	}
}

// How often a view looks for what no commit tells of, while somebody looks at it: how
// the agent is, and new runs of hooks.
const (
	glance = 100 * time.Millisecond
	// settled is how long after the last change it does so less often.
	settled   = 2 * time.Second
	leisurely = time.Second
	// patience is how long it waits after the store couldn't be read.
	patience = 5 * time.Second
)

// Run is called once. It keeps the view up to date until ctx ends, the model is gone, or its store was closed.
// While the store can't be read, the view says so and tries again. Errors of histories, of
// the log and of the agent, which may come and go, are no end of it.
func (v *View) Run(ctx context.Context) error {
	defer close(v.over)
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { _ = debuglog.Follow(ctx, machine.LogPath(v.dir, v.model.UUID()), v.line, nil) })
	changes, err := v.model.Watch(ctx, 0)
	if err != nil {
		return errors.Trace(err)
	}
	l := &looker{view: v, histories: history.NewFollower(machine.HistoryDir(v.dir, v.model.UUID())), runs: page.NewRuns(false), said: "-"}
	beside.Go(func() { l.listen(ctx) })
	if v.Others != nil {
		m := newMirror(v)
		v.mu.Lock()
		v.mirror = m
		v.mu.Unlock()
		beside.Go(func() { m.run(ctx) })
	}
	for last := time.Now(); ; {
		pause := leisurely
		if v.watched() {
			changed, took, err := l.look(ctx)
			l.next = time.Now().Add(took)
			switch {
			case ctx.Err() != nil:
				return errors.Trace(ctx.Err())
			case errors.Is(err, errors.NotFound) || errors.Is(err, store.ErrClosed):
				return errors.Trace(err)
			case err != nil:
				l.stale = true
				pause = patience
			case changed || time.Since(last) < settled:
				if changed {
					last = time.Now()
				}
				pause = max(glance, 2*took)
			}
			v.trouble(err)
		}
		if err := l.wait(ctx, changes, pause); err != nil {
			return errors.Trace(err)
		}
	}
}

// looker is the part of a view that Run alone uses, but for what the agent says.
type looker struct {
	view      *View
	histories *history.Follower
	runs      *page.Runs
	// statuses are those parts of the page that are of the status.
	statuses page.Encoded
	said     string // what the agent had said when the status was read
	stale    bool   // the model has changed since it was read
	// next is when it may be read again: half of the time nothing is read.
	next time.Time

	mu   sync.Mutex
	word machine.Word
}

// wait waits until there is something new to look at, or for so long. What has changed by
// then is looked at once, however often it was told.
func (l *looker) wait(ctx context.Context, changes <-chan state.Change, pause time.Duration) error {
	var again <-chan time.Time
	if l.view.watched() {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case c, more := <-changes:
		if !more {
			return errors.Trace(cmp.Or(ctx.Err(), error(store.ErrClosed)))
		}
		l.stale = l.stale || !c.Asking
	case <-l.view.wake:
		l.stale = true
	case <-again:
	}
	select {
	case <-time.After(time.Until(l.next)):
	case <-l.view.wake:
		l.stale = true
	}
	for {
		select {
		case c, more := <-changes:
			if !more {
				return errors.Trace(cmp.Or(ctx.Err(), error(store.ErrClosed)))
			}
			l.stale = l.stale || !c.Asking
		default:
			return nil
		}
	}
}

// listen asks the agent how it is while somebody looks. One that is slow to answer is taken
// as it was.
func (l *looker) listen(ctx context.Context) {
	for {
		if l.view.watched() {
			if word, err := machine.Ask(ctx, l.view.dir); err == nil {
				l.mu.Lock()
				l.word = word
				l.mu.Unlock()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(glance):
		}
	}
}

// look brings the view up to date, and says whether anything has changed, and how long it
// took to read the model.
func (l *looker) look(ctx context.Context) (changed bool, took time.Duration, err error) {
	l.mu.Lock()
	word := l.word
	l.mu.Unlock()
	b, err := json.Marshal([]any{word.Trouble, word.Units[l.view.model.UUID()], word.Images})
	if err != nil {
		return false, 0, errors.Trace(err)
	}
	delta := page.Delta{Set: page.Encoded{}}
	if l.stale || string(b) != l.said {
		began := time.Now()
		l.stale, l.said = false, string(b)
		s, err := l.view.model.Status(ctx)
		if err != nil {
			return false, 0, errors.Trace(err)
		}
		word.See(s)
		now, err := page.Of(s).Encode()
		if err != nil {
			return false, 0, errors.Trace(err)
		}
		delta = now.Since(l.statuses)
		l.statuses = now
		took = time.Since(began)
	}
	if err := l.ran(&delta); err != nil {
		return false, took, errors.Trace(err)
	}
	if delta.Empty() {
		return false, took, nil
	}
	l.view.publish(delta)
	return true, took, nil
}

// ran adds the runs that have ended meanwhile. A history that can't be read now is read
// later.
func (l *looker) ran(delta *page.Delta) error {
	var came [][]history.Entry
	_ = l.histories.Next(page.MaxRuns, func(entries []history.Entry) {
		came = append(came, entries)
	})
	came = append(came, l.view.mirrored().take()...)
	for _, entries := range came {
		l.runs.Note(entries)
	}
	if len(came) == 0 {
		return nil
	}
	all := page.Parts{}
	for _, entries := range came {
		set, gone := l.runs.Add(entries)
		maps.Copy(all, set)
		for _, key := range gone {
			delete(all, key)
		}
		delta.Gone = append(delta.Gone, gone...)
	}
	maps.Copy(all, l.runs.Again())
	runs, err := all.Encode()
	maps.Copy(delta.Set, runs)
	return errors.Trace(err)
}

// mirrored is the mirror, if there is one.
func (v *View) mirrored() *mirror {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mirror
}

// dirs are where the model's histories and logs are: this host's, and copies of others'.
func (v *View) dirs() []string {
	return append([]string{machine.ModelDir(v.dir, v.model.UUID())}, v.mirrored().dirs()...)
}

// trouble has the page say that the model can't be read; nil: it can.
func (v *View) trouble(err error) {
	v.mu.Lock()
	_, said := v.all["trouble"]
	v.mu.Unlock()
	switch {
	case err == nil && said:
		v.publish(page.Delta{Gone: []string{"trouble"}})
	case err != nil:
		b, merr := json.Marshal(err.Error())
		if merr == nil {
			v.publish(page.Delta{Set: page.Encoded{"trouble": b}})
		}
	}
}
