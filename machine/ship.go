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
	dir     string
	recent  *recent
	clock   clock.Clock
	log     func(msg string, args ...any)

	changed  chan struct{} // has room for one: the model may have other hosts than before
	interval time.Duration
	shipped  shipped
	failing  bool // which the log has been told
}

// shipped says how much was there when it was put into the model.
type shipped struct {
	log  LogMark
	runs RunsMark
}

const (
	// shipInterval is how often a host puts something into the model if there is something
	// new, and shipPerHost how much longer that is for each host, so that a store of a
	// thousand has less than 200 kB a second of it.
	shipInterval = 10 * time.Second
	shipPerHost  = 200 * time.Millisecond
	// shippedAtMost is how long a document may be, in bytes, shippedOfEach how much of each
	// file is looked at for it, and shippedUnits how many units have their histories in it:
	// those that have run something last.
	shippedAtMost = 32 << 10
	shippedOfEach = 64 << 10
	shippedUnits  = 40
	// endTime is how long an agent that ends waits for the store.
	endTime = time.Second
)

func (a *modelAgent) newShipping() *shipping {
	return &shipping{
		model: a.model, machine: a.answering.machine, dir: a.dir, recent: a.recent, clock: a.Clock, log: a.log.Warn,
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
			if due != nil {
				s.end(ctx)
			}
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

// end puts there what is still to be put there, as the agent won't answer any more.
func (s *shipping) end(ctx context.Context) {
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
	agents, err := s.model.Agents(ctx)
	if err != nil {
		return 0, errors.Trace(err)
	}
	if s.machine == state.ManagingHost {
		return len(agents), nil
	}
	return max(1, len(agents)), nil // with itself: the host that has the models has none there
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
	packed, err := packFiles(ctx, s.dir, append(names, logName), RunsMark{}, shippedOfEach, shippedAtMost)
	if err != nil {
		return errors.Trace(err)
	}
	if err := s.model.PutNewest(ctx, s.machine, packed); err != nil {
		return errors.Trace(err)
	}
	s.shipped = now
	return nil
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
