package state_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// addMachine adds a machine that hosts join as, and returns its id and token.
func (w *world) addMachine() (id, token string) {
	w.Helper()
	doc, token, err := w.AddMachine(w.ctx, state.ManualProvider, time.Hour)
	w.ok(err)
	return doc.ID, token
}

func (w *world) join(token, agent string) error {
	w.Helper()
	t, err := state.ParseToken(token)
	w.ok(err)
	return w.JoinMachine(w.ctx, t, agent, "manual:"+agent)
}

// joined adds machines that have hosts.
func (w *world) joined(n int) []string {
	w.Helper()
	var ids []string
	for range n {
		id, token := w.addMachine()
		w.ok(w.join(token, "agent-"+id))
		ids = append(ids, id)
	}
	return ids
}

func (w *world) machineLife(id string) string {
	w.Helper()
	doc, err := w.Machine(w.ctx, id)
	if errors.Is(err, errors.NotFound) {
		return "gone"
	}
	w.ok(err)
	return doc.Life.String()
}

// places are the machines of an application's units.
func (w *world) places(app string) string {
	w.Helper()
	units, err := w.Units(w.ctx)
	w.ok(err)
	var at []string
	for _, u := range units {
		if u.Name.Application() == app {
			at = append(at, u.Machine)
		}
	}
	return strings.Join(at, " ")
}

