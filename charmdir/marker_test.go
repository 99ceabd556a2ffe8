package charmdir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unitd/unitd/durable"
)

// TestADamagedMarkerNamesNoOtherCharm: wherever a byte of it differs, or it is
// cut off, the charm is the one that was deployed, or none: one that nobody has
// could not be upgraded from.
func TestADamagedMarkerNamesNoOtherCharm(t *testing.T) {
	t.Parallel()
	d := NewDeployer(durable.Disk{}, t.TempDir())
	must(t, d.Deploy(t.Context(), archives(t)[oldURL], oldURL))
	path := filepath.Join(d.Path(), markerName)
	good, err := os.ReadFile(path)
	must(t, err)
	whole, err := d.marker()
	must(t, err)
	check := func(bad []byte) {
		t.Helper()
		must(t, os.WriteFile(path, bad, 0o600))
		m, err := d.marker()
		if err != nil || m.URL != "" && (m.URL != oldURL || !slices.Equal(m.Files, whole.Files)) {
			t.Errorf("%q: got %+v, %v", bad, m, err)
		}
	}
	for i := range good {
		check(good[:i])
		for bit := range 8 {
			bad := slices.Clone(good)
			bad[i] ^= 1 << bit
			check(bad)
		}
	}
}
