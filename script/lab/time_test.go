package lab_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/unitd/unitd/script/lab"
)

// TestTheTimeOfAWorldInAFile goes by the host's clock from when it was written, or
// stands still.
func TestTheTimeOfAWorldInAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "now")
	world := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	host := time.Date(2031, 5, 6, 7, 8, 9, 10, time.UTC)
	for name, test := range map[string]struct{ written, want time.Time }{
		"still": {time.Time{}, world},
		"going": {host, world.Add(time.Minute)},
	} {
		if err := lab.WriteTime(file, world, test.written); err != nil {
			t.Fatal(err)
		}
		if have, err := lab.ReadTime(file, host.Add(time.Minute)); err != nil || !have.Equal(test.want) {
			t.Errorf("%s: it is %v (%v), want %v", name, have, err, test.want)
		}
	}
	if err := os.WriteFile(file, []byte("noon"), 0o600); err != nil {
		t.Fatal(err)
	}
	if have, err := lab.ReadTime(file, host); err == nil {
		t.Errorf("a file without a time has %v", have)
	}
}
