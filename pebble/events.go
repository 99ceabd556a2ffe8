package pebble

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/juju/errors"
)

// EventKind is what kind of hook tells of an event.
type EventKind string

// Kinds of events.
const (
	EventCustom         EventKind = "custom"
	EventCheckFailed    EventKind = "check-failed"
	EventCheckRecovered EventKind = "check-recovered"
)

// Event is a notice that a hook is to tell the charm of.
// Source: docs/spec/containers.md §2.1, §4.8.
type Event struct {
	Kind EventKind
	// ID, Type and Key are the notice's.
	ID, Type, Key string
	// Check is the check's name; empty for a custom notice.
	Check string
	// LastRepeated is the notice's. Where two notices have the same, those with
	// later ids come nanoseconds after it: each event has a time of its own.
	LastRepeated time.Time
}

func (e Event) equal(o Event) bool {
	return e.Kind == o.Kind && e.ID == o.ID && e.Type == o.Type && e.Key == o.Key && e.Check == o.Check && e.LastRepeated.Equal(o.LastRepeated)
}

// maxEvents bounds what waits to be told. Pebble keeps as many notices.
const maxEvents = 1000

// merge puts events that have come behind those that wait. A custom notice that
// is repeated before it was told of is told of once, as of its last time.
func merge(waiting, came []Event) []Event {
	merged := slices.Clone(waiting)
	for _, e := range came {
		if e.Kind == EventCustom {
			merged = slices.DeleteFunc(merged, func(o Event) bool { return o.Kind == EventCustom && o.ID == e.ID && o.Key == e.Key })
		}
		merged = append(merged, e)
	}
	return merged[max(0, len(merged)-maxEvents):]
}

// untold are the events after those that were told of.
func untold(events []Event, after time.Time) []Event {
	return slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return !e.LastRepeated.After(after) })
}

// before is how much earlier than what was seen last one look without waiting
// asks. Notices of the same nanosecond get times of their own, at most 999 ns
// later, as Pebble keeps 1,000 of them.
const before = time.Microsecond

// atOnce is how much later Pebble begins to perform a check that has recovered,
// at most: it does so in the same step.
const atOnce = 100 * time.Millisecond

// feed makes events of the notices of one socket, each occurrence once, in order.
// It isn't safe for use by many at once.
type feed struct {
	client *Client
	// newest is the last LastRepeated that was dealt with, of all notices; zero if
	// there was none.
	newest time.Time
	// given is the last LastRepeated that an event was given.
	given time.Time
	// seen are the notices that were dealt with, by id, as far as they are as new as
	// newest or nearly so.
	seen map[string]time.Time
}

// newFeed makes one for what comes later than the time. One thing isn't found
// again then: a notice of the same nanosecond as one that was told of, where that
// one has been repeated since.
func newFeed(c *Client, after time.Time) *feed {
	return &feed{client: c, newest: after, seen: map[string]time.Time{}}
}

// next returns the events of notices that haven't been dealt with. With a wait it
// asks for later notices, and waits for one; without, it asks from just before.
// With an error come the events of what was dealt with by then: the next call
// goes on behind them.
func (f *feed) next(ctx context.Context, wait time.Duration) ([]Event, error) {
	q := NoticesQuery{After: f.newest, Wait: wait, Types: []string{NoticeCustom, NoticeChange}, Everyones: true}
	if wait == 0 && !f.newest.IsZero() {
		q.After = f.newest.Add(-before)
	}
	notices, err := f.client.Notices(ctx, q)
	if err != nil {
		return nil, errors.Trace(err)
	}
	slices.SortStableFunc(notices, func(a, b Notice) int {
		return cmp.Or(a.LastRepeated.Compare(b.LastRepeated), cmp.Compare(number(a.ID), number(b.ID)))
	})
	var events []Event
	for _, n := range notices {
		if at, ok := f.seen[n.ID]; ok && at.Equal(n.LastRepeated) {
			continue
		}
		e, is, err := f.event(ctx, n)
		if err != nil {
			return events, errors.Annotatef(err, "cannot read what notice %s is of", n.ID)
		}
		if e.LastRepeated = f.dealtWith(n); is {
			events = append(events, e)
		}
	}
	return events, nil
}

// number is an id as Pebble counts them; one that isn't a number comes first.
func number(id string) uint64 {
	n, _ := strconv.ParseUint(id, 10, 64)
	return n
}

// dealtWith notes that a notice was, and returns the time of its event, which is
// later than all that were given.
func (f *feed) dealtWith(n Notice) time.Time {
	at := n.LastRepeated
	if at.After(f.newest) {
		f.newest = at
	}
	f.seen[n.ID] = at
	for id, at := range f.seen {
		if at.Before(f.newest.Add(-before)) {
			delete(f.seen, id)
		}
	}
	if !at.After(f.given) {
		at = f.given.Add(1)
	}
	f.given = at
	return at
}

// event is what a notice tells, and whether there is a hook that tells of it.
func (f *feed) event(ctx context.Context, n Notice) (Event, bool, error) {
	e := Event{ID: n.ID, Type: n.Type, Key: n.Key}
	kind := n.Data["kind"]
	switch {
	case n.Type == NoticeCustom:
		e.Kind = EventCustom
		return e, true, nil
	case n.Type != NoticeChange, kind != kindPerform && kind != kindRecover:
		return e, false, nil
	}
	e.Check = n.Data["check-name"]
	change, err := f.client.Change(ctx, n.Key)
	switch {
	case errors.Is(err, errors.NotFound):
		return e, false, nil // Pebble has forgotten it: K-088
	case err != nil:
		return e, false, errors.Trace(err)
	case kind == kindPerform && change.Status == statusError:
		e.Kind = EventCheckFailed
	case kind == kindRecover && change.Status == statusDone:
		e.Kind = EventCheckRecovered
	default:
		return e, false, nil
	}
	if change.Ended.After(n.LastRepeated) {
		// The notice is of the beginning, and the change has ended meanwhile: the same
		// notice is repeated for that. Else it is told of here.
		repeated, err := f.client.Notice(ctx, n.ID)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return e, false, errors.Trace(err)
		}
		if err == nil && repeated.LastRepeated.After(n.LastRepeated) {
			return e, false, nil
		}
	}
	if kind == kindRecover {
		is, err := f.goesOn(ctx, e.Check, change.Ended)
		return e, is, errors.Trace(err)
	}
	return e, true, nil
}

// goesOn says whether a check went on to be performed when its recovery ended at
// that time. A recovery that Pebble gives up, as the check was stopped or
// redefined, is Done as well; but then what performs the check, if anything does,
// has begun before that, or later than at once.
// Source: docs/spec/containers.md §4.8 (3, 5), §9.7 (K-085, K-086).
func (f *feed) goesOn(ctx context.Context, check string, ended time.Time) (bool, error) {
	notices, err := f.client.Notices(ctx, NoticesQuery{Types: []string{NoticeChange}})
	if err != nil {
		return false, errors.Trace(err)
	}
	return slices.ContainsFunc(notices, func(n Notice) bool {
		began := n.FirstOccurred.Sub(ended)
		return n.Data["kind"] == kindPerform && n.Data["check-name"] == check && began >= 0 && began < atOnce
	}), nil
}
