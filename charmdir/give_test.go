package charmdir

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/unitd/unitd/durable"
)

func TestACharmIsGivenToAUserAndWhatHooksHaveMadeStaysTheirs(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("it needs root to give files away")
	}
	dir := t.TempDir()
	d := NewDeployer(durable.Disk{}, dir)
	d.Give(170, 171)
	must(t, d.Deploy(t.Context(), oldCharm().archive(t), oldURL))
	must(t, os.WriteFile(filepath.Join(d.Path(), "made"), nil, 0o644))
	must(t, os.Chown(filepath.Join(d.Path(), "made"), 5, 6))
	must(t, d.Deploy(t.Context(), newCharm().archive(t), newURL))
	for name, want := range map[string][2]uint32{".": {170, 171}, "dispatch": {170, 171}, "full": {170, 171}, "hooks": {170, 171}, "hooks/install": {170, 171}, "made": {5, 6}} {
		st, err := os.Lstat(filepath.Join(d.Path(), name))
		must(t, err)
		if own := st.Sys().(*syscall.Stat_t); own.Uid != want[0] || own.Gid != want[1] {
			t.Errorf("%s is %d:%d's", name, own.Uid, own.Gid)
		}
	}
}
