package machine_test

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/audit"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/testcharms"
)

// What makes an agent of its own process one that has joined: the store's file,
// "UUID/ID/AGENT", and for how long its leases are.
const (
	storeVariable   = "UNITD_TEST_HOST_STORE"
	machineVariable = "UNITD_TEST_MACHINE"
	leaseVariable   = "UNITD_TEST_LEASE"
	// reachableVariable has the agent tell the address by which others reach it.
	reachableVariable = "UNITD_TEST_REACHABLE"
	// takeOverVariable has the agent take over the models.
	takeOverVariable = "UNITD_TEST_TAKEOVER"
	// mountsVariable has the agent mount storage.
	mountsVariable = "UNITD_TEST_MOUNTS"
)

func joinedAs() (*machine.Machine, time.Duration, error) {
	lease, err := time.ParseDuration(os.Getenv(leaseVariable))
	if os.Getenv(leaseVariable) == "" {
		lease, err = 0, nil
	}
	words := strings.Split(os.Getenv(machineVariable), "/")
	if len(words) != 3 {
		return nil, lease, err
	}
	return &machine.Machine{Model: words[0], ID: words[1], Agent: words[2]}, lease, err
}

// shortLease is long enough for a loaded host to keep it alive.
const shortLease = 6 * time.Second

// host is an agent in a process of its own, with its own data directory.
type host struct {
	*world        // whose dir is the host's
	id     string // of the machine; empty: it has the models
	agent  string
	store  string
	// reachable: it tells the address by which others reach it.
	reachable bool
	takeOver  bool
	mounts    bool
	lease     time.Duration // 0: shortLease
	cmd       *exec.Cmd
	said      *bytes.Buffer
}

// hostOf is the host that has the models; the agent of the world is stopped.
func hostOf(w *world) *host {
	w.t.Helper()
	w.stop()
	h := &host{world: w, store: filepath.Join(w.dir, "store.db")}
	h.begin()
	return h
}

// joins adds a machine and has a host join as it, which begins then.
func (h *host) joins() *host {
	h.t.Helper()
	other := h.adds()
	other.begin()
	return other
}

// adds is joins for a host whose agent is yet to begin.
func (h *host) adds() *host {
	h.t.Helper()
	doc, text, err := h.model.AddMachine(h.ctx, state.ManualProvider, time.Hour)
	if err != nil {
		h.t.Fatal(err)
	}
	token, err := state.ParseToken(text)
	if err != nil {
		h.t.Fatal(err)
	}
	other := h.another()
	other.id, other.agent = doc.ID, "agent-"+doc.ID
	if err := h.model.JoinMachine(h.ctx, token, other.agent, "manual:here"); err != nil {
		h.t.Fatal(err)
	}
	return other
}

// another is a host with a data directory of its own that has joined as no machine,
// and doesn't run yet.
func (h *host) another() *host {
	at := *h.world
	at.dir = h.t.TempDir()
	h.t.Cleanup(func() {
		if err := audit.Dir(at.dir); err != nil {
			h.t.Error(err)
		}
		runner.EndLeftover(context.Background(), "JUJU_MODEL_UUID="+h.model.UUID())
		runner.OpenCgroups(at.dir).Close()
	})
	return &host{world: &at, store: h.store}
}

// begin starts the agent's process.
func (h *host) begin() {
	h.t.Helper()
	h.prepare()()
}

// prepare makes h.cmd the agent's process, begun by those words if there are any;
// start starts it.
func (h *host) prepare(by ...string) (start func()) {
	h.t.Helper()
	client, err := testcharms.Client()
	if err != nil {
		h.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	by = append(by, self)
	h.cmd, h.said = exec.Command(by[0], by[1:]...), &bytes.Buffer{}
	h.cmd.Env = append(os.Environ(), agentVariable+"="+h.dir, clientVariable+"="+client, storeVariable+"="+h.store, leaseVariable+"="+cmp.Or(h.lease, shortLease).String())
	if h.id != "" {
		h.cmd.Env = append(h.cmd.Env, machineVariable+"="+strings.Join([]string{h.model.UUID(), h.id, h.agent}, "/"))
	}
	if h.reachable {
		h.cmd.Env = append(h.cmd.Env, reachableVariable+"=1")
	}
	if h.mounts {
		h.cmd.Env = append(h.cmd.Env, mountsVariable+"=1")
	}
	if h.takeOver {
		h.cmd.Env = append(h.cmd.Env, takeOverVariable+"=1")
	}
	h.cmd.Stderr = h.said
	return func() {
		h.t.Helper()
		if err := h.cmd.Start(); err != nil {
			h.t.Fatal(err)
		}
		cmd := h.cmd
		h.t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
			_ = cmd.Wait()
		})
	}
}

func (h *host) kill() {
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
}

// untilRefused waits for the end of an agent whose machine is gone.
func (h *host) untilRefused() {
	h.t.Helper()
	if err := h.cmd.Wait(); err == nil || !strings.Contains(h.said.String(), machine.ErrMachineGone.Error()) {
		h.t.Errorf("the agent of machine %s has ended with %v: %s", h.id, err, h.said)
	}
}