func TestMachines(t *testing.T) {
	t.Parallel()
	rows := []struct {
		sentence string
		check    func(w *world)
	}{
		{"Like everything else, a machine starts out Alive", func(w *world) {
			id, _ := w.addMachine()
			w.is("its life", w.machineLife(id), "alive")
		}},
		{"If the machine is not Alive, abort without error", func(w *world) {
			id := w.joined(1)[0]
			w.ok(w.DestroyMachine(w.ctx, id))
			w.ok(w.DestroyMachine(w.ctx, id))
			w.is("its life", w.machineLife(id), "dying")
			w.ok(w.SetMachineDead(w.ctx, id))
			w.ok(w.DestroyMachine(w.ctx, id))
			w.is("its life", w.machineLife(id), "dead")
		}},
		{"If the machine has any assigned units, abort with an appropriate error", func(w *world) {
			id := w.joined(1)[0]
			w.deploy(mysql, 1)
			w.is("places", w.places("mysql"), id)
			w.fails(w.DestroyMachine(w.ctx, id), `machine 0 has unit "mysql/0" assigned`)
			w.is("its life", w.machineLife(id), "alive")
		}},
		{"Set the machine to Dying", func(w *world) {
			id := w.joined(1)[0]
			w.ok(w.DestroyMachine(w.ctx, id))
			w.is("its life", w.machineLife(id), "dying")
		}},
		{"detecting non-Alive machines without instance IDs and removing them", func(w *world) {
			id, token := w.addMachine()
			w.ok(w.DestroyMachine(w.ctx, id))
			w.is("its life", w.machineLife(id), "gone")
			w.fails(w.join(token, "a"), `machine "0" not found`)
		}},
		{"The machine's agent sets the machine to Dead, while it is not Alive and has no units", func(w *world) {
			id := w.joined(1)[0]
			w.fails(w.SetMachineDead(w.ctx, id), "machine 0 is alive")
			w.ok(w.DestroyMachine(w.ctx, id))
			w.ok(w.SetMachineDead(w.ctx, id))
			w.ok(w.SetMachineDead(w.ctx, id))
			w.is("its life", w.machineLife(id), "dead")
		}},
		{"If the machine is not Dead, abort with an appropriate error; delete the machine document", func(w *world) {
			id := w.joined(1)[0]
			w.fails(w.RemoveMachine(w.ctx, id), "cannot remove machine 0: it is not dead")
			w.ok(w.DestroyMachine(w.ctx, id))
			w.fails(w.RemoveMachine(w.ctx, id), "cannot remove machine 0: it is not dead")
			w.ok(w.SetMachineDead(w.ctx, id))
			w.ok(w.RemoveMachine(w.ctx, id))
			w.ok(w.RemoveMachine(w.ctx, id))
			w.is("its life", w.machineLife(id), "gone")
		}},
		{"principal units can be assigned to it while it is Alive", func(w *world) {
			id := w.joined(1)[0]
			w.ok(w.DestroyMachine(w.ctx, id))
			w.deploy(mysql, 1)
			w.is("places", w.places("mysql"), "1")
			_, err := w.AddUnits(w.ctx, "mysql", 1, id)
			w.fails(err, "cannot place a unit on machine 0: the machine is dying")
			_, err = w.AddUnits(w.ctx, "mysql", 1, "9")
			w.fails(err, `machine "9" not found`)
			_, err = w.AddUnits(w.ctx, "mysql", 1, "1", "1")
			w.fails(err, "there are more placements (2) than units (1)")
			w.is("places", w.places("mysql"), "1")
		}},
		{"a new machine for each unit that cannot be placed on an existing machine without assigned units", func(w *world) {
			awaited, _ := w.addMachine()
			ids := w.joined(2)
			w.deploy(mysql, 4)
			w.is("places", w.places("mysql"), strings.Join(append(ids, awaited, "3"), " "))
			w.ok(w.DestroyUnit(w.ctx, "mysql/0"))
			_, err := w.AddUnits(w.ctx, "mysql", 1)
			w.ok(err)
			w.is("places", w.places("mysql"), strings.Join([]string{ids[1], awaited, "3", ids[0]}, " "))
		}},
		{"on a store of one host nobody waits for a machine that nobody has joined", func(w *world) {
			awaited, _ := w.addMachine()
			id := w.joined(1)[0]
			local, _, err := w.AddMachine(w.ctx, state.LocalProvider, 0)
			w.ok(err)
			c := state.NewController(w.store, w.clock).WithOneHost()
			m, err := c.Model(w.ctx, w.Name())
			w.ok(err)
			passed, err := m.PassedOver(w.ctx, 2)
			w.ok(err)
			w.is("passed over where there is room", strings.Join(passed, " "), "")
			passed, err = m.PassedOver(w.ctx, 3)
			w.ok(err)
			w.is("passed over", strings.Join(passed, " "), awaited)
			w.ok(m.Deploy(w.ctx, state.DeployArgs{Application: "mysql", Charm: w.addCharm(charm(mysql)), Units: 4, To: []string{awaited}}))
			w.is("places", w.places("mysql"), strings.Join([]string{awaited, id, local.ID, "3"}, " "))
			passed, err = w.PassedOver(w.ctx, 3)
			w.ok(err)
			w.is("passed over on a store of many hosts", strings.Join(passed, " "), "")
		}},
		{"more free machines than one transaction can take", func(w *world) {
			ids := w.joined(30)
			w.deploy(mysql, 40)
			for i := range 10 {
				ids = append(ids, fmt.Sprint(30+i))
			}
			w.is("places", w.places("mysql"), strings.Join(ids, " "))
		}},
		{"units go where --to says, the others where there is room", func(w *world) {
			ids := w.joined(2)
			w.ok(w.deployTo(mysql, 4, ids[1], ids[1], state.NewMachine))
			w.is("places", w.places("mysql"), "1 1 2 0")
		}},
		{"a machine that units were put on outlives them, one that was made for a unit doesn't", func(w *world) {
			id := w.joined(1)[0]
			w.ok(w.deployTo(mysql, 2, id, state.NewMachine))
			w.ok(w.DestroyUnit(w.ctx, "mysql/0"))
			w.ok(w.DestroyUnit(w.ctx, "mysql/1"))
			w.is("machines", w.machineIDs(), id)
		}},
	}
	for _, row := range rows {
		t.Run(row.sentence, func(t *testing.T) {
			t.Parallel()
			row.check(newWorld(t))
		})
	}
}

// deployTo is deploy with placements.
func (w *world) deployTo(line string, units int, to ...string) error {
	w.Helper()
	c := charm(line)
	return w.Deploy(w.ctx, state.DeployArgs{Application: c.Name, Charm: w.addCharm(c), Units: units, To: to})
}

func TestForceDestroyMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.joined(1)[0]
	const many = 40 // more than one transaction takes
	to := make([]string, many)
	for i := range to {
		to[i] = id
	}
	w.ok(w.deployTo(mysql, many, to...))
	w.is("the machines", w.machineIDs(), id)
	w.ok(w.ForceDestroyMachine(w.ctx, id))
	w.is("its life", w.machineLife(id), "dead")
	w.is("units", w.places("mysql"), "")
	w.ok(w.ForceDestroyMachine(w.ctx, id))
	w.fails(w.ForceDestroyMachine(w.ctx, "9"), `machine "9" not found`)
	w.ok(w.RunCleanups(w.ctx))
	w.ok(w.RemoveMachine(w.ctx, id))

	// Cut off after its first step, the cleanup queue does the rest.
	id = w.joined(1)[0]
	_, err := w.AddUnits(w.ctx, "mysql", 2, id, id)
	w.ok(err)
	w.ok(w.BeginForceDestroyMachine(w.ctx, id))
	w.is("its life", w.machineLife(id), "dying")
	w.ok(w.RunCleanups(w.ctx))
	w.is("its life", w.machineLife(id), "dead")
	w.is("units", w.places("mysql"), "")
}

func TestTokensAreValidOnceAndForATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, token := w.addMachine()
	_, err := w.store.View(w.ctx, func(r store.Reader) error {
		kvs, err := r.List("")
		secret := token[strings.LastIndexByte(token, '.')+1:]
		for _, kv := range kvs {
			if strings.Contains(string(kv.Value)+kv.Key, secret) {
				w.Errorf("the secret is stored: %s", kv.Key)
			}
		}
		return err
	})
	w.ok(err)
	w.fails(w.join(token[:len(token)-1]+"x", "a"), "the token is not that of machine 0")
	w.ok(w.join(token, "a"))
	w.ok(w.join(token, "a")) // it was told nothing of the first time
	w.fails(w.join(token, "b"), "the token of machine 0 has been used: a token is valid once")
	doc, err := w.Machine(w.ctx, id)
	w.ok(err)
	w.is("the machine", fmt.Sprint(doc.Agent, doc.Instance, doc.Join), "amanual:a<nil>")

	_, token = w.addMachine()
	w.clock.advance(time.Hour)
	w.fails(w.join(token, "b"), "the token of machine 1 has expired")
	for _, bad := range []string{"", "x", "a.b", "a..c", "a.b.c.d"} {
		if _, err := state.ParseToken(bad); !errors.Is(err, errors.NotValid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestManyMachinesAppearInFewTransactions, without those that are gone; and nobody appears
// on a lease that has ended.
func TestManyMachinesAppearInFewTransactions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var told []state.MachineDoc
	for i, id := range w.joined(60) {
		told = append(told, state.MachineDoc{ID: id, Hostname: fmt.Sprintf("host-%d", i), Addresses: []string{"10.0.0.1"}})
	}
	w.ok(w.ForceDestroyMachine(w.ctx, told[30].ID))
	w.ok(w.RemoveMachine(w.ctx, told[30].ID))
	lease, err := w.store.Grant(w.ctx, time.Hour)
	w.ok(err)
	revision := func() int64 {
		rev, err := w.store.View(w.ctx, func(store.Reader) error { return nil })
		w.ok(err)
		return rev
	}
	before := revision()
	w.ok(w.Appear(w.ctx, lease, told...))
	if after := revision(); after-before > 3 {
		t.Errorf("they took %d revisions", after-before)
	}
	s, err := w.Status(w.ctx)
	w.ok(err)
	if len(s.Machines) != 59 {
		t.Fatalf("there are %d machines", len(s.Machines))
	}
	for _, m := range s.Machines {
		if !m.Present || !strings.HasPrefix(m.Hostname, "host-") {
			t.Errorf("machine %s: %+v", m.ID, m)
		}
	}
	w.ok(w.store.Revoke(w.ctx, lease))
	if err := w.Appear(w.ctx, lease, told...); !errors.Is(err, errors.NotFound) {
		t.Errorf("on a lease that has ended: %v", err)
	}
}
