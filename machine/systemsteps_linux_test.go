package machine_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// systemCharm has a service of systemd, has the machine rebooted when it is trusted, and
// notes how often it has found the service running.
const systemCharm = `
set -e
case "$JUJU_HOOK_NAME" in
install)
	printf '[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/own.service
	systemctl enable --now own 2>/dev/null;;
config-changed)
	changed=$(state-get changed)
	state-set changed=$((changed + 1))
	if [ "$changed" = 1 ]; then juju-reboot; fi;;
start)
	systemctl is-active own
	started=$(state-get started)
	state-set started=$((started + 1));;
esac
`

// newSystemLife is the life of a unit on a machine with systemd: it is deployed, reboots,
// and is removed.
func newSystemLife(t *testing.T) *containerLife {
	t.Helper()
	base := os.Getenv("UNITD_TEST_BASE")
	if base == "" {
		t.Skip("UNITD_TEST_BASE names no root with systemd: \"make base\" makes one, as root and with debootstrap")
	}
	l := newContainerLife(t)
	started := func(n string) func(*containerLife) bool {
		return func(l *containerLife) bool {
			l.resolveAll(true)
			return l.charmState()["started"] >= n
		}
	}
	l.alone = true
	l.stages = []lifeStage{
		{"deploy", func(l *containerLife) {
			err := l.model.Deploy(l.ctx, state.DeployArgs{
				Application: "c", Charm: l.charm("name: c\nsummary: s\n", systemCharm), Units: 1, Isolation: model.Isolation{Mode: model.IsolateMachine, Root: base, OS: "host"},
			})
			if err != nil {
				l.t.Fatal(err)
			}
		}, started("1")},
		{"reboot", func(l *containerLife) {
			if err := l.model.SetTrust(l.ctx, "c", true); err != nil {
				l.t.Fatal(err)
			}
		}, started("2")},
		containerStages[len(containerStages)-1],
	}
	return l
}

// checkSystem holds what was run against what there is to be.
func (l *containerLife) checkSystem(v victim) {
	l.t.Helper()
	var committed []string
	for _, e := range l.entries("c/0") {
		if e.Outcome == history.Committed {
			committed = append(committed, e.Name)
		}
	}
	want := []string{"install", "leader-elected", "config-changed", "start", "config-changed", "start", "stop", "remove"}
	if v != agents { // each end of the machine is one more boot
		once := func(all []string) []string {
			return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "start" })
		}
		if !slices.Contains(committed, "start") {
			l.t.Errorf("the hooks were %v", committed)
		}
		committed, want = once(committed), once(want)
	}
	if !slices.Equal(committed, want) {
		l.t.Errorf("the hooks were %v, want %v", committed, want)
	}
	l.checkLeft()
	for _, dir := range l.groups {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			l.t.Errorf("the cgroup %s is left: %v", dir, err)
		}
	}
}

// TestHostAMachineWithSystemdGoesOnWhoeverIsKilledAtAnyStep kills the agent, systemd, or
// both, before, in the middle of and after each step: the unit's hooks are run in order, the
// machine reboots once for the charm, and when the unit is gone there is nothing.
func TestHostAMachineWithSystemdGoesOnWhoeverIsKilledAtAnyStep(t *testing.T) {
	t.Parallel()
	recorded := newSystemLife(t)
	steps := filepath.Join(recorded.dir, "steps")
	recorded.live(stepsVariable + "=" + steps)
	recorded.checkSystem(agents)
	dieAtEach(t, steps, []victim{agents, inits, alls}, newSystemLife, (*containerLife).checkSystem)
}