func (h *host) place(app, charm string, to ...string) {
	h.t.Helper()
	if err := h.model.Deploy(h.ctx, state.DeployArgs{Application: app, Charm: charm, Units: len(to), To: to}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) do(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func unitIn(s *state.FullStatus, name model.UnitName) state.UnitView {
	for _, app := range s.Applications {
		for _, u := range app.Units {
			if u.Name == name {
				return u
			}
		}
	}
	return state.UnitView{}
}

func machineIn(s *state.FullStatus, id string) (state.MachineView, bool) {
	for _, m := range s.Machines {
		if m.ID == id {
			return m, true
		}
	}
	return state.MachineView{}, false
}

const ringCharm = `
name: a
summary: s
peers: {ring: {interface: ring}}
`

// TestThreeAgentsShareOneModel: three processes with a data directory each. One
// is killed, seen to be gone, succeeded by another leader, and comes back; one is
// removed with its machine, and refuses to run again.
func TestThreeAgentsShareOneModel(t *testing.T) {
	t.Parallel()
	main := hostOf(newWorld(t))
	one, two := main.joins(), main.joins()
	main.place("a", main.charm(ringCharm, countingCharm), one.id, two.id, state.NewMachine)
	main.settle()
	for name, h := range map[model.UnitName]*host{"a/0": one, "a/1": two, "a/2": main} {
		for _, other := range []*host{one, two, main} {
			if _, err := os.Stat(other.unitDir(name)); (err == nil) != (other == h) {
				t.Errorf("the directory of %s on machine %q: %v", name, other.id, err)
			}
		}
		h.checkHistory(name)
	}
	s, err := main.model.Status(main.ctx)
	main.do(err)
	for _, id := range []string{one.id, two.id, "2"} {
		if m, ok := machineIn(s, id); !ok || !m.Present || m.Started.IsZero() {
			t.Errorf("machine %s: %+v", id, m)
		}
	}
	led := s.Applications[0].Units
	hosts := map[model.UnitName]*host{"a/0": one, "a/1": two}
	var leader model.UnitName
	for _, u := range led {
		if u.Leader {
			leader = u.Name
		}
	}
	gone := hosts[leader]
	if gone == nil {
		gone, leader = one, "a/0" // the one that has the models was first
	}

	began := time.Now()
	gone.kill()
	main.until("it is lost, and somebody else leads", func(s *state.FullStatus) bool {
		m, _ := machineIn(s, gone.id)
		another := false
		for _, u := range s.Applications[0].Units {
			another = another || u.Leader && u.Name != leader
		}
		u := unitIn(s, leader)
		return !m.Present && u.Agent.Status == model.StatusLost && u.Workload.Status == model.StatusUnknown && another
	})
	t.Logf("lost, and led by another one, after %.1f of the lease's time", time.Since(began).Seconds()/shortLease.Seconds())
	main.do(main.model.SetTrust(main.ctx, "a", true)) // config-changed
	gone.begin()
	main.settle()
	if got := gone.hooks(leader); !strings.Contains(strings.Join(got[4:], " "), "config-changed") {
		t.Errorf("%s ran %v", leader, got)
	}
	for name, h := range map[model.UnitName]*host{"a/0": one, "a/1": two, "a/2": main} {
		h.checkHistory(name)
	}

	if err := main.model.DestroyMachine(main.ctx, two.id); err == nil {
		t.Error("a machine with a unit can be removed")
	}
	main.do(main.model.DestroyUnit(main.ctx, "a/1"))
	main.settle()
	main.do(main.model.DestroyMachine(main.ctx, two.id))
	two.untilRefused()
	main.until("the machine is decommissioned", func(s *state.FullStatus) bool {
		_, there := machineIn(s, two.id)
		return !there
	})
	two.begin()
	two.untilRefused()
}

// TestAMachineRemovedByForceIsClearedWhenItsAgentIsBack: nobody waits for it, and
// it runs nothing of what it had any more.
func TestAMachineRemovedByForceIsClearedWhenItsAgentIsBack(t *testing.T) {
	t.Parallel()
	main := hostOf(newWorld(t))
	one := main.joins()
	main.place("a", main.charm(ringCharm, countingCharm), one.id, state.NewMachine)
	main.settle()
	before := len(one.hooks("a/0"))
	one.kill()
	main.do(main.model.ForceDestroyMachine(main.ctx, one.id))
	main.until("it is gone, and the peer is alone", func(s *state.FullStatus) bool {
		_, there := machineIn(s, one.id)
		return !there && unitIn(s, "a/0").Name == ""
	})
	main.settle()
	// It may have to lead from then on.
	if got := main.hooks("a/1"); !slices.Contains(got, "ring-relation-departed(a/0)") {
		t.Errorf("a/1 ran %v", got)
	}
	one.begin()
	one.untilRefused()
	if _, err := os.Stat(one.unitDir("a/0")); !os.IsNotExist(err) {
		t.Errorf("what the unit had is still there: %v", err)
	}
	if got := len(one.hooks("a/0")); got != before {
		t.Errorf("it has run %d hooks more", got-before)
	}
}
