package journal

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// TestADamagedSlotLeavesTheOtherOrIsRefused flips each bit of each slot, and
// cuts each off at each byte: what is found is a record that was stored, the
// newest unless it is the one that is damaged; else the error says in a line
// which file it is about.
func TestADamagedSlotLeavesTheOtherOrIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _ := open(t, dir)
	const newest = 4
	for n := int64(1); n <= newest; n++ {
		if err := j.Store(pendingRun(n)); err != nil {
			t.Fatal(err)
		}
	}
	for slot, path := range []string{filepath.Join(dir, "journal-0"), filepath.Join(dir, "journal-1")} {
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		try := func(bad []byte) {
			t.Helper()
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			j, l, err := Open(durable.Disk{}, dir, unit, id)
			if err != nil {
				if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
					t.Errorf("slot %d is %q: %v", slot, bad, err)
				}
				return
			}
			j.Close()
			if l.Run != newest && (l.Run != newest-1 || slot != (newest-1)%2) {
				t.Errorf("slot %d is %q: found run %d", slot, bad, l.Run)
			}
		}
		for i := range good {
			try(good[:i])
			for bit := range 8 {
				bad := slices.Clone(good)
				bad[i] ^= 1 << bit
				try(bad)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
