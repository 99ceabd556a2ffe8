package machine_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/unitd/unitd/machine"
)

// TestWhatAHookHasStartedOutlivesTheAgent: a hook that starts a server of its
// own may leave it running; neither a stop of the agent nor a kill just after
// the commit ends it.
func TestWhatAHookHasStartedOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	w.deploy("app", w.charm("name: app\nsummary: s\n", `
if [ "$JUJU_HOOK_NAME" = start ]; then
	setsid sleep 1000 </dev/null >/dev/null 2>&1 &
	echo $! >server.pid
fi
`), 1)
	kill := w.spawn()
	w.settle()
	pid := w.pid("app/0", "server.pid")
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	for range 2 {
		// The journal doesn't say yet that start is done; the model does.
		kill()
		kill = w.spawn()
		w.settle()
	}
	kill()
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the server is gone: %v", err)
	}
	w.wantHooks("app/0", "install", "leader-elected", "config-changed", "start")
}

// pid reads a process id that a hook has written into the charm directory.
func (w *world) pid(unit, name string) int {
	w.t.Helper()
	tag := "unit-" + strings.ReplaceAll(unit, "/", "-")
	b, err := os.ReadFile(filepath.Join(machine.ModelDir(w.dir, w.model.UUID()), "agents", tag, "charm", name))
	if err != nil {
		w.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		w.t.Fatal(err)
	}
	return pid
}
