package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// stored is a journal of so many records, the first of which is whole, and the
// rest changes in the same slot. before is how many records went into the
// other slot earlier.
func stored(t testing.TB, before, records int64) (dir string) {
	t.Helper()
	dir = t.TempDir()
	n := int64(0)
	for _, count := range []int64{before, records} {
		if count == 0 {
			continue
		}
		j, _ := open(t, dir)
		for range count {
			n++
			if err := j.Store(pendingRun(n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// slotPath is where the slot is, and written what it has but for the room at its
// end.
func slotPath(dir string, slot int) string {
	return filepath.Join(dir, []string{"journal-0", "journal-1"}[slot])
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return b
}

func writeFile(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func written(b []byte) []byte { return bytes.TrimRight(b, "\x00") }

// found is the run that the journal in dir ends with.
func found(t testing.TB, dir string) (run int64, err error) {
	t.Helper()
	j, l, err := Open(durable.Disk{}, dir, unit, id)
	if err != nil {
		return 0, err
	}
	return l.Run, j.Close()
}

// TestARecordCutOffAtAnyByteLeavesTheOneBefore writes the first n bytes of a
// record, as a machine does that stops in the middle.
func TestARecordCutOffAtAnyByteLeavesTheOneBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		before, records int64
		reopen          bool // the next record is a whole one
	}{
		{"the first change", 0, 1, false},
		{"a later change", 0, 4, false},
		{"a change in the second slot", 3, 4, false},
		{"the second whole record", 0, 1, true},
		{"a whole record after changes", 0, 4, true},
		{"a whole record over an older slot", 4, 4, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := stored(t, c.before, c.records-1)
			j, _ := open(t, dir)
			last := c.before + c.records
			if err := j.Store(pendingRun(last)); err != nil {
				t.Fatal(err)
			}
			if c.reopen {
				j, _ = open(t, dir)
			}
			before := j.progress
			good := [][]byte{readFile(t, slotPath(dir, 0)), readFile(t, slotPath(dir, 1))}
			for cut, size := 0, 1; cut <= size; cut++ {
				want := last
				j.progress = before
				j.io.writeAt = func(f *durable.File, b []byte, off int64) error {
					size = len(written(b))
					if _, err := f.WriteAt(b[:cut], off); err != nil {
						t.Fatal(err)
					}
					// What was there before may go on as the record does; and the
					// newline at its end isn't missed.
					if bytes.HasPrefix(readFile(t, f.Name())[off:], b[:size-1]) {
						want = last + 1
					}
					return errors.New("cut")
				}
				if err := j.Store(pendingRun(last + 1)); err == nil {
					t.Fatal("a failed write was reported as stored")
				}
				if run, err := found(t, dir); err != nil || run != want {
					t.Fatalf("cut at %d: found run %d, %v; want %d", cut, run, err, want)
				}
				for slot, b := range good {
					restore(t, slotPath(dir, slot), b)
				}
			}
		})
	}
}

// restore makes the beginning of a file what it was; the room after it is zeros
// again if it was none.
func restore(t *testing.T, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b[:min(len(b), 8192)], 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(f.Name(), int64(len(b))); err != nil {
		t.Fatal(err)
	}
}

// flip damages one byte of a file, or mends it.
func flip(t *testing.T, path string, at int, good byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, int64(at)); err != nil {
		t.Fatal(err)
	}
	if b[0] == good {
		good ^= 0x11
	}
	if _, err := f.WriteAt([]byte{good}, int64(at)); err != nil {
		t.Fatal(err)
	}
}

// TestAnyDamagedByteIsNoticedUnlessNothingNewerIsLost flips each byte of both
// slots. In the newest record it can't be told from a record that was cut off.
func TestAnyDamagedByteIsNoticedUnlessNothingNewerIsLost(t *testing.T) {
	t.Parallel()
	for _, before := range []int64{0, 3} {
		dir := stored(t, before, 4)
		last := before + 4
		newest := 0
		if before > 0 {
			newest = 1
		}
		for slot := range 2 {
			path := slotPath(dir, slot)
			good := readFile(t, path)
			newestRecord := max(bytes.LastIndex(good, []byte(changeWord)), 0)
			for i := range written(good) {
				flip(t, path, i, good[i])
				run, err := found(t, dir)
				flip(t, path, i, good[i])
				ok := run == last
				switch {
				case slot == newest && i < newestRecord:
					// The newline after a record isn't missed.
					ok = errors.Is(err, ErrCorrupt) || errors.Is(err, ErrNewer) || ok && good[i] == '\n'
				case slot == newest:
					ok = err == nil && run >= last-1 || errors.Is(err, ErrNewer)
				default:
					ok = ok || errors.Is(err, ErrNewer)
				}
				if !ok {
					t.Fatalf("slot %d byte %d of %d: found run %d, %v", slot, i, len(written(good)), run, err)
				}
			}
		}
	}
}

func TestARecordThatIsDamagedBeforeOthersIsRefusedByTheFilesName(t *testing.T) {
	t.Parallel()
	for _, what := range []string{wholeWord, changeWord} {
		dir := stored(t, 0, 4)
		path := slotPath(dir, 0)
		b := readFile(t, path)
		b[bytes.Index(b, []byte(what))+len(what)+20] ^= 1
		writeFile(t, path, b)
		_, err := found(t, dir)
		if !errors.Is(err, ErrCorrupt) || !bytes.Contains([]byte(err.Error()), []byte(path)) {
			t.Errorf("%s: got %v", what, err)
		}
		if _, _, err := Read(dir); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: Read says %v", what, err)
		}
	}
}

// A first record that was cut off announced what had not begun.
func TestAFirstRecordThatWasCutOffIsTakenAsNone(t *testing.T) {
	t.Parallel()
	dir := stored(t, 0, 1)
	path := slotPath(dir, 0)
	whole := written(readFile(t, path))
	for cut := range whole[:len(whole)-1] { // the newline isn't missed
		for _, room := range []int{0, 100} {
			writeFile(t, path, append(bytes.Clone(whole[:cut]), make([]byte, room)...))
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
			if run, err := found(t, dir); run != 9 || err != nil {
				t.Fatalf("cut at %d: stored run 9 and found %d, %v", cut, run, err)
			}
		}
	}
}

// After a record that couldn't be written nobody knows what is there; what is
// stored then is found all the same.
func TestWhatIsStoredAfterAFailureIsFound(t *testing.T) {
	t.Parallel()
	for _, records := range []int64{0, 1, 5} {
		for _, part := range []int{0, 1, 40, 4096} {
			dir := stored(t, 0, records)
			j, _ := open(t, dir)
			if records > 1 {
				if err := j.Store(pendingRun(records)); err != nil {
					t.Fatal(err)
				}
			}
			real := j.io
			j.io.writeAt = func(f *durable.File, b []byte, off int64) error {
				if _, err := f.WriteAt(b[:min(part, len(b))], off); err != nil {
					t.Fatal(err)
				}
				return errors.New("no")
			}
			if err := j.Store(pendingRun(50)); err == nil {
				t.Fatal("a failed write was reported as stored")
			}
			j.io = real
			for n := int64(51); n < 55; n++ {
				if err := j.Store(pendingRun(n)); err != nil {
					t.Fatal(err)
				}
				if run, err := found(t, dir); run != n || err != nil {
					t.Fatalf("after %d bytes of a failed record: stored run %d and found %d, %v", part, n, run, err)
				}
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("unitd-journal 1 1 2 00000000\n{}\n"))
	f.Add([]byte("unitd-journal 9 1 2 00000000\n{}\n"))
	f.Add(written(readFile(f, slotPath(stored(f, 0, 3), 0))))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "journal-0")
		writeFile(t, path, b)
		file, err := durable.Disk{}.OpenFile(path, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if s, err := readSlot(file); err == nil && s.generation == 0 && !s.empty && len(b) > 0 {
			t.Skip() // a record number 0, which nobody writes
		}
	})
}
