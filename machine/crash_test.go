package machine_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	jujuerrors "github.com/juju/errors"

	"github.com/juju/clock"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/testcharms"
	"github.com/unitd/unitd/uniter/sim"
	"github.com/unitd/unitd/workload"
)

// countingCharm counts its hooks in its state, which is committed with each of
// them, and tells the other side the count.
const countingCharm = `
n=$(state-get n)
n=$((n + 1))
state-set n=$n
case "$JUJU_HOOK_NAME" in
*-relation-joined|*-relation-changed) relation-set told=1 count=$((n / 10));;
esac
status-set active "after $n hooks"
`

// TestAnAgentThatIsKilledAnywhereLosesNothing kills a real agent process again
// and again, at any moment, while the model changes and an operator resolves
// what was interrupted. In the end the history of every unit has each run that
// was committed once, in an order that breaks no guarantee, and the charm's own
// count of its hooks, which is in the model, agrees with it.
func TestAnAgentThatIsKilledAnywhereLosesNothing(t *testing.T) {
	t.Parallel()
	rounds := 12
	if os.Getenv("UNITD_TEST_LONG") != "" {
		rounds = 250
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t)
	w.stop()
	charm := w.charm(`
name: counter
summary: counts
provides: {server: {interface: count}}
requires: {client: {interface: count}}
peers: {ring: {interface: ring}}
`, countingCharm)
	w.deploy("a", charm, 2)
	w.deploy("b", charm, 1)
	for range rounds {
		kill := w.spawn()
		for range chance.IntN(4) {
			w.disturb(chance)
		}
		// Not a wait for anything: it is to be killed anywhere.
		time.Sleep(time.Duration(chance.IntN(60)) * time.Millisecond)
		w.resolveAll(chance.IntN(3) > 0)
		kill()
	}
	kill := w.spawn()
	defer kill()
	w.untilWell()
	for _, unit := range []model.UnitName{"a/0", "a/1", "b/0"} {
		w.checkHistory(unit)
	}
}

