package pebble_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
)

// watched is a watcher, and what it has reported.
type watched struct {
	t      testing.TB
	states chan pebble.State
	after  atomic.Pointer[time.Time]
	look   chan struct{}
	end    func()
}

// watch starts one that ends with the test.
func watch(t testing.TB, socket string, after time.Time) *watched {
	w := &watched{t: t, states: make(chan pebble.State, 10_000), look: make(chan struct{})}
	w.after.Store(&after)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pebble.Watch(ctx, pebble.WatchOptions{Socket: socket, After: func() time.Time { return *w.after.Load() }, Look: w.look},
			func(s pebble.State) { w.states <- s })
	}()
	w.end = func() { cancel(); <-ended }
	t.Cleanup(w.end)
	return w
}

// until waits for a state of which that is true.
func (w *watched) until(what string, is func(pebble.State) bool) pebble.State {
	w.t.Helper()
	var last pebble.State
	for late := time.After(2 * time.Minute); ; {
		select {
		case last = <-w.states:
			if is(last) {
				return last
			}
		case <-late:
			w.t.Fatalf("no state comes with %s; the last is %+v", what, last)
		}
	}
}

func (w *watched) answers() pebble.State {
	w.t.Helper()
	return w.until("an answer", func(s pebble.State) bool { return s.Boot != "" })
}

func (w *watched) lost() pebble.State {
	w.t.Helper()
	return w.until("no answer", func(s pebble.State) bool { return s.Boot == "" })
}

// events waits for the event of a custom notice with that key, and returns all
// that the state has, as "check-failed up" or "custom KEY".
func (w *watched) events(last string) []string {
	w.t.Helper()
	s := w.until("the event "+last, func(s pebble.State) bool {
		return slices.ContainsFunc(s.Events, func(e pebble.Event) bool { return e.Key == last })
	})
	var names []string
	for i, e := range s.Events {
		names = append(names, string(e.Kind)+" "+map[bool]string{true: e.Key, false: e.Check}[e.Kind == pebble.EventCustom])
		if e.ID == "" || e.Type == "" || i > 0 && !e.LastRepeated.After(s.Events[i-1].LastRepeated) {
			w.t.Errorf("event %d is %+v", i, e)
		}
	}
	return names
}

func wantEvents(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the events are %q, want %q", got, want)
	}
}

func TestHostTheBootIDIsNewWithEachStartOfAFirstProcess(t *testing.T) {
	t.Parallel()
	p := pebbletest.New(t, pebbletest.Options{Init: true})
	w := watch(t, p.Socket, time.Time{})
	must(t, p.Run())
	first := w.answers()
	if first.Version != "v1.32.1" || first.Since.IsZero() || first.Fault != "" {
		t.Errorf("it is %+v", first)
	}
	p.Kill()
	if lost := w.lost(); lost.Version != "" || !lost.Since.IsZero() || lost.Fault != "" {
		t.Errorf("killed it is %+v", lost)
	}
	must(t, p.Run())
	if second := w.answers(); second.Boot == first.Boot || !second.Since.After(first.Since) {
		t.Errorf("it is %+v, and was %+v", second, first)
	}
}

// TestTheBootIDIsTheHostsWhereItIsNotTheFirstProcess is why containers have
// Pebble as PID 1: K-036.
func TestTheBootIDIsTheHostsWhereItIsNotTheFirstProcess(t *testing.T) {
	t.Parallel()
	p := pebbletest.Start(t, pebbletest.Options{})
	w := watch(t, p.Socket, time.Time{})
	first := w.answers()
	must(t, p.Stop())
	w.lost()
	must(t, p.Run())
	if second := w.answers(); second.Boot != first.Boot || !second.Since.Equal(first.Since) {
		t.Errorf("it is %+v, and was %+v", second, first)
	}
}

func TestNoticesAreEventsInOrderAndOnceEach(t *testing.T) {
	t.Parallel()
	p, c := start(t, pebbletest.Options{})
	add(t, c, "example.com/early")
	w := watch(t, p.Socket, time.Time{})
	wantEvents(t, w.events("example.com/early"), "custom example.com/early")
	for _, key := range []string{"a", "b", "c", "a", "a"} {
		add(t, c, "example.com/"+key)
	}
	add(t, c, "example.com/last")
	wantEvents(t, w.events("example.com/last"), "custom example.com/early", "custom example.com/b", "custom example.com/c", "custom example.com/a", "custom example.com/last")
}

func TestEventsThatWereToldOfAreDropped(t *testing.T) {
	t.Parallel()
	p, c := start(t, pebbletest.Options{})
	w := watch(t, p.Socket, time.Time{})
	add(t, c, "example.com/a")
	add(t, c, "example.com/b")
	s := w.until("two events", func(s pebble.State) bool { return len(s.Events) == 2 })
	w.after.Store(&s.Events[0].LastRepeated)
	add(t, c, "example.com/c")
	wantEvents(t, w.events("example.com/c"), "custom example.com/b", "custom example.com/c")
	w.end()
	// An agent that starts anew goes on behind what was told of.
	again := watch(t, p.Socket, s.Events[0].LastRepeated)
	wantEvents(t, again.events("example.com/c"), "custom example.com/b", "custom example.com/c")
}

