package pebble

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/juju/errors"
)

const (
	// recheck is how often a Pebble that answers is asked who it is, so that one
	// that hangs, or whose socket was replaced, is noticed; one that ends is by the
	// end of the long poll. Source: docs/spec/containers.md §4.7 (poll interval).
	recheck = 5 * time.Second
	// longPoll is for how long Pebble is asked to wait for a notice.
	// Source: docs/spec/containers.md §4.7.
	longPoll = 30 * time.Second
	// again is the pause after Pebble has answered who it is and has failed to tell
	// its notices.
	again = time.Second
)

// State is what a watcher knows of one Pebble. It is a value: what was reported
// isn't changed later.
type State struct {
	// Boot is the boot id of the Pebble that answers; empty while none does.
	Boot string
	// Version is that Pebble's; empty while none answers.
	Version string
	// Since is when this boot was first seen, also if it didn't answer for a while
	// in between.
	Since time.Time
	// Fault is what is wrong, for people: why Boot is empty though there is a
	// socket, or why the notices can't be read. It is empty while there is nobody at
	// the socket, as before Pebble has started.
	Fault string
	// Events are what hooks are to tell of, in the order of LastRepeated, which no
	// two share: those that WatchOptions.After hasn't told of. There are 1,000 at
	// most; then the oldest are dropped, as Pebble does with notices.
	Events []Event
	// Checks and Services are those of its plan, as of its start, and of when it last
	// said that something had changed, or had been silent for a long poll. A check is
	// there without what moves each time that it is performed: how often it has
	// succeeded or failed, and its changes.
	Checks   []Check
	Services []Service
}

// WatchOptions say what Watch watches.
type WatchOptions struct {
	Socket string
	// After is the LastRepeated of the newest event that was told of; zero if none
	// was. Events up to it are dropped. It may be called at any time, and grows. Nil
	// is zero for ever.
	After func() time.Time
	// Now is the clock of Since; nil for the host's. All waiting is in real time, as
	// Pebble is a process of the real world, whatever clock an agent has.
	Now func() time.Time
	// Look has the watcher look often for a while, as it does in its beginning: the
	// container is being started. Nil for never.
	Look <-chan struct{}
	// Read is told each time that the notices were read: up to which LastRepeated
	// all are dealt with, and what came of them was reported. Nil for nobody.
	Read func(newest time.Time)
}

