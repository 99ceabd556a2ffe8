package machine_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/storage"
)

const keepingCharm = `name: %
storage: {data: {type: filesystem}}`

// pools are those that storage can be made of here.
func pools(t *testing.T) []string {
	t.Helper()
	probe := t.TempDir()
	if !storage.MayMount() || exec.Command("mount", "-t", "tmpfs", "tmpfs", probe).Run() != nil {
		return []string{model.RootFS}
	}
	if err := exec.Command("umount", probe).Run(); err != nil {
		t.Fatal(err)
	}
	return []string{model.RootFS, model.TmpFS, model.Loop}
}

// keeps has a unit with storage of each pool on the host's machine: data/0, data/1…
func (h *host) keeps(main *host, pools []string) (store string) {
	h.t.Helper()
	for _, pool := range pools {
		charm := main.charm(strings.ReplaceAll(keepingCharm, "%", pool), `
			case $JUJU_HOOK_NAME in data-storage-attached) echo kept > "$JUJU_STORAGE_LOCATION/file";; esac`)
		h.do(main.model.Deploy(main.ctx, state.DeployArgs{Application: pool, Charm: charm, Units: 1, To: []string{h.id},
			Storage: map[string]model.StorageDirective{"data": {Pool: pool, Size: 8}}}))
	}
	main.settle()
	store = machine.StorageDir(h.dir, h.model.UUID())
	h.t.Cleanup(func() { // of a test that has failed
		keeper := storage.Keeper{Dir: store, Mounts: true}
		left, _ := keeper.Volumes()
		for _, id := range left {
			_ = keeper.Remove(context.Background(), id)
		}
	})
	files, err := filepath.Glob(filepath.Join(store, "*", "fs", "file"))
	h.do(err)
	if len(files) != len(pools) {
		h.t.Fatalf("storage has %q", files)
	}
	return store
}

// wantNothingLeft checks that nothing of the units is on the host any more.
func (h *host) wantNothingLeft(store string) {
	h.t.Helper()
	for _, path := range []string{store, filepath.Join(machine.ModelDir(h.dir, h.model.UUID()), "agents"), filepath.Join(h.dir, "tools")} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			h.t.Errorf("%s is still there: %v", path, err)
		}
	}
	if strings.Contains(read("/proc/self/mounts"), store) {
		h.t.Errorf("something is still mounted below %s", store)
	}
	if out, err := exec.Command("losetup", "--list", "--noheadings", "--output", "BACK-FILE").Output(); err == nil && strings.Contains(string(out), store) {
		h.t.Errorf("still attached: %s", out)
	}
}

// TestStorageGoesWithAMachineThatIsRemovedByForce, wherever it is mounted, and
// that of other machines stays.
func TestStorageGoesWithAMachineThatIsRemovedByForce(t *testing.T) {
	t.Parallel()
	pools := pools(t)
	main := hostOf(newWorld(t))
	one, two := main.adds(), main.adds()
	one.mounts = true
	one.begin()
	two.begin()
	store := one.keeps(main, pools)
	other := machine.StorageDir(two.dir, two.model.UUID())
	main.do(main.model.Deploy(main.ctx, state.DeployArgs{Application: "other", Charm: main.charm(strings.ReplaceAll(keepingCharm, "%", "other"), ""), Units: 1, To: []string{two.id}}))
	main.settle()
	main.do(main.model.ForceDestroyMachine(main.ctx, one.id))
	one.untilRefused()
	one.wantNothingLeft(store)
	if left, err := os.ReadDir(other); err != nil || len(left) != 1 {
		t.Errorf("the other machine has %v, %v", left, err)
	}
}

// TestLeaveClearsAwayWhatAKilledAgentHasLeft: storage that is in use stays, is
// told of, and goes when it can.
func TestLeaveClearsAwayWhatAKilledAgentHasLeft(t *testing.T) {
	t.Parallel()
	pools := pools(t)
	main := hostOf(newWorld(t))
	one := main.adds()
	one.mounts = true
	one.begin()
	store := one.keeps(main, pools)
	one.kill()
	main.do(main.model.ForceDestroyMachine(main.ctx, one.id))
	c := machine.Config{Controller: main.controller, Dir: one.dir, Log: quiet(), Mounts: true,
		Machine: &machine.Machine{Model: one.model.UUID(), ID: one.id, Agent: one.agent}}
	if len(pools) > 1 {
		user := exec.Command("sleep", "1000")
		user.Dir = filepath.Join(store, "data-1", "fs")
		main.do(user.Start())
		t.Cleanup(func() { _ = user.Process.Kill() }) // it may have ended
		err := machine.Leave(main.ctx, c)
		if err == nil || !strings.Contains(err.Error(), "storage data/1: storage is in use, by process") {
			t.Errorf("with storage in use it says %v", err)
		}
		if left, _ := filepath.Glob(filepath.Join(store, "*")); len(left) != 1 {
			t.Errorf("with storage in use this is left: %q", left)
		}
		_ = user.Process.Kill()
		_ = user.Wait() // killed
	}
	for range 2 {
		main.do(machine.Leave(main.ctx, c))
		one.wantNothingLeft(store)
	}
}

// TestLeaveClearsNothingAwayThatTheStoreDoesNotKnow, unless it says that the
// model was removed.
func TestLeaveClearsNothingAwayThatTheStoreDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := machine.Config{Controller: w.controller, Dir: t.TempDir(), Log: quiet(), Machine: &machine.Machine{Model: "elsewhere", ID: "1", Agent: "one"}}
	kept := filepath.Join(machine.ModelDir(c.Dir, "elsewhere"), "agents", "unit-app-0")
	if err := os.MkdirAll(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := machine.Leave(w.ctx, c); !errors.Is(err, errors.NotFound) {
		t.Errorf("it returned %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	w.tamper(func(tx store.Tx) error { return tx.Put("gone/elsewhere", []byte("{}")) })
	if err := machine.Leave(w.ctx, c); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(kept); !os.IsNotExist(err) {
		t.Errorf("it is there: %v", err)
	}
}
