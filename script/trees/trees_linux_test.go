package trees_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/script/trees"
)

// nextTick waits until the kernel's clock has gone on.
func nextTick(t *testing.T) {
	t.Helper()
	var began, now unix.Timespec
	for now == began {
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
			t.Fatal(err)
		}
		if began == (unix.Timespec{}) {
			began = now
		}
	}
}

// TestWhatIsWrittenByWayOfMemoryIsSeen: by a process that has the file mapped all along, which changes the file's time
// once at most.
func TestWhatIsWrittenByWayOfMemoryIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := trees.New(dir, filepath.Join(t.TempDir(), "pool"))
	path := filepath.Join(dir, "file")
	write(t, path, "0")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	var all []*trees.Moment
	for i := range 5 {
		b[0] = '0' + byte(i)
		m, err := k.Keep(true, nothing)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
		nextTick(t)
	}
	if err := unix.Munmap(b); err != nil {
		t.Fatal(err)
	}
	for i, m := range all {
		restore(t, k, m)
		if b, err := os.ReadFile(path); err != nil || string(b) != fmt.Sprint(i) {
			t.Errorf("%v: at moment %d the file is %q", err, i, b)
		}
	}
}
