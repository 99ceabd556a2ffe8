package live

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
)

// Other is another host that has units of the model. Its agent alone has their histories and
// logs.
type Other struct {
	// Machine is as state.Model.Ask takes it.
	Machine string
	// Present: its agent is there.
	Present bool
}

const (
	// rosterTime is how often a mirror looks which hosts there are, and how long it leaves a
	// host alone that couldn't be asked.
	rosterTime = 5 * time.Second
	// restTime is how long it waits after an answer before it asks a host again, and
	// restPerHost how much longer that is for each host: questions go through the store.
	restTime    = time.Second
	restPerHost = 20 * time.Millisecond
	// answerTime is how long an agent may take to answer. If nothing is new it takes ten
	// seconds.
	answerTime = 30 * time.Second
	// wholeTime is how long a host may go without being asked before all that it has is asked
	// for, and not what came since; also how often an agent that can't tell that is asked for
	// all.
	wholeTime = time.Minute
	// newestUnits is of how many units of a host the runs are asked for: those that have run
	// something last.
	newestUnits = 200
	// mostRuns and mostLog are how large the copy of a history, or of a log, may become, in
	// bytes, before it is set aside, in place of the one that was set aside before.
	mostRuns = 1 << 20
	mostLog  = 8 << 20
)

// mirror has what other hosts have of a view's model, as far as it was asked for while somebody
// looked: copies in a directory, for who wants to see more of a run. What comes is also passed
// on, each run and each line once.
type mirror struct {
	view *View
	dir  string // empty: there are no copies
	// turn, if it isn't nil, has room for those who may ask at a time, and no agent waits for
	// something to happen then.
	turn chan struct{}

	mu    sync.Mutex
	met   int
	hosts map[string]*copied
	came  [][]history.Entry // what nobody has taken yet
}

// newMirror makes a mirror of a view. If no directory can be made for copies it goes without.
func newMirror(v *View) *mirror {
	m := &mirror{view: v, hosts: map[string]*copied{}}
	m.dir, _ = os.MkdirTemp("", "unitd-")
	if v.model.AskedByOwner() {
		m.turn = make(chan struct{}, 1)
	}
	return m
}

// run follows all other hosts while somebody looks, until ctx ends; then it removes the copies.
func (m *mirror) run(ctx context.Context) {
	defer m.end()
	var all sync.WaitGroup
	defer all.Wait()
	for {
		pause := glance
		if m.view.watched() {
			pause = rosterTime
			for _, c := range m.meet(ctx) {
				all.Go(func() { c.follow() })
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (m *mirror) end() {
	if m.dir != "" {
		os.RemoveAll(m.dir)
	}
}

// once asks all hosts once, and removes the copies. Of one that can't be asked there is what the
// model has.
func (m *mirror) once(ctx context.Context) {
	defer m.end()
	var all sync.WaitGroup
	for _, c := range m.meet(ctx) {
		all.Go(func() {
			defer c.leave()
			if !c.present() || c.ask() != nil {
				_ = c.former()
			}
		})
	}
	all.Wait()
}

// meet looks which hosts there are, and returns those that nobody follows. Those that are gone
// are left alone from now on.
func (m *mirror) meet(ctx context.Context) (free []*copied) {
	others, err := m.view.Others(ctx)
	if err != nil {
		return nil // the view says what is wrong with the store
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	there := map[string]bool{}
	for _, o := range others {
		there[o.Machine] = true
		c := m.hosts[o.Machine]
		if c == nil {
			m.met++
			c = &copied{Machine: o.Machine, mirror: m, last: map[model.UnitName]seenRun{}}
			if m.dir != "" {
				c.dir = filepath.Join(m.dir, strconv.Itoa(m.met))
			}
			m.hosts[o.Machine] = c
		}
		c.there = o.Present
		if !o.Present && c.stop != nil {
			c.stop() // it won't answer
		}
		if c.end == nil {
			c.ctx, c.end = context.WithCancel(ctx)
			free = append(free, c)
		}
	}
	for machine, c := range m.hosts {
		if !there[machine] {
			if c.end != nil {
				c.end()
			}
			delete(m.hosts, machine)
			os.RemoveAll(c.dir)
		}
	}
	return free
}

// take takes the runs that have come, those of a unit in their order.
func (m *mirror) take() [][]history.Entry {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	came := m.came
	m.came = nil
	return came
}

// dirs are the directories of the copies; as machine.ModelDir is.
func (m *mirror) dirs() []string {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m.hosts)) {
		if dir := m.hosts[name].dir; dir != "" {
			all = append(all, dir)
		}
	}
	return all
}
