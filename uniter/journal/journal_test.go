package journal

import (
	"fmt"
	"os"
	"path/filepath"
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

// TestARecordCutOffAtAnyByteLeavesTheOneBefore writes the first n bytes of a
// record over the older slot, as a machine does that stops in the middle.
func TestARecordCutOffAtAnyByteLeavesTheOneBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _ := open(t, dir)
	for n := int64(1); n <= 3; n++ {
		if err := j.Store(pendingRun(n)); err != nil {
			t.Fatal(err)
		}
	}
	older := j.slots[j.next].Name()
	before, err := os.ReadFile(older)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 0; ; cut++ {
		var done bool
		j.io.writeAt = func(f *durable.File, b []byte, off int64) error {
			if cut >= len(b) {
				done = true
				return errors.New("cut after the last byte")
			}
			if _, err := f.WriteAt(b[:cut], off); err != nil {
				t.Fatal(err)
			}
			return errors.New("cut")
		}
		if err := j.Store(pendingRun(4)); err == nil {
			t.Fatal("a failed write was reported as stored")
		}
		if done {
			break
		}
		if _, l := open(t, dir); l.Run != 3 && l.Run != 4 {
			t.Fatalf("cut at %d: found run %d", cut, l.Run)
		}
		if err := os.WriteFile(older, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnyFlippedByteLeavesAGoodRecordOrIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _ := open(t, dir)
	for n := int64(1); n <= 2; n++ {
		if err := j.Store(pendingRun(n)); err != nil {
			t.Fatal(err)
		}
	}
	for slot := range 2 {
		path := filepath.Join(dir, fmt.Sprintf("journal-%d", slot))
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range good {
			bad := append([]byte(nil), good...)
			bad[i] ^= 0x11
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			j, l, err := Open(durable.Disk{}, dir, unit, id)
			switch {
			case errors.Is(err, ErrNewer):
			case err != nil:
				t.Fatalf("slot %d byte %d: %v", slot, i, err)
			case l.Run != 1 && l.Run != 2:
				t.Fatalf("slot %d byte %d: found %+v", slot, i, l)
			default:
				j.Close()
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
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

// A first record that was cut off announced what had not begun.
func TestAFirstRecordThatWasCutOffIsTakenAsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _ := open(t, dir)
	if err := j.Store(pendingRun(1)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "journal-0")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole[:len(whole)-1] { // the newline isn't missed
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, there, err := Read(dir); there || err != nil {
			t.Fatalf("cut at %d: Read says %t, %v", cut, there, err)
		}
		j, l := open(t, dir)
		if l.ID != id || l.Run != 0 {
			t.Fatalf("cut at %d: found %+v", cut, l)
		}
		if err := j.Store(pendingRun(9)); err != nil {
			t.Fatal(err)
		}
		if _, l := open(t, dir); l.Run != 9 {
			t.Fatalf("cut at %d: stored run 9 and found %+v", cut, l)
		}
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

func FuzzRead(f *testing.F) {
	f.Add([]byte("unitd-journal 1 1 2 00000000\n{}\n"))
	f.Add([]byte("unitd-journal 9 1 2 00000000\n{}\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "journal-0")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if r, err := read(file); err == nil && r != nil && r.generation == 0 {
			t.Skip()
		}
	})
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
