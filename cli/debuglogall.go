package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
)

// logOfHosts shows the logs of all hosts as one, by time.
type logOfHosts struct {
	base
	model  *state.Model
	filter debuglog.Filter
	show   func(debuglog.Entry) error

	mu sync.Mutex
}

// existing shows the last lines that there are, 0: all, and returns how many there are of this
// host and where the logs of the others ended.
func (l *logOfHosts) existing(newest int) (own int, ends map[string]machine.LogMark, err error) {
	f := l.filter
	few := newest > 0 && f.Level == "" && len(f.Include)+len(f.Exclude)+len(f.IncludeModule)+len(f.ExcludeModule) == 0
	where, err := l.places(l.model, nil, ofLogs, !few)
	if err != nil {
		return 0, nil, err
	}
	all, own, err := l.read(where, newest)
	where.end()
	if err != nil {
		return 0, nil, err
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
	return own, where.ends, nil
}

// read reads the newest lines of each log that pass the filter.
func (l *logOfHosts) read(where places, newest int) (all []debuglog.Entry, own int, err error) {
	for i, dir := range where.dirs {
		last := newLast(newest, l.filter, func(e debuglog.Entry) error {
			all = append(all, e)
			return nil
		})
		if err := debuglog.ReadAll(machine.LogPath(dir, l.model.UUID()), func(e debuglog.Entry) error {
			if i == 0 {
				own++
			}
			return last.add(e)
		}); err != nil {
			return nil, 0, err
		}
		if err := last.flush(); err != nil {
			return nil, 0, err
		}
	}
	return all, own, nil
}

// follow shows new lines until ctx ends, or can't be shown. own are those of this host that
// were shown; others are the hosts whose logs ended there, or that weren't there.
func (l *logOfHosts) follow(ctx context.Context, own int, ends map[string]machine.LogMark) error {
	dir, err := agent.DataDir()
	if err != nil {
		return err
	}
	others, err := l.Others(l.model)
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var all sync.WaitGroup
	for _, on := range others {
		from, known := ends[on.Machine]
		if !known {
			from.Offset = machine.LogEnd
		}
		all.Go(func() { fail(l.followOther(ctx, on, from)) })
	}
	err = debuglog.Follow(ctx, machine.LogPath(dir, l.model.UUID()), func(e debuglog.Entry) error {
		if own--; own >= 0 {
			return nil
		}
		return l.add(e)
	}, nil)
	fail(err)
	all.Wait()
	return context.Cause(ctx)
}

func (l *logOfHosts) add(e debuglog.Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.filter.Match(e) {
		return nil
	}
	return l.show(e)
}

// pause is how long a host that can't be asked is left alone.
const pause = 5 * time.Second

// followOther shows the new lines of another host. One that can't be asked is asked again, and
// people are told once. The error is that of who shows them, or of ctx.
func (l *logOfHosts) followOther(ctx context.Context, on agent.Elsewhere, from machine.LogMark) error {
	told := ""
	for {
		files, err := l.Ask(ctx, l.model, on, machine.FilesQuestion{After: &from})
		if err == nil {
			told, from = "", files.Log
			if err := l.lines(files.Lines); err != nil {
				return err
			}
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err.Error() != told {
			told = err.Error()
			l.Note("WARNING %v", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		if others, err := l.Others(l.model); err == nil {
			for _, o := range others {
				if o.Machine == on.Machine {
					on = o
				}
			}
		}
	}
}

// lines shows lines of a log that another host has sent.
func (l *logOfHosts) lines(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "unitd-")
	if err != nil {
		return errors.Trace(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "debug.log")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return errors.Trace(err)
	}
	var all []debuglog.Entry
	if err := debuglog.ReadAll(path, func(e debuglog.Entry) error {
		all = append(all, e)
		return nil
	}); err != nil {
		return err
	}
	for _, e := range all {
		if err := l.add(e); err != nil {
			return err
		}
	}
	return nil
}
