package machine_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/testcharms"
)

// TestWhatFormerAgentsHaveLeftIsCleared: the directories of models and units
// that went while no agent was there, and a deployment that was cut off.
func TestWhatFormerAgentsHaveLeftIsCleared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy("app", w.charm(plain, "true\n"), 1)
	w.settle()
	w.stop()
	w.tamper(func(tx store.Tx) error { return tx.Put("gone/a-former-model", []byte("{}")) })
	left := []string{
		filepath.Join(machine.ModelDir(w.dir, "a-former-model"), "agents", "unit-app-0", "charm"),
		w.unitDir("former/0"),
		w.unitDir("app/1") + charmdir.Aside + "0",
		filepath.Join(w.unitDir("app/0"), "archive-123"), // of an earlier version
		filepath.Join(w.dir, "charms", strings.Repeat("0", 64)+".archive"),
	}
	for i, path := range left {
		if i >= len(left)-2 {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("half an archive"), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.restart()
	w.settle()
	for _, path := range append(left, machine.ModelDir(w.dir, "a-former-model")) {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", path, err)
		}
	}
	w.wantHooks("app/0", boot...)
}

// TestAStoreThatHasLostItsModelsClearsNothingAway, be the agent there or not: only
// of a model that was removed the store says so.
func TestAStoreThatHasLostItsModelsClearsNothingAway(t *testing.T) {
	t.Parallel()
	said := make(heard, 100)
	w := newWorldWith(t, func(c *machine.Config) { c.Log = slog.New(slog.NewTextHandler(said, nil)) })
	w.deploy("app", w.charm(plain, "true\n"), 1)
	w.settle()
	kept := filepath.Join(w.unitDir("app/0"), "charm", "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(machine.ModelDir(w.dir, "another-model"), "agents", "unit-app-0")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	var all []store.KV
	w.tamper(func(tx store.Tx) (err error) {
		all, err = tx.List("")
		for _, kv := range all {
			if err == nil {
				err = tx.Delete(kv.Key)
			}
		}
		return err
	})
	for !strings.Contains(<-said, "model="+w.model.UUID()) { // that it knows nothing of it
	}
	w.stop()
	w.restart()
	w.stop()
	w.tamper(func(tx store.Tx) error {
		for _, kv := range all {
			if kv.Lease != 0 {
				continue
			}
			if err := tx.Put(kv.Key, kv.Value); err != nil {
				return err
			}
		}
		return nil
	})
	w.restart()
	w.settle()
	for _, path := range []string{kept, other} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	w.wantHooks("app/0", boot...)
}

// heard has the lines of a log.
type heard chan string

// Write is part of io.Writer.
func (h heard) Write(b []byte) (int, error) {
	select {
	case h <- string(b):
	default: // nobody wants it any more
	}
	return len(b), nil
}

// tamper changes the store behind everybody's back.
func (w *world) tamper(fn func(store.Tx) error) {
	w.t.Helper()
	if _, err := w.controller.Store().Update(w.ctx, fn); err != nil {
		w.t.Fatal(err)
	}
}

// TestAHooksReadOnlyDirectoryKeepsNoUnit from its upgrade or its removal, for
// an agent that isn't root's.
func TestAHooksReadOnlyDirectoryKeepsNoUnit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const cache = `[ "$JUJU_HOOK_NAME" != install ] || { mkdir -p cache/mod; touch cache/mod/f; chmod 555 cache/mod cache; }
`
	first, second := w.charm(plain, cache), w.charm(plain, cache+"status-set active upgraded\n")
	if os.Geteuid() == 0 {
		w.stop()
		defer w.spawnAsNobody()()
	}
	w.deploy("app", first, 1)
	w.settle()
	if err := w.model.SetCharm(w.ctx, "app", second, false); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if got := w.workload("app/0"); got.Message != "upgraded" {
		t.Errorf("it says %v", got)
	}
	dir := w.unitDir("app/0")
	for _, path := range []string{"charm.new", "charm.old", "charm.new" + charmdir.Aside + "0"} {
		if _, err := os.Lstat(filepath.Join(dir, path)); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	w.destroy("app")
	w.until("its machine is gone", func(s *state.FullStatus) bool { return len(s.Machines) == 0 })
	w.settle()
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

// spawnAsNobody is spawn for a user without special rights, to whom it gives
// the world's directory.
func (w *world) spawnAsNobody() (kill func()) {
	w.t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "unitd-test-")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { os.RemoveAll(dir) })
	client, err := testcharms.Client()
	if err != nil {
		w.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	for from, to := range map[string]string{client: "hooktool", self: "agent"} {
		if out, err := exec.Command("cp", from, filepath.Join(dir, to)).CombinedOutput(); err != nil {
			w.t.Fatalf("%v: %s", err, out)
		}
	}
	for _, args := range [][]string{
		{"chmod", "-R", "755", dir}, {"chmod", "755", filepath.Dir(w.dir)}, {"chown", "-R", "65534:65534", w.dir},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			w.t.Fatalf("%v: %s", err, out)
		}
	}
	return w.start(filepath.Join(dir, "agent"), filepath.Join(dir, "hooktool"),
		&syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}})
}
