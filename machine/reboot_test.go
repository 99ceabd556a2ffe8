package machine_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/resolver"
)

const rebootCharm = `
case "$JUJU_DISPATCH_PATH" in
hooks/start) touch wants ; [ -e booted ] || juju-reboot $FLAG ; sleep $LINGER ;;
esac
`

// TestReboot proves what becomes of a charm's wish for a reboot, for each kind
// of wish, by an agent with leave, without, and after the boot.
func TestReboot(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, flag, linger string
		leave              bool
		want               []string // hooks up to the boot, or to the end
		after              []string // from there on
	}{
		{"without leave a wish is only noted", "", "0", false, []string{"install", "leader-elected", "config-changed", "start"}, nil},
		{"without leave a wish for now is only noted", "--now", "0", false, []string{"install", "leader-elected", "config-changed", "start"}, nil},
		{"with leave the machine reboots after the hook", "", "0", true, []string{"install", "leader-elected", "config-changed", "start"}, []string{"start"}},
		{"now ends the hook, which runs again afterwards", "--now", "3600", true, []string{"install", "leader-elected", "config-changed", "start stopped"}, []string{"start"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			reboots := make(chan struct{}, 10)
			boot := "a boot"
			w := newWorldWith(t, func(c *machine.Config) {
				c.Host.Boot = boot
				if test.leave {
					c.Reboot = func() error { reboots <- struct{}{}; return nil }
				}
			})
			dispatch := "FLAG=" + test.flag + " LINGER=" + test.linger + "\n[ -e booted ] && LINGER=0\n" + rebootCharm
			w.deploy("app", w.charm("name: app\nsummary: s\ndescription: d\n", dispatch), 1)
			if !test.leave {
				w.settle()
				w.wantHooks("app/0", test.want...)
				if len(reboots) > 0 {
					t.Fatal("rebooted without leave")
				}
				return
			}
			select {
			case <-reboots:
			case <-w.ctx.Done():
				t.Fatal("no reboot")
			}
			// Another unit's hook on the machine would have to wait; the agent
			// is then ended, as a machine that goes down ends it.
			w.stop()
			w.wantHooks("app/0", test.want...)
			charm := filepath.Join(machine.ModelDir(w.dir, w.model.UUID()), "agents", model.UnitName("app/0").Tag(), "charm")
			if err := os.WriteFile(filepath.Join(charm, "booted"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			boot = "another boot"
			w.restart()
			w.settle()
			w.wantHooks("app/0", append(test.want, test.after...)...)
			if len(reboots) > 0 {
				t.Fatal("rebooted twice")
			}
		})
	}
}

// TestAWishForARebootOutlivesTheAgent: the hook that asks for it has committed,
// and the agent is killed before it has done anything about it.
func TestAWishForARebootOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	reboots, killed := make(chan struct{}, 10), make(chan struct{})
	boot := "a boot"
	w := newWorldWith(t, func(c *machine.Config) {
		c.Host.Boot = boot
		c.Reboot = func() error { reboots <- struct{}{}; return nil }
		c.At = func(_ context.Context, p machine.Point) error {
			if p.Name == machine.PointCommitted && p.Hook.Kind == hooks.Start && p.Hook.Cause != resolver.CauseRebooted {
				close(killed)
				runtime.Goexit() // as near to a kill as it gets in one process
			}
			return nil
		}
	})
	w.deploy("app", w.charm("name: app\nsummary: s\n", `[ "$JUJU_HOOK_NAME" != start ] || [ -e asked ] || { touch asked; juju-reboot; }`), 1)
	<-killed
	w.stop()
	if len(reboots) > 0 {
		t.Fatal("rebooted before the kill")
	}
	w.restart()
	select {
	case <-reboots:
	case <-w.ctx.Done():
		t.Fatal("no reboot")
	}
	w.stop()
	boot = "another boot"
	w.restart()
	w.settle()
	if len(reboots) > 0 {
		t.Error("rebooted twice")
	}
	w.wantHooks("app/0", "install", "leader-elected", "config-changed", "start", "start")
}
