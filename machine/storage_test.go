package machine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/storage"
)

// TestStorageIsMountedWhereTheCharmWantsIt is the whole way of storage that has
// to be mounted: provided, told, found again by the next agent, let go, removed.
func TestStorageIsMountedWhereTheCharmWantsIt(t *testing.T) {
	t.Parallel()
	probe := t.TempDir()
	if !storage.MayMount() || exec.Command("mount", "-t", "tmpfs", "tmpfs", probe).Run() != nil {
		t.Skip("file systems can't be mounted here")
	}
	if err := exec.Command("umount", probe).Run(); err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(t.TempDir(), "srv", "data")
	for _, pool := range []string{model.RootFS, model.TmpFS, model.Loop} {
		t.Run(pool, func(t *testing.T) {
			w := newWorldWith(t, func(c *machine.Config) { c.Mounts = true })
			url := w.charm("name: app\nstorage: {data: {type: filesystem, location: "+place+"}}", `
				echo "$JUJU_HOOK_NAME ${JUJU_STORAGE_LOCATION:-}" >> "$JUJU_CHARM_DIR/../told"
				case $JUJU_HOOK_NAME in data-storage-attached) echo kept > "$JUJU_STORAGE_LOCATION/file";; esac`)
			err := w.model.Deploy(w.ctx, state.DeployArgs{Application: "app", Charm: url, Units: 1,
				Storage: map[string]model.StorageDirective{"data": {Pool: pool, Size: 8}}})
			if err != nil {
				t.Fatal(err)
			}
			w.settle()
			is(t, "what the charm has written", read(filepath.Join(place, "file")), "kept\n")
			w.stop()
			// As after a reboot.
			if out, err := exec.Command("umount", place).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			w.restart()
			w.settle()
			if want := map[bool]string{true: "", false: "kept\n"}[pool == model.TmpFS]; read(filepath.Join(place, "file")) != want {
				t.Errorf("after the reboot it has %q, want %q", read(filepath.Join(place, "file")), want)
			}
			told := read(filepath.Join(w.unitDir("app/0"), "told"))
			if n := strings.Count(told, "data-storage-attached "+place+"\n"); n != 1 {
				t.Errorf("told %d times: %s", n, told)
			}
			if err := w.model.ForceUnitWith(w.ctx, "app/0", state.Orderly, state.StorageDestroyed); err != nil {
				t.Fatal(err)
			}
			w.settle()
			if _, err := os.Stat(place); !os.IsNotExist(err) {
				t.Errorf("the place is still there: %v", err)
			}
			all, err := w.model.Storage(w.ctx)
			if err != nil || len(all) > 0 {
				t.Errorf("in the model: %+v, %v", all, err)
			}
			left, err := os.ReadDir(machine.StorageDir(w.dir, w.model.UUID()))
			if err != nil || len(left) > 0 {
				t.Errorf("on disk: %v, %v", left, err)
			}
		})
	}
}

func read(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

func is(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}
