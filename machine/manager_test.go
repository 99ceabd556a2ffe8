package machine_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// refused begins an agent that must end by itself, and say so.
func (h *host) refused(why string) {
	h.t.Helper()
	h.begin()
	h.untilEnded(why)
}

// untilEnded waits until an agent has ended by itself, and said so.
func (h *host) untilEnded(why string) {
	h.t.Helper()
	if err := h.cmd.Wait(); err == nil || !strings.Contains(h.said.String(), why) {
		h.t.Errorf("the agent has ended with %v and has said %q, want %q", err, h.said, why)
	}
}

// untilUnmanaged waits until the manager's lease has ended.
func (h *host) untilUnmanaged() {
	h.t.Helper()
	h.until("nobody manages the model", func(*state.FullStatus) bool {
		_, alive, err := h.model.Manager(h.ctx)
		h.do(err)
		return !alive
	})
}

const (
	managedElsewhere = "has managed the store's models since"
	managerGone      = "which isn't there, has managed the store's models since"
)

// TestOneAgentAloneManagesAModel: a second one is refused while the first lives,
// and when that is gone until it is told to take over. The first one is back at
// once after a crash, and refused once it was succeeded.
func TestOneAgentAloneManagesAModel(t *testing.T) {
	t.Parallel()
	main := hostOf(newWorld(t))
	main.deploy("a", main.charm(ringCharm, countingCharm), 2)
	main.settle()
	other := main.another()
	other.refused(managedElsewhere)
	other.takeOver = true
	other.refused(managedElsewhere)

	main.kill()
	main.begin()
	main.do(main.model.SetTrust(main.ctx, "a", true)) // config-changed
	main.settle()
	main.kill()
	main.untilUnmanaged()
	other.takeOver = false
	other.refused(managerGone)
	if _, err := os.Stat(other.unitDir("a/0")); !os.IsNotExist(err) {
		t.Errorf("an agent that was refused has a unit: %v", err)
	}

	other.takeOver = true
	other.begin()
	main.do(main.model.SetTrust(main.ctx, "a", false))
	main.settle()
	for _, unit := range []model.UnitName{"a/0", "a/1"} {
		if got := other.hooks(unit); got[0] != "upgrade-charm" || got[1] != "config-changed" {
			t.Errorf("%s ran %v on its new host", unit, got)
		}
	}
	main.refused(managedElsewhere)
}

// TestAnAgentThatWasTakenOverWritesNothing: one that was cut off in a hook finds
// another one in its place, and ends the hook and itself.
func TestAnAgentThatWasTakenOverWritesNothing(t *testing.T) {
	t.Parallel()
	main := hostOf(newWorld(t))
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	main.deploy("a", main.charm(ringCharm, `
state-set where="$PWD"
if [ "$JUJU_HOOK_NAME" = config-changed ] && [ -e `+gate+` ]; then
	mv `+gate+` `+gate+`.open
	status-set maintenance held
	read x <`+gate+`.open
fi
`), 1)
	main.until("the hook runs", func(s *state.FullStatus) bool { return unitIn(s, "a/0").Workload.Message == "held" })
	main.do(main.cmd.Process.Signal(syscall.SIGSTOP))
	main.untilUnmanaged()
	other := main.another()
	other.takeOver = true
	other.begin()
	main.settle()
	main.do(main.cmd.Process.Signal(syscall.SIGCONT))
	main.untilEnded(managedElsewhere)
	values, err := main.model.CharmState(main.ctx, "a/0")
	main.do(err)
	if got := values["where"]; !strings.HasPrefix(got, other.dir) {
		t.Errorf("what was written last was written in %q, not in %s", got, other.dir)
	}
	if got := main.hooks("a/0"); got[len(got)-1] != "config-changed stopped" {
		t.Errorf("the first agent has run %v", got)
	}
	if got := other.hooks("a/0"); len(got) == 0 {
		t.Error("the second one has run nothing")
	}
}
