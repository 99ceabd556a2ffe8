package journal

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

const unit, id = "app/0", "an-id"

func open(t testing.TB, dir string) (*Journal, resolver.Local) {
	t.Helper()
	j, l, err := Open(durable.Disk{}, dir, unit, id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j, l
}

func pendingRun(n int64) resolver.Local {
	l := resolver.New(unit)
	l.ID, l.Run = id, n
	l.Current = &resolver.Current{Hook: hooks.Info{Kind: hooks.Install}, Run: n, Step: resolver.Pending}
	return l
}

func TestANewJournalIsOfAnAgentThatHasDoneNothing(t *testing.T) {
	t.Parallel()
	_, l := open(t, t.TempDir())
	if l.Unit != unit || l.Run != 0 || l.Seen.LeaderSettings != resolver.NeverTold {
		t.Fatalf("got %+v", l)
	}
}

func TestTheNewestRecordIsWhatIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _ := open(t, dir)
	for n := int64(1); n <= 5; n++ {
		if err := j.Store(pendingRun(n)); err != nil {
			t.Fatal(err)
		}
		_, l := open(t, dir)
		if l.Run != n || l.Current == nil || l.Current.Run != n {
			t.Fatalf("after storing run %d found %+v", n, l)
		}
	}
}

func TestAShorterRecordOverALongerOneIsReadWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _ := open(t, dir)
	long := pendingRun(1)
	long.Charm = fmt.Sprintf("%04000d", 7)
	for _, l := range []resolver.Local{long, long, pendingRun(3), pendingRun(4)} {
		if err := j.Store(l); err != nil {
			t.Fatal(err)
		}
	}
	if _, l := open(t, dir); l.Run != 4 || l.Charm != "" {
		t.Fatalf("got %+v", l)
	}
}

func TestTwoDamagedSlotsAreRefusedByName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 2 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("journal-%d", i)), []byte("rubbish"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := Open(durable.Disk{}, dir, unit, id)
	if !errors.Is(err, ErrCorrupt) {
		t.Fatalf("got %v", err)
	}
}

func TestReadMakesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, there, err := Read(dir); there || err != nil {
		t.Fatalf("got %t, %v", there, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Fatalf("made %v, %v", entries, err)
	}
	j, _ := open(t, dir)
	if err := j.Store(pendingRun(1)); err != nil {
		t.Fatal(err)
	}
	if l, there, err := Read(dir); !there || err != nil || l.ID != id {
		t.Fatalf("got %+v, %t, %v", l, there, err)
	}
}

func TestAnotherUnitsJournalIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _ := open(t, dir)
	if err := j.Store(pendingRun(1)); err != nil {
		t.Fatal(err)
	}
	for _, other := range [][2]string{{"other/0", id}, {unit, "another-id"}, {unit, ""}} {
		if _, _, err := Open(durable.Disk{}, dir, model.UnitName(other[0]), other[1]); !errors.Is(err, errors.NotValid) {
			t.Errorf("%v: got %v", other, err)
		}
	}
}

func TestEachRecordIsOneSync(t *testing.T) {
	t.Parallel()
	j, _ := open(t, t.TempDir())
	syncs := 0
	j.io.sync = func(f *durable.File) error { syncs++; return f.SyncData() }
	for n := int64(1); n <= 10; n++ {
		if err := j.Store(pendingRun(n)); err != nil {
			t.Fatal(err)
		}
	}
	if syncs != 10 {
		t.Fatalf("%d syncs for 10 records", syncs)
	}
}

func BenchmarkStore(b *testing.B) {
	j, _ := open(b, b.TempDir())
	l := pendingRun(1)
	for b.Loop() {
		if err := j.Store(l); err != nil {
			b.Fatal(err)
		}
	}
}

// Version 1 had whole records only, each in the slot that the one before it
// isn't in.
func TestAJournalOfTheVersionBeforeIsReadOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for slot, n := range []int64{7, 6} {
		body, err := json.Marshal(pendingRun(n))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, slotPath(dir, slot), fmt.Appendf(nil, "unitd-journal 1 %d %d %08x\n%s\n", n, len(body), checksum(uint64(n), body), body))
	}
	j, l := open(t, dir)
	if l.Run != 7 {
		t.Fatalf("found run %d", l.Run)
	}
	for n := int64(8); n < 11; n++ {
		if err := j.Store(pendingRun(n)); err != nil {
			t.Fatal(err)
		}
		if run, err := found(t, dir); run != n || err != nil {
			t.Fatalf("stored run %d and found %d, %v", n, run, err)
		}
	}
}