func TestK075NoticesOfTheSameMomentAreEventsOfTheirOwn(t *testing.T) {
	t.Parallel()
	uid := fmt.Sprint(os.Getuid())
	p, c := start(t, pebbletest.Options{State: notices(given{uid, time.Minute}, given{uid, time.Minute}, given{"1001", time.Minute})})
	w := watch(t, p.Socket, time.Time{})
	s := w.until("three events", func(s pebble.State) bool { return len(s.Events) == 3 })
	for i, e := range s.Events {
		if e.Key != fmt.Sprintf("example.com/n%d", i+1) || i > 0 && !e.LastRepeated.After(s.Events[i-1].LastRepeated) {
			t.Errorf("event %d is %+v", i, e)
		}
	}
	for told := range 3 {
		again := watch(t, p.Socket, s.Events[told].LastRepeated)
		key := fmt.Sprintf("example.com/marker%d", told)
		add(t, c, key)
		if got := again.events(key); slices.Contains(got, "custom "+s.Events[told].Key) || told < 2 && got[0] != "custom "+s.Events[told+1].Key {
			t.Errorf("behind the event %d come %q", told, got)
		}
	}
}

func TestK080NothingIsLostWhenPebbleRestartsDuringTheLongPoll(t *testing.T) {
	t.Parallel()
	p, c := start(t, pebbletest.Options{})
	w := watch(t, p.Socket, time.Time{})
	var want []string
	for i := range 3 {
		before, after := fmt.Sprintf("example.com/before%d", i), fmt.Sprintf("example.com/after%d", i)
		add(t, c, before)
		p.Kill()
		must(t, p.Run())
		add(t, c, after)
		want = append(want, "custom "+before, "custom "+after)
	}
	add(t, c, "example.com/last")
	wantEvents(t, w.events("example.com/last"), append(want, "custom example.com/last")...)
}

// TestANoticeOfAContainerThatWasMadeAnewIsAnEvent is of K-074: the ids begin anew.
func TestANoticeOfAContainerThatWasMadeAnewIsAnEvent(t *testing.T) {
	t.Parallel()
	p, c := start(t, pebbletest.Options{})
	w := watch(t, p.Socket, time.Time{})
	add(t, c, "example.com/a")
	s := w.until("an event", func(s pebble.State) bool { return len(s.Events) == 1 })
	w.after.Store(&s.Events[0].LastRepeated)
	must(t, p.Stop())
	must(t, os.Remove(filepath.Join(p.Dir, ".pebble.state")))
	must(t, p.Run())
	if id := add(t, c, "example.com/a"); id != s.Events[0].ID {
		t.Errorf("the id is %s, and was %s", id, s.Events[0].ID)
	}
	wantEvents(t, w.events("example.com/a"), "custom example.com/a")
}

func TestAPebbleThatHangsIsLostAndFoundAgain(t *testing.T) { // K-059, K-060
	t.Parallel()
	p := pebbletest.Start(t, pebbletest.Options{})
	w := watch(t, p.Socket, time.Time{})
	first := w.answers()
	must(t, p.Halt())
	w.look <- struct{}{}
	if lost := w.lost(); !strings.Contains(lost.Fault, "doesn't answer") {
		t.Errorf("it is %+v", lost)
	}
	must(t, p.Resume())
	if again := w.answers(); again.Boot != first.Boot || !again.Since.Equal(first.Since) || again.Fault != "" {
		t.Errorf("it is %+v, and was %+v", again, first)
	}
}

func TestASocketThatIsRemovedIsNoticed(t *testing.T) { // K-061
	t.Parallel()
	p := pebbletest.Start(t, pebbletest.Options{})
	w := watch(t, p.Socket, time.Time{})
	w.answers()
	must(t, os.Rename(p.Socket, p.Socket+".away"))
	w.look <- struct{}{}
	if lost := w.lost(); lost.Fault != "" {
		t.Errorf("it is %+v", lost)
	}
	must(t, os.Rename(p.Socket+".away", p.Socket))
	w.answers()
}

func TestASocketThatAnswersGarbageIsAFaultFromAStandIn(t *testing.T) { // K-062
	t.Parallel()
	socket := standInAt(t, func(conn net.Conn) {
		request(conn)
		_, _ = conn.Write([]byte("hello"))
	})
	w := watch(t, socket, time.Time{})
	w.until("a fault", func(s pebble.State) bool { return s.Boot == "" && s.Fault != "" })
	p := pebbletest.Start(t, pebbletest.Options{})
	must(t, os.Rename(p.Socket, socket))
	if s := w.answers(); s.Fault != "" {
		t.Errorf("it is %+v", s)
	}
}

func TestK079AnIdlePebbleIsAskedNowAndThen(t *testing.T) {
	t.Parallel()
	p := pebbletest.Start(t, pebbletest.Options{})
	asked := make(chan string, 1000)
	w := watch(t, standInAt(t, func(conn net.Conn) { // on the way to the real one
		real, err := net.Dial("unix", p.Socket)
		if err != nil {
			return
		}
		defer real.Close()
		buf := make([]byte, 64<<10)
		n, _ := conn.Read(buf)
		asked <- strings.Fields(string(buf[:n]))[1]
		_, _ = real.Write(buf[:n])
		go func() { _, _ = io.Copy(real, conn); _ = real.Close() }()
		_, _ = io.Copy(conn, real)
	}), time.Time{})
	w.answers()
	began, whos, polls, surveys := time.Now(), 0, 0, 0
	for whos < 3 {
		switch got := <-asked; {
		case got == "/v1/system-info":
			whos++
		case strings.HasPrefix(got, "/v1/notices"):
			polls++
		case got == "/v1/checks", got == "/v1/services":
			surveys++
		default:
			t.Errorf("it asks for %s", got)
		}
	}
	if idle := time.Since(began); idle < 9*time.Second || polls != 2 || surveys != 2 || len(w.states) != 0 {
		t.Errorf("in %v it has asked three times who answers, %d times for notices, %d times for checks or services, and has reported %d times more", idle, polls, surveys, len(w.states))
	}
}