// Watch follows the Pebble at a socket, through all its restarts, until ctx ends,
// and reports each time that the state has changed, from one goroutine at a time
// and in order. While report runs nothing else is noticed.
//
// A Pebble that has just answered for the first time is reported within some 20
// ms, for as long as the watcher looks often: the first 10 s, after each loss of
// a Pebble, and after each Look. Then it looks every 250 ms, and after a minute
// every second. A Pebble that answers is asked who it is every 5 s, and for
// notices by requests that it may keep for 30 s. Nothing is lost when it restarts
// meanwhile: the notices that have come since are asked for then.
//
// Source: docs/spec/containers.md §3.2, §3.3, §4.7, §4.8. Departures: an agent's
// restart repeats nothing that After has told of; a notice and a check are never
// held up by one another's hooks.
func Watch(ctx context.Context, o WatchOptions, report func(State)) {
	w := &watcher{WatchOptions: o, client: New(o.Socket), report: report}
	if w.After == nil {
		w.After = func() time.Time { return time.Time{} }
	}
	if w.Now == nil {
		w.Now = time.Now
	}
	w.notices = newFeed(w.client, w.After())
	for ctx.Err() == nil {
		boot, ok := w.learn(ctx)
		if !ok {
			return
		}
		if fault := w.follow(ctx, boot); fault == nil {
			continue // it has ended, or another one has come
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

type watcher struct {
	WatchOptions
	client  *Client
	notices *feed

	mu     sync.Mutex // held while report runs
	report func(State)
	state  State
	last   SystemInfo // who answered last
	since  time.Time  // when its boot was first seen
}

// learn waits until Pebble says who it is. It returns false when ctx has ended.
func (w *watcher) learn(ctx context.Context) (boot string, ok bool) {
	began := time.Now()
	for {
		info, err := w.who(ctx)
		if err == nil {
			w.answers(info)
			return info.Boot, true
		}
		if ctx.Err() != nil {
			return "", false
		}
		w.lost(err)
		select {
		case <-ctx.Done():
			return "", false
		case <-time.After(pause(time.Since(began))):
		case <-w.Look:
			began = time.Now()
		}
	}
}

// who asks who answers. Where there is no socket, looking costs a microsecond.
func (w *watcher) who(ctx context.Context) (SystemInfo, error) {
	if _, err := os.Lstat(w.Socket); os.IsNotExist(err) {
		return SystemInfo{}, errors.WithType(err, ErrNotThere)
	}
	return w.client.SystemInfo(ctx)
}

// pause is how long to wait before the next look, by how long there has been
// nobody.
func pause(missing time.Duration) time.Duration {
	switch {
	case missing < 10*time.Second:
		return 10 * time.Millisecond
	case missing < time.Minute:
		return 250 * time.Millisecond
	}
	return time.Second
}

// follow reads notices until that boot of Pebble's has ended, or ctx has. The
// error is why the notices can't be read though Pebble answers.
func (w *watcher) follow(ctx context.Context, boot string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- w.read(ctx) }()
	defer func() { cancel(); <-ended }()
	for {
		var fault error
		select {
		case fault = <-ended:
			ended <- nil // for the one who waits
		case <-time.After(recheck):
		case <-w.Look:
		}
		if ctx.Err() != nil {
			return nil
		}
		info, err := w.client.SystemInfo(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			w.lost(err)
			return nil
		case info.Boot != boot:
			return nil // who comes next tells of it
		case fault != nil:
			w.faulty(fault)
			return fault
		}
	}
}

// read reads notices until something is wrong, and reports what comes of them.
func (w *watcher) read(ctx context.Context) error {
	for wait := time.Duration(0); ; {
		events, err := w.notices.next(ctx, wait)
		if len(events) > 0 || err == nil && wait == 0 {
			w.update(func(s *State) {
				s.Events = merge(s.Events, events)
				if err == nil {
					s.Fault = ""
				}
			})
		}
		if w.Read != nil {
			w.Read(w.notices.newest)
		}
		if err != nil {
			return errors.Trace(err)
		}
		if wait == 0 || len(events) > 0 {
			w.survey(ctx)
		}
		// After each wait that brought nothing, one look without waiting finds what
		// asking for later ones has missed.
		if wait == 0 || len(events) > 0 {
			wait = longPoll
		} else {
			wait = 0
		}
	}
}

// survey looks how checks and services are. That it can't is no fault: they stay as
// they were known.
func (w *watcher) survey(ctx context.Context) {
	checks, err := w.client.Checks(ctx, LevelUnset)
	if err != nil {
		return
	}
	services, err := w.client.Services(ctx)
	if err != nil {
		return
	}
	for i := range checks {
		c := &checks[i]
		c.Successes, c.Failures, c.Change, c.Previous = 0, 0, "", ""
	}
	slices.SortFunc(checks, func(a, b Check) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(services, func(a, b Service) int { return strings.Compare(a.Name, b.Name) })
	w.update(func(s *State) {
		if s.Boot != "" {
			s.Checks, s.Services = checks, services
		}
	})
}

func (w *watcher) answers(info SystemInfo) {
	if info.Boot != w.last.Boot {
		w.since = w.Now()
	}
	w.last = info
	w.update(func(s *State) {
		if s.Boot != info.Boot {
			s.Fault = "" // what was wrong was that it didn't answer
		}
		s.Boot, s.Version, s.Since = info.Boot, info.Version, w.since
	})
}

func (w *watcher) lost(err error) {
	fault := ""
	if !errors.Is(err, ErrNotThere) && !errors.Is(err, ErrBroken) {
		fault = err.Error()
	}
	w.update(func(s *State) {
		*s = State{Fault: fault, Events: s.Events}
	})
}

func (w *watcher) faulty(err error) {
	w.update(func(s *State) { s.Fault = err.Error() })
}

// update changes the state, drops what was told of, and reports what has become
// of it, if it is something else.
func (w *watcher) update(change func(*State)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.state
	change(&s)
	s.Events = untold(s.Events, w.After())
	if s.equal(w.state) {
		return
	}
	w.state = s
	reported := s
	reported.Events = slices.Clone(s.Events)
	w.report(reported)
}

func (s State) equal(o State) bool {
	return s.Boot == o.Boot && s.Version == o.Version && s.Since.Equal(o.Since) && s.Fault == o.Fault &&
		slices.EqualFunc(s.Events, o.Events, Event.equal) && slices.Equal(s.Checks, o.Checks) && slices.EqualFunc(s.Services, o.Services, Service.equal)
}
