package isolate_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// baseVariable names a root with systemd, which "make base" makes.
const baseVariable = "UNITD_TEST_BASE"

// machine is what a machine with systemd is to be.
func (w *world) machine(unit string) isolate.Spec {
	w.t.Helper()
	base := os.Getenv(baseVariable)
	if base == "" {
		w.t.Skip(baseVariable + " names no root with systemd: \"make base\" makes one, as root and with debootstrap")
	}
	s := w.spec(unit, model.IsolateMachine)
	s.ID, s.Root, s.OS = unit, base, isolate.HostOS
	return s
}

// noted is a service that notes its starts and stops.
const noted = `cat >/etc/systemd/system/noted.service <<'.'
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo started >>/var/lib/noted'
ExecStop=/bin/sh -c 'echo stopped >>/var/lib/noted'
[Install]
WantedBy=multi-user.target
.
systemctl enable --now noted 2>/dev/null`

// TestHostAMachineHasSystemd, which starts what is enabled, at each boot, and stops it; and
// of which nothing is left.
func TestHostAMachineHasSystemd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.machine("app/0")
	c := w.openBy(spec)
	other := w.openBy(w.machine("app/1"))
	want(t, c, "systemctl is-system-running; systemctl --failed --no-legend; cat /proc/1/comm; systemd-detect-virt", "running\nsystemd\ncontainer-other")
	want(t, c, "systemd-run --quiet --wait --pipe id -u; systemd-run --quiet --wait --pipe -p DynamicUser=yes id -u | grep -c '^6[0-9]*$'", "0\n1")
	want(t, c, `systemd-run --quiet --wait --pipe -p SetCredential=word:known sh -c 'cat $CREDENTIALS_DIRECTORY/word'`, "known")
	want(t, c, noted+"; systemctl is-active noted; cat /var/lib/noted", "active\nstarted")
	id, err := run(c, "cat /etc/machine-id")
	must(t, err)
	if theirs, err := run(other, "cat /etc/machine-id"); err != nil || len(id) != 32 || theirs == id {
		t.Errorf("the machines have the ids %q and %q, %v", id, theirs, err)
	}
	// Whoever reboots it has it end, and the agent opens it again.
	boots := c.Boots()
	_, _ = run(c, "systemctl reboot; sleep 100000")
	ended(t, c)
	c = w.openBy(spec)
	want(t, c, "cat /var/lib/noted /etc/machine-id", "started\nstopped\nstarted\n"+id)
	if c.Boots() != boots+1 {
		t.Errorf("%d boots, were %d", c.Boots(), boots)
	}
	must(t, c.Reboot(context.Background()))
	c = w.openBy(spec)
	want(t, c, "wc -l </var/lib/noted", "5")
	// One that is killed has stopped nothing.
	endInit(t, c)
	c = w.openBy(spec)
	want(t, c, "wc -l </var/lib/noted; systemctl is-active noted", "6\nactive")
	must(t, w.cells.Halt())
	b, err := os.ReadFile(filepath.Join(c.Dir(), "layers/root/upper/var/lib/noted"))
	if err != nil || !strings.HasSuffix(string(b), "started\nstopped\n") {
		t.Errorf("it was halted: %q, %v", b, err)
	}
	c = w.openBy(spec)
	group := groupOf(t, c)
	// However deep it nests cgroups, they can be removed.
	want(t, c, "cd /sys/fs/cgroup; n=$(printf %0250d 0); while mkdir $n 2>/dev/null; do cd $n; done; test $(pwd | tr -cd / | wc -c) -lt 20 && echo limited", "limited")
	must(t, w.cells.Remove(key("app/0")))
	must(t, w.cells.Remove(key("app/1")))
	for _, dir := range []string{group, filepath.Dir(group)} {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("the cgroup %s is left: %v", dir, err)
		}
	}
}

// ended waits until a cell has.
func ended(t *testing.T, c *isolate.Cell) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := c.Wait(ctx); err != nil {
		t.Fatal("it doesn't end: ", err)
	}
}

func groupOf(t *testing.T, c *isolate.Cell) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(c.Dir(), "cell.json"))
	must(t, err)
	var r struct{ Group string }
	must(t, json.Unmarshal(b, &r))
	if err := unix.Access(r.Group, unix.F_OK); err != nil {
		t.Fatalf("the machine's cgroup %q: %v", r.Group, err)
	}
	return r.Group
}

// TestHostAMachineThatCannotHaveSystemdSaysWhy, in a line.
func TestHostAMachineThatCannotHaveSystemdSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	empty := t.TempDir()
	for why, change := range map[string]func(*isolate.Spec){
		"needs a root of its own":    func(s *isolate.Spec) { s.Root = "" },
		empty + " has no systemd":    func(s *isolate.Spec) { s.Root = empty },
		"no such file or directory":  func(s *isolate.Spec) { s.Root = empty + "/none" },
		"needs users of its own: an": func(*isolate.Spec) { w.cells.HostUsers = true },
	} {
		s := w.spec("app/0", model.IsolateMachine)
		s.Root = empty
		w.cells.HostUsers = false
		change(&s)
		if _, err := w.cells.Open(context.Background(), key("app/0"), s); err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q: %v", why, err)
		} else if strings.Contains(why, "needs") && !errors.Is(err, isolate.ErrNoRights) {
			t.Errorf("%v is not for want of rights", err)
		}
	}
}
