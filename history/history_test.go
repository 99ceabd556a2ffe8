package history_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

func entry(run int64, kind hooks.Kind) history.Entry {
	return history.Entry{
		Unit: "shop/0", Run: run, Hook: hooks.Info{Kind: kind, RelationID: model.NoRelation}, Outcome: history.Committed,
		Started: time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC), Duration: time.Millisecond,
	}
}

func names(entries []history.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name)
	}
	return out
}

func add(t *testing.T, dir string, entries ...history.Entry) {
	t.Helper()
	for _, e := range entries {
		if err := history.Append(dir, e); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatWasAppendedIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if entries, err := history.Read(dir, "shop/0"); err != nil || len(entries) != 0 {
		t.Fatalf("of no unit: %v, %v", entries, err)
	}
	if last, err := history.Last(dir, "shop/0"); err != nil || last.Run != 0 {
		t.Fatalf("the last of none: %v, %v", last, err)
	}
	add(t, dir, entry(1, hooks.Install), entry(2, hooks.Start))
	entries, err := history.Read(dir, "shop/0")
	if err != nil || !slices.Equal(names(entries), []string{"install", "start"}) {
		t.Fatalf("%v, %v", names(entries), err)
	}
	want := entry(2, hooks.Start)
	want.Name = "start"
	if !reflect.DeepEqual(entries[1], want) {
		t.Fatalf("%+v, want %+v", entries[1], want)
	}
	if last, err := history.Last(dir, "shop/0"); err != nil || !reflect.DeepEqual(last, want) {
		t.Fatalf("the last is %+v, %v", last, err)
	}
	if other, err := history.Read(dir, "shop/1"); err != nil || len(other) != 0 {
		t.Fatalf("of another unit: %v, %v", other, err)
	}
}

func TestALineThatWasCutOffIsLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	add(t, dir, entry(1, hooks.Install))
	f, err := os.OpenFile(history.Path(dir, "shop/0"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"unit":"shop/0","ru`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if entries, err := history.Read(dir, "shop/0"); err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	add(t, dir, entry(2, hooks.Start))
	if entries, err := history.Read(dir, "shop/0"); err != nil || !slices.Equal(names(entries), []string{"install", "start"}) {
		t.Fatalf("after another run: %v, %v", entries, err)
	}
}

func TestALongHistoryIsSetAside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := entry(1, hooks.Install)
	long.Message = strings.Repeat("x", 5<<20)
	add(t, dir, long, entry(2, hooks.Start), entry(3, hooks.Stop))
	st, err := os.Stat(history.Path(dir, "shop/0"))
	if err != nil || st.Size() > 4096 {
		t.Fatalf("%v bytes, %v", st.Size(), err)
	}
	entries, err := history.Read(dir, "shop/0")
	if err != nil || !slices.Equal(names(entries), []string{"install", "start", "stop"}) {
		t.Fatalf("%v, %v", names(entries), err)
	}
}
