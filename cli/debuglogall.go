package cli

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// ofLogs are the files with the log of a host, for places.
func ofLogs(model.UnitName) []string { return []string{"debug.log*"} }

// logOfHosts shows the logs of all hosts as one, by time.
type logOfHosts struct {
	base
	model  *state.Model
	filter debuglog.Filter
	show   func(debuglog.Entry) error

	mu sync.Mutex
}

// tailInterval is how often other hosts are asked for new lines: each time costs a few
// transactions.
const tailInterval = time.Second

// tailNewest is how much of the end of their logs is asked for then, in bytes.
const tailNewest = 256 << 10

// existing shows the last lines that there are, 0: all, and returns where each log has been
// read to.
func (l *logOfHosts) existing(newest int) (own int, others map[string]mark, err error) {
	where, err := l.places(l.model, nil, ofLogs)
	if err != nil {
		return 0, nil, err
	}
	defer where.end()
	var all []debuglog.Entry
	others = map[string]mark{}
	for i, dir := range where.dirs {
		var at mark
		if err := debuglog.ReadAll(machine.LogPath(dir, l.model.UUID()), func(e debuglog.Entry) error {
			if where.from[i] == "" {
				own++
			}
			at.isNew(e)
			if l.filter.Match(e) {
				all = append(all, e)
			}
			return nil
		}); err != nil {
			return 0, nil, err
		}
		if where.from[i] != "" {
			others[where.from[i]] = at
		}
	}
	slices.SortStableFunc(all, func(a, b debuglog.Entry) int { return a.Time.Compare(b.Time) })
	if newest > 0 {
		all = all[max(0, len(all)-newest):]
	}
	for _, e := range all {
		if err := l.show(e); err != nil {
			return 0, nil, err
		}
	}
	return own, others, nil
}

// follow shows new lines until ctx ends: own are those of this host that were shown.
func (l *logOfHosts) follow(ctx context.Context, own int, others map[string]mark) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	asked := make(chan error, 1)
	go func() { asked <- l.ask(ctx, others) }()
	dir, err := agent.DataDir()
	if err != nil {
		return err
	}
	err = debuglog.Follow(ctx, machine.LogPath(dir, l.model.UUID()), func(e debuglog.Entry) error {
		if own--; own >= 0 {
			return nil
		}
		return l.add(e)
	}, nil)
	stop()
	if aerr := <-asked; err == nil || errors.Is(err, context.Canceled) && !errors.Is(aerr, context.Canceled) {
		err = aerr
	}
	return err
}

func (l *logOfHosts) add(e debuglog.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.filter.Match(e) {
		return nil
	}
	return l.show(e)
}

// ask asks the other hosts for new lines, again and again. One that isn't there is asked
// again when it is.
func (l *logOfHosts) ask(ctx context.Context, at map[string]mark) error {
	tick := time.NewTicker(tailInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		case <-tick.C:
		}
		others, err := l.Others(l.model)
		if err != nil {
			return err
		}
		for _, on := range others {
			if !on.Present {
				continue
			}
			known := at[on.Name]
			if err := l.news(on, &known); err != nil && ctx.Err() == nil {
				l.Note("WARNING %v", err)
			}
			at[on.Name] = known
		}
	}
}

// news shows what is new of one host.
func (l *logOfHosts) news(on agent.Elsewhere, known *mark) error {
	copied, _, err := l.Fetch(l.model, on, machine.FilesQuestion{Names: ofLogs(""), Newest: tailNewest})
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied)
	known.again()
	return debuglog.ReadAll(machine.LogPath(copied, l.model.UUID()), func(e debuglog.Entry) error {
		if !known.isNew(e) {
			return nil
		}
		return l.add(e)
	})
}

// mark is how far a log has been read: to the last of so many lines of one time.
type mark struct {
	time  time.Time
	lines int
	seen  int // of that time, since again
}

// again begins to read from some line before the mark, or at it.
func (m *mark) again() { m.seen = 0 }

// isNew says whether a line is after the mark, which then is put there. Lines of one time are told
// apart by their number: what is read again begins before them.
func (m *mark) isNew(e debuglog.Entry) bool {
	switch {
	case e.Time.Before(m.time):
		return false
	case e.Time.After(m.time):
		m.time, m.lines, m.seen = e.Time, 1, 1
		return true
	}
	if m.seen++; m.seen <= m.lines {
		return false
	}
	m.lines = m.seen
	return true
}