// disturb changes something in the model.
func (w *world) disturb(chance *rand.Rand) {
	w.t.Helper()
	var err error
	switch chance.IntN(4) {
	case 0:
		_, err = w.model.AddRelation(w.ctx, "a:client", "b:server")
	case 1:
		err = w.model.DestroyRelation(w.ctx, "a:client", "b:server")
	case 2:
		_, err = w.model.AddRelation(w.ctx, "b:client", "a:server")
	case 3:
		err = w.model.SetTrust(w.ctx, "a", chance.IntN(2) == 0) // config-changed
	}
	for _, fine := range []error{jujuerrors.AlreadyExists, jujuerrors.NotFound, jujuerrors.NotValid} {
		if errors.Is(err, fine) {
			return
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// resolveAll resolves what is in error, and says how many units were.
func (w *world) resolveAll(retry bool) int {
	w.t.Helper()
	s, err := w.model.Status(w.ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	failed := 0
	for _, app := range s.Applications {
		for _, u := range app.Units {
			if u.Workload.Status != model.StatusError {
				continue
			}
			failed++
			if err := w.model.Resolve(w.ctx, u.Name, retry); err != nil && !errors.Is(err, jujuerrors.NotValid) {
				w.t.Log(err) // resolved already, or not in error any more
			}
		}
	}
	return failed
}

// untilWell waits until all is settled and no unit is in error.
func (w *world) untilWell() {
	w.t.Helper()
	for {
		w.settle()
		if w.resolveAll(true) == 0 {
			return
		}
	}
}

// checkHistory holds a unit's history against the guarantees, and against what
// the charm has counted itself.
func (w *world) checkHistory(unit model.UnitName) {
	w.t.Helper()
	committed := w.checkMonitor(unit)
	charmState, err := w.model.CharmState(w.ctx, unit)
	if err != nil {
		w.t.Fatal(err)
	}
	if n, _ := strconv.Atoi(charmState["n"]); n != committed {
		w.t.Errorf("%s has counted %d hooks that were committed, its history %d", unit, n, committed)
	}
}

// checkMonitor holds a unit's history against the guarantees, and says how many
// hooks have committed.
func (w *world) checkMonitor(unit model.UnitName) (committed int) {
	w.t.Helper()
	outcomes := map[history.Outcome]sim.Outcome{
		history.Committed: sim.Succeeded, history.Failed: sim.Failed, history.Interrupted: sim.Failed,
		history.Stopped: sim.Stopped, history.Skipped: sim.Skipped, history.Dropped: sim.Dropped,
	}
	var monitor sim.Monitor
	last := int64(0)
	counts := map[history.Outcome]int{}
	for _, e := range w.entries(unit) {
		counts[e.Outcome]++
		if err := monitor.Hook(e.Hook, outcomes[e.Outcome]); err != nil {
			w.t.Errorf("%s, run %d (%s): %v", unit, e.Run, e.Outcome, err)
		}
		if e.Outcome == history.Committed {
			committed++
		}
		if e.Run < last {
			w.t.Errorf("%s: run %d comes after run %d", unit, e.Run, last)
		}
		last = e.Run
	}
	w.t.Logf("%s: %v", unit, counts)
	return committed
}

// agentVariable makes a test binary an agent in the directory that it names.
const agentVariable = "UNITD_TEST_AGENT"

// spawn starts an agent as a process of its own; kill ends it by SIGKILL.
func (w *world) spawn() (kill func()) {
	w.t.Helper()
	client, err := testcharms.Client()
	if err != nil {
		w.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	return w.start(self, client, nil)
}

// start starts the agent that is in a program, as spawn says.
func (w *world) start(program, client string, as *syscall.SysProcAttr) (kill func()) {
	w.t.Helper()
	cmd := exec.Command(program)
	cmd.SysProcAttr = as
	cmd.Env = append(os.Environ(), agentVariable+"="+w.dir, clientVariable+"="+client)
	cmd.Stderr = testWriter{w.t}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		_ = cmd.Process.Kill() // it may have ended, which Wait says
		_ = cmd.Wait()
	}
}

// clientVariable has the hook tools' client for such an agent.
const clientVariable = "UNITD_TEST_CLIENT"

// pebbleName is a link to Pebble in the directory of an agent that has isolated
// units with containers.
const pebbleName = "pebble"

// cellsIn are the cells of the agent in a directory.
func cellsIn(dir string, disk durable.Disk) (*isolate.Cells, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cells := machine.NewCells(dir, self)
	if pebble := filepath.Join(dir, pebbleName); os.Getenv(stepsVariable)+os.Getenv(pointVariable) != "" {
		if _, err := os.Stat(pebble); err == nil {
			cells.Disk = disk
		}
	}
	return cells, nil
}

// agentIn runs an agent until SIGTERM.
func agentIn(dir, client string) error {
	steps, err := newStepper(dir)
	if err != nil {
		return err
	}
	disk := durable.Disk{Around: steps.around}
	s, err := etcdtest.Reopen(cmp.Or(os.Getenv(storeVariable), dir+"/store.db"))
	if err != nil {
		return err
	}
	defer s.Close()
	as, lease, err := joinedAs()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	look := machine.LocalHost
	if os.Getenv(reachableVariable) != "" {
		look = func() machine.Host { return machine.ReachableHost("") }
	}
	cells, err := cellsIn(dir, disk)
	if err != nil {
		return err
	}
	if err := os.Setenv(workload.PebbleVariable, filepath.Join(dir, pebbleName)); err != nil {
		return err
	}
	err = machine.Run(ctx, machine.Config{
		Cells: cells, Controller: state.NewController(steppedStore{s, disk}, clock.WallClock), Dir: dir, Disk: disk, Client: client,
		Clock: clock.WallClock, Look: look, Log: quiet(), Machine: as, LeaseTime: lease,
		TakeOver: os.Getenv(takeOverVariable) != "", Mounts: os.Getenv(mountsVariable) != "",
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
