package history_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

func TestAnEntryHasTheFirstCallsAndCountsAll(t *testing.T) {
	t.Parallel()
	e := entry(1, hooks.Start)
	long := strings.Repeat("k", 100)
	e.AddCall(history.Call{Tool: "relation-set", Args: []string{"-r", "db:1", long, long}})
	for range 500 {
		e.AddCall(history.Call{Tool: "juju-log", Code: 1, At: time.Second, Took: time.Millisecond})
	}
	if e.Tools != 501 || len(e.Calls) != history.MaxCalls {
		t.Errorf("%d of %d calls", len(e.Calls), e.Tools)
	}
	if got, want := e.Calls[0].String(), "relation-set -r db:1 "+long+" …"; got != want {
		t.Errorf("the first call: %q, want %q", got, want)
	}
}

// TestTheLongestEntryIsFoundByLast: Last looks at the end of the file only.
func TestTheLongestEntryIsFoundByLast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := entry(7, hooks.ConfigChanged)
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("%s%d", strings.Repeat("<", 250), i))
		e.AddCall(history.Call{Tool: "config-get", Args: []string{strings.Repeat("<", 119)}})
	}
	e.SetChanged(names)
	add(t, dir, entry(6, hooks.Start), e)
	if last, err := history.Last(dir, "shop/0"); err != nil || last.Run != 7 || len(last.Calls) != history.MaxCalls || len(last.Changed) > 10 {
		t.Errorf("the last: run %d with %d calls and %d changes, %v", last.Run, len(last.Calls), len(last.Changed), err)
	}
}

func TestCauseNamesWhatHasChanged(t *testing.T) {
	t.Parallel()
	e := history.Entry{Hook: hooks.Info{Kind: hooks.ConfigChanged, Cause: "configuration changed"}}
	if got := e.Cause(); got != "configuration changed" {
		t.Errorf("got %q", got)
	}
	e.SetChanged([]string{"port", "title"})
	if got := e.Cause(); got != "configuration changed: port, title" {
		t.Errorf("got %q", got)
	}
}

func TestWrittenCountsBytes(t *testing.T) {
	t.Parallel()
	value := "12345"
	w := history.WrittenBy(model.Changes{
		Relations:      map[model.RelationID]model.RelationChange{1: {Unit: model.Settings{"ab": "cd"}, Application: model.Settings{"e": "f"}}, 2: {}},
		State:          map[string]*string{"s": &value, "gone": nil},
		LeaderSettings: model.Settings{"l": "m"},
		Ports:          make([]model.PortChange, 2),
		Secrets:        []model.SecretChange{{ID: "new", Content: model.SecretContent{"k": "v"}}, {ID: "read", Track: true}},
	})
	want := history.Written{Databags: 6, Leader: 2, State: 10, Ports: 2, Bags: []model.RelationID{1}, AppBags: []model.RelationID{1}, Secrets: []model.SecretID{"new"}}
	if !reflect.DeepEqual(w, want) || w.IsZero() || !(history.Written{}).IsZero() {
		t.Errorf("got %+v, want %+v", w, want)
	}
	if got, want := w.String(), "6 bytes in databags, 2 bytes in leader settings, 10 bytes of state, 2 ports"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEntriesOfEarlierVersionsAreRead, which had less to tell.
func TestEntriesOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	line := `{"unit":"shop/0","id":"x","run":3,"hook":{"kind":"start","cause":"first config-changed has run"},"name":"start",` +
		`"outcome":"failed","exit":2,"message":"exit status 2","started":"2026-03-03T09:00:00Z","duration":1000000,"tools":4}` + "\n"
	if err := os.WriteFile(history.Path(dir, "shop/0"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, err := history.Read(dir, "shop/0")
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	want := history.Entry{
		Unit: "shop/0", ID: "x", Run: 3, Hook: hooks.Info{Kind: hooks.Start, Cause: "first config-changed has run"}, Name: "start",
		Outcome: history.Failed, Exit: 2, Message: "exit status 2", Started: time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC),
		Duration: time.Millisecond, Tools: 4,
	}
	if !reflect.DeepEqual(entries[0], want) {
		t.Errorf("got %+v, want %+v", entries[0], want)
	}
}
