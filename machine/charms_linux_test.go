package machine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// sharingDir is a directory on a file system whose files can share their bytes: btrfs,
// which the test makes in a file.
func sharingDir(t testing.TB) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("it needs root to mount a file system")
	}
	if _, err := exec.LookPath("mkfs.btrfs"); err != nil {
		t.Skip("there is no mkfs.btrfs: apt-get install btrfs-progs")
	}
	above := t.TempDir()
	image, dir := filepath.Join(above, "image"), filepath.Join(above, "dir")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 1<<30); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.btrfs", "-q", image).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
		t.Skipf("the kernel mounts no such file system: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return dir
}

// TestHostUnitsOfOneCharmShareItsBytes deploys many units, upgrades and removes them, on
// a file system whose files can share bytes.
func TestHostUnitsOfOneCharmShareItsBytes(t *testing.T) {
	t.Parallel()
	if etcdtest.OnEtcd() {
		t.Skip("the disk of another store isn't asked about")
	}
	dir := sharingDir(t)
	if !machine.SharesCharms(dir) {
		t.Fatal("it is not seen that bytes can be shared")
	}
	w := newWorldOn(t, dir, etcdtest.Open(t, filepath.Join(dir, "store.db")), nil)
	w.configure = func(c *machine.Config) { c.LeaseTime = 300 * time.Millisecond }
	const units, size = 20, 8 << 20
	urls := []string{w.largeCharm("one", size), w.largeCharm("two", size)}
	before := used(t, dir)
	w.deploy("many", urls[0], units)
	w.restart()
	w.settle()
	took := used(t, dir) - before
	t.Logf("%d units of a charm of %.0f MB take %.0f MB", units, size/1e6, float64(took)/1e6)
	if took > units*size/2 {
		t.Errorf("%d units of a charm of %d bytes take %d bytes", units, size, took)
	}
	// What one writes in place, as root, no other one has.
	mine := filepath.Join(w.unitDir("many/0"), "charm", "large")
	if err := os.Truncate(mine, 10); err != nil {
		t.Fatal(err)
	}
	for _, unit := range []model.UnitName{"many/1", "many/19"} {
		if st, err := os.Stat(filepath.Join(w.unitDir(unit), "charm", "large")); err != nil || st.Size() != size {
			t.Errorf("%s: %v, %v", unit, st, err)
		}
	}
	if err := w.model.SetCharm(w.ctx, "many", urls[1], false); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.charmsAre(1)
	w.stop()
	w.restart()
	w.charmsAre(1)
	if _, err := w.model.DestroyApplication(w.ctx, "many"); err != nil {
		t.Fatal(err)
	}
	w.until("it is gone", func(s *state.FullStatus) bool { return len(s.Applications) == 0 })
	w.charmsAre(0)
}

// largeCharm makes a charm with a file of that size.
func (w *world) largeCharm(version string, size int) string {
	dir := w.t.TempDir()
	writeTo(w.t, dir, "metadata.yaml", []byte("name: many\nsummary: s\n"))
	writeTo(w.t, dir, "version", []byte(version))
	writeTo(w.t, dir, "large", noise(size))
	return w.add(dir)
}

// charmsAre waits until so many charms are unpacked for all units.
func (w *world) charmsAre(want int) {
	w.t.Helper()
	watch := time.NewTicker(10 * time.Millisecond)
	defer watch.Stop()
	for {
		entries, err := os.ReadDir(filepath.Join(w.dir, "charms"))
		if err != nil && !os.IsNotExist(err) {
			w.t.Fatal(err)
		}
		if len(entries) == want {
			return
		}
		select {
		case <-watch.C:
		case <-w.ctx.Done():
			w.t.Fatalf("the host keeps %v, not %d charms", entries, want)
		}
	}
}