// TestAJournalFromBeforeContainersIsRead: what an older unitd has stored lacks all
// that is about them, and what a newer one then stores is found.
func TestAJournalFromBeforeContainersIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := `{"unit":"app/0","id":"an-id","run":4,"charm":"ch:app-1","current":{"hook":{"kind":"start","cause":"first config-changed has run"},` +
		`"run":4,"step":"failed","seen":{"config":"1","leader-settings":0},"failure":{"message":"exit status 1","exit":1,"at":"2026-01-02T12:00:00Z"},"attempts":1},` +
		`"installed":true,"configured":true,"seen":{"config":"1","leader-settings":0}}`
	b, err := encode(wholeWord, 9, json.RawMessage(old))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "journal-0"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	j, l := open(t, dir)
	if l.Run != 4 || l.Current == nil || l.Current.Aside || l.Workloads != nil || l.Pod != 0 || !l.Configured {
		t.Fatalf("found %+v", l)
	}
	l.Current, l.Pod = nil, 1
	l.Workloads = map[string]resolver.WorkloadTold{"web": {Boot: "b1"}}
	if err := j.Store(l); err != nil {
		t.Fatal(err)
	}
	if found, there, err := Read(dir); err != nil || !there || asJSON(t, found) != asJSON(t, l) {
		t.Fatalf("stored %s, found %s (%v)", asJSON(t, l), asJSON(t, found), err)
	}
}

// TestFewFilesAreOpenHoweverManyJournalsThereAre: those that were let go are opened
// again when there is something to write, if they are still the same.
func TestFewFilesAreOpenHoweverManyJournalsThereAre(t *testing.T) {
	t.Parallel()
	few := &shelf{room: 3}
	var all []*Journal
	for range 10 {
		j, _ := open(t, t.TempDir())
		j.shelf = few
		all = append(all, j)
	}
	isOpen := func() (n int) {
		for _, j := range all {
			if j.file.file != nil {
				n++
			}
		}
		return n
	}
	for n := int64(1); n <= 8; n++ {
		for _, j := range all {
			if err := j.Store(pendingRun(n)); err != nil {
				t.Fatal(err)
			}
			if l, there, err := Read(j.dir); err != nil || !there || l.Run != n {
				t.Fatalf("stored run %d, found %+v, %t, %v", n, l, there, err)
			}
		}
		if got := isOpen(); got != few.room {
			t.Fatalf("%d files are open", got)
		}
	}
	// The first was let go; another file is at its place by now.
	first := slotPath(all[0].dir, all[0].newest)
	writeFile(t, first+".copy", readFile(t, first))
	if err := os.Rename(first+".copy", first); err != nil {
		t.Fatal(err)
	}
	if err := all[0].Store(pendingRun(9)); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("another file was written to: %v", err)
	}
	for _, j := range all {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(few.open) > 0 || isOpen() > 0 {
		t.Fatalf("%d files are open after all", isOpen())
	}
}

// TestJournalsShareTheirPlaceAtOnce has many units write at the same time.
func TestJournalsShareTheirPlaceAtOnce(t *testing.T) {
	t.Parallel()
	few := &shelf{room: 2}
	var group sync.WaitGroup
	var last *Journal
	for range 12 {
		j, _ := open(t, t.TempDir())
		j.shelf, last = few, j
		group.Go(func() {
			for n := int64(1); n <= 20; n++ {
				if err := j.Store(pendingRun(n)); err != nil {
					t.Error(err)
				}
				if l, _, err := Read(j.dir); err != nil || l.Run != n {
					t.Errorf("stored run %d, found %d, %v", n, l.Run, err)
				}
			}
		})
	}
	group.Wait()
	if err := last.Store(pendingRun(21)); err != nil { // nobody else uses one now
		t.Fatal(err)
	}
	if len(few.open) > few.room {
		t.Errorf("%d files are open", len(few.open))
	}
}
