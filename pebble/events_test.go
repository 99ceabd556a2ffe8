package pebble

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// standIn is a server that answers in Pebble's place what a real one can't be made
// to: what it has for a path.
func standIn(t *testing.T, answers func(u *url.URL) (result any, found bool)) *Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "unitd-stand-in-")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		result, found := answers(r.URL)
		a := map[string]any{"type": "sync", "status-code": 200, "result": result}
		if !found {
			a = map[string]any{"type": "error", "status-code": 404, "result": map[string]string{"message": "cannot find it"}}
		}
		_ = json.NewEncoder(w).Encode(a)
	})}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close(); <-ended; _ = os.RemoveAll(dir) })
	return New(socket)
}

// noticeOf is a notice of a change, as Pebble writes it.
func noticeOf(id, change, kind string, first, repeated time.Time) map[string]any {
	return map[string]any{
		"id": id, "user-id": nil, "type": NoticeChange, "key": change, "occurrences": 1,
		"first-occurred": first, "last-occurred": repeated, "last-repeated": repeated,
		"last-data": map[string]string{"kind": kind, "check-name": "up"},
	}
}

func next(t *testing.T, f *feed) string {
	t.Helper()
	events, err := f.next(context.WithoutCancel(t.Context()), 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range events {
		names = append(names, fmt.Sprint(e.Kind, " ", e.Key))
	}
	return strings.Join(names, ", ")
}

func TestK088ANoticeWhoseChangeWasPrunedIsIgnoredFromAStandIn(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	f := newFeed(standIn(t, func(u *url.URL) (any, bool) {
		switch u.Path {
		case "/v1/notices":
			return []any{noticeOf("1", "7", kindPerform, now, now), noticeOf("2", "8", kindPerform, now, now.Add(1))}, true
		case "/v1/changes/8":
			return map[string]any{"id": "8", "kind": kindPerform, "status": statusError, "ready": true, "ready-time": now}, true
		}
		return nil, false
	}), time.Time{})
	if got := next(t, f); got != "check-failed 8" {
		t.Errorf("the events are %q", got)
	}
	if got := next(t, f); got != "" {
		t.Errorf("once more there are %q", got)
	}
}

// TestAChangeThatHasEndedMeanwhileIsToldOnceFromAStandIn: the notice of its
// beginning is read late. Source: docs/spec/containers.md §4.8 (6).
func TestAChangeThatHasEndedMeanwhileIsToldOnceFromAStandIn(t *testing.T) {
	t.Parallel()
	begun := time.Now().UTC()
	ended := begun.Add(time.Minute)
	listed, now := begun, ended.Add(time.Microsecond)
	f := newFeed(standIn(t, func(u *url.URL) (any, bool) {
		switch u.Path {
		case "/v1/notices":
			return []any{noticeOf("1", "7", kindPerform, begun, listed)}, true
		case "/v1/notices/1":
			return noticeOf("1", "7", kindPerform, begun, now), true
		}
		return map[string]any{"id": "7", "kind": kindPerform, "status": statusError, "ready": true, "ready-time": ended}, true
	}), time.Time{})
	if got := next(t, f); got != "" {
		t.Errorf("of the beginning there are %q", got)
	}
	listed = now
	if got := next(t, f); got != "check-failed 7" {
		t.Errorf("of the end there are %q", got)
	}
	// Where Pebble doesn't repeat it, it is told of by the notice that there is.
	listed, now = begun, begun
	f = newFeed(f.client, time.Time{})
	if got := next(t, f); got != "check-failed 7" {
		t.Errorf("without a repeat there are %q", got)
	}
}

// TestEachOccurrenceIsAnEventFromAStandIn: whatever notices there are, when they are asked
// for, and where an agent starts anew, each occurrence that is the newest of its
// notice comes, in order, at a time of its own.
func TestEachOccurrenceIsAnEventFromAStandIn(t *testing.T) {
	t.Parallel()
	var notices []map[string]any
	c := standIn(t, func(u *url.URL) (any, bool) {
		after, _ := time.Parse(time.RFC3339Nano, u.Query().Get("after"))
		found := []any{}
		for _, n := range notices {
			if n["last-repeated"].(time.Time).After(after) {
				found = append(found, n)
			}
		}
		return found, true
	})
	began := time.Now().UTC()
	rapid.Check(t, func(r *rapid.T) {
		notices = nil
		f, at, id, told := newFeed(c, time.Time{}), began, 0, time.Time{}
		var waiting []Event
		due := map[string]time.Time{}
		r.Repeat(map[string]func(*rapid.T){
			"a notice": func(r *rapid.T) {
				at = at.Add(time.Duration(rapid.IntRange(0, 1).Draw(r, "later")) * 2 * before)
				id++
				notices = append(notices, map[string]any{"id": fmt.Sprint(id), "type": NoticeCustom, "key": fmt.Sprintf("a.b/%d", id), "last-repeated": at})
				due[fmt.Sprint(id)] = at
			},
			"a repeat": func(r *rapid.T) {
				if id == 0 {
					return
				}
				n := notices[rapid.IntRange(0, id-1).Draw(r, "which")]
				for _, o := range notices {
					if o["id"] != n["id"] && o["last-repeated"].(time.Time).Equal(n["last-repeated"].(time.Time)) {
						return // what newFeed says of an agent that starts anew then
					}
				}
				at = at.Add(2 * before)
				n["last-repeated"] = at
				due[n["id"].(string)] = at
			},
			"a look": func(r *rapid.T) {
				events, err := f.next(context.Background(), 0)
				if err != nil {
					r.Fatal(err)
				}
				waiting = untold(merge(waiting, events), told)
			},
			"one is told": func(r *rapid.T) {
				if len(waiting) == 0 {
					return
				}
				e := waiting[0]
				want, ok := due[e.ID]
				if !ok || !e.LastRepeated.After(told) {
					r.Errorf("%s is told of at %v, after %v; due is %v, %v", e.ID, e.LastRepeated, told, want, ok)
				}
				if !e.LastRepeated.Before(want) {
					delete(due, e.ID)
				}
				told = e.LastRepeated
				waiting = untold(waiting, told)
			},
			"the agent starts anew": func(r *rapid.T) { f, waiting = newFeed(c, told), nil },
		})
		events, err := f.next(context.Background(), 0)
		if err != nil {
			r.Fatal(err)
		}
		for _, e := range untold(merge(waiting, events), told) {
			delete(due, e.ID)
		}
		if len(due) != 0 {
			r.Errorf("never told of: %v", due)
		}
	})
}

func TestMoreThanAThousandEventsDropTheOldest(t *testing.T) {
	t.Parallel()
	var events []Event
	for i := range maxEvents + 5 {
		events = append(events, Event{Kind: EventCheckFailed, Key: fmt.Sprint(i), LastRepeated: time.Unix(int64(i), 0)})
	}
	got := merge(events[:3], events[3:])
	if len(got) != maxEvents || got[0].Key != "5" {
		t.Errorf("there are %d, from %s", len(got), got[0].Key)
	}
}
