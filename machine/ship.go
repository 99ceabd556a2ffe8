package machine

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// shipping puts the newest runs and lines of this host's log into the model, where it has other
// hosts: they are what can be seen if this host is lost. It works beside the units' agents.
type shipping struct {
	model   *state.Model
	machine string
	agent   string // as it has joined
	dir     string
	recent  *recent
	clock   clock.Clock
	log     func(msg string, args ...any)

	changed  chan struct{} // has room for one: the model may have other hosts than before
	interval time.Duration
	shipped  shipped
	failing  bool // which the log has been told
	waits    bool // run has ended, and would have gone on to put something there
}

// shipped says how much was there when it was put into the model.
type shipped struct {
	log  LogMark
	runs RunsMark
}

const (
	// shipInterval is how often a host puts something into the model if there is something
	// new, and shipPerHost how much longer that is for each host: all together put less than
	// 16 KB a second there, as etcd keeps former revisions for a while.
	shipInterval = 30 * time.Second
	shipPerHost  = time.Second
	// shippedAtMost is how long a document may be, in bytes, shippedOfEach how much of each
	// file is looked at for it, and shippedUnits how many units have their histories in it:
	// those that have run something last.
	shippedAtMost = 16 << 10
	shippedOfEach = 32 << 10
	shippedUnits  = 20
	// endTime is how long an agent that ends waits for the store.
	endTime = time.Second
)

func (a *modelAgent) newShipping() *shipping {
	agent := ""
	if a.Machine != nil {
		agent = a.Machine.Agent
	}
	return &shipping{
		agent: agent, model: a.model, machine: a.answering.machine, dir: a.dir, recent: a.recent, clock: a.Clock, log: a.log.Warn,
		changed: make(chan struct{}, 1),
	}
}

// heed has it look for other hosts, if a change may have brought some.
func (s *shipping) heed(c state.Change) {
	if len(c.Machines) == 0 && !c.Resync {
		return
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// run works until ctx ends. With no other host there is nothing to do, and it waits for one.
func (s *shipping) run(ctx context.Context) {
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			s.waits = due != nil
			return
		case <-s.changed:
			others, err := s.others(ctx)
			if err != nil {
				s.fails(ctx, err)
				continue
			}
			s.interval = max(shipInterval, time.Duration(others)*shipPerHost)
			if others == 0 {
				due = nil
			} else if due == nil {
				due = s.clock.After(s.interval)
			}
		case <-due:
			due = s.clock.After(s.interval)
			if err := s.ship(ctx); err != nil {
				s.fails(ctx, err)
				continue
			}
			s.failing = false
		}
	}
}

// end puts there what is still to be put there, as the agent won't answer any more. Its units
// have ended by then.
func (s *shipping) end(ctx context.Context) {
	if !s.waits {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer stop()
	_ = s.ship(ctx) // a host may be lost without it, too
}

// fails tells the log, once until it succeeds.
func (s *shipping) fails(ctx context.Context, err error) {
	if ctx.Err() == nil && !s.failing {
		s.failing = true
		s.log("cannot put the newest runs and lines into the model", "err", err)
	}
}

// others is how many other hosts the model has.
func (s *shipping) others(ctx context.Context) (int, error) {
	n, err := s.model.Joined(ctx)
	if s.machine != state.ManagingHost {
		n = max(1, n) // without itself, and with the host that has the models
	}
	return n, errors.Trace(err)
}

// ship puts what there is into the model, if it is more than last time.
func (s *shipping) ship(ctx context.Context) error {
	first, size, err := firstOf(filepath.Join(s.dir, logName))
	if err != nil {
		return errors.Trace(err)
	}
	now := shipped{LogMark{first, size}, s.recent.mark()}
	if now == s.shipped {
		return nil
	}
	names, err := newestHistories(filepath.Join(s.dir, "history"), shippedUnits)
	if err != nil {
		return errors.Trace(err)
	}
	names = append(names, logName)
	if size < shippedAtMost { // it has just been begun anew
		names = append(names, logName+setAside)
	}
	packed, err := packFiles(ctx, s.dir, names, nil, RunsMark{}, shippedOfEach, shippedAtMost)
	if err != nil {
		return errors.Trace(err)
	}
	if err := s.model.PutNewest(ctx, s.machine, s.agent, packed); err != nil {
		return errors.Trace(err)
	}
	s.shipped = now
	return nil
}

// newestFiles are the log, and so many histories, below a model's directory.
func newestFiles(dir string, most int) ([]string, error) {
	names, err := newestHistories(filepath.Join(dir, "history"), most)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, name := range slices.Clone(names) {
		names = append(names, name+".1") // where it is there
	}
	return append(names, logName, logName+".1"), nil
}

// newestHistories are the files, below a model's directory, with the histories to which something
// was added last.
func newestHistories(dir string, most int) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, errors.Trace(err)
	}
	type file struct {
		name string
		at   time.Time
	}
	var files []file
	for _, e := range entries {
		if st, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".jsonl") {
			files = append(files, file{"history/" + e.Name(), st.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return b.at.Compare(a.at) })
	var names []string
	for _, f := range files[:min(most, len(files))] {
		names = append(names, f.name)
	}
	return names, nil
}

// Shipped is what another host's agent has put into the model of what it alone has, and when. The
// error is NotFound where there is nothing.
func Shipped(ctx context.Context, m *state.Model, machine string) (Files, time.Time, error) {
	n, there, err := m.Newest(ctx, machine)
	if err != nil {
		return Files{}, time.Time{}, errors.Trace(err)
	}
	if !there {
		return Files{}, time.Time{}, errors.NotFoundf("what the agent of %s has put into the model", machine)
	}
	files, err := unpack(n.Body)
	return files, n.At, errors.Trace(err)
}
