package machine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/sqlite"
)

// BenchmarkJoinPeers measures what a unit pays for each member of its peer
// relation, joined and changed to their ends: where all are there when it
// comes, and where each comes when it has dealt with the one before. Its hooks
// have no executable, so it is the agent that is measured.
func BenchmarkJoinPeers(b *testing.B) {
	for _, members := range []int{100, 500, 2000} {
		b.Run(fmt.Sprintf("at-once/%d", members), func(b *testing.B) {
			benchmarkPeers(b, members, func(r *ring, names []model.UnitName) {
				for _, name := range names {
					r.enter(name)
				}
				r.time(func() { r.agent.start(r.ctx, r.unit) })
			})
		})
		b.Run(fmt.Sprintf("one-by-one/%d", members), func(b *testing.B) {
			benchmarkPeers(b, members, func(r *ring, names []model.UnitName) {
				r.time(func() { r.agent.start(r.ctx, r.unit) })
				r.took, r.cpu = 0, 0
				for _, name := range names {
					r.enter(name)
					r.time(r.unit.poke)
				}
			})
		})
	}
}

func benchmarkPeers(b *testing.B, members int, join func(*ring, []model.UnitName)) {
	var took, cpu time.Duration
	n := 0
	for b.Loop() {
		r := newRing(b)
		names, err := r.model.AddUnits(r.ctx, "ring", members)
		r.must(err)
		join(r, names)
		if r.hooks < 2*members {
			b.Fatalf("%d hooks have run for %d members", r.hooks, members)
		}
		r.stop()
		took, cpu, n = took+r.took, cpu+r.cpu, n+members
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(us(took)/float64(n), "us/member")
	b.ReportMetric(us(cpu)/float64(n), "cpu-us/member")
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// cpuTime is the processor time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ring is a unit with its agent, ring/0, in a peer relation. The others are
// documents only, as if agents elsewhere had them.
type ring struct {
	*testing.B
	ctx   context.Context
	end   context.CancelFunc
	store *sqlite.Store
	model *state.Model
	agent *modelAgent
	unit  *running
	peers model.RelationID
	idle  chan struct{} // has room for one
	hooks int
	// took and cpu are what time has measured.
	took, cpu time.Duration
}

func newRing(b *testing.B) *ring {
	r := &ring{B: b, idle: make(chan struct{}, 1)}
	r.ctx, r.end = context.WithCancel(context.Background())
	dir := b.TempDir()
	var err error
	r.store, err = sqlite.Open(filepath.Join(dir, "store.db"), sqlite.Options{})
	r.must(err)
	controller := state.NewController(r.store, clock.WallClock)
	r.model, err = controller.AddModel(r.ctx, "test")
	r.must(err)
	r.must(r.model.Deploy(r.ctx, state.DeployArgs{Application: "ring", Charm: r.charm(), Units: 1}))
	relations, err := r.model.RelationsOf(r.ctx, "ring")
	r.must(err)
	r.peers = relations[0].ID
	client := filepath.Join(dir, "hooktool") // each unit has a copy
	r.must(os.WriteFile(client, []byte("#!/bin/sh\n"), 0o700))
	c := Config{Client: client, Controller: controller, Log: slog.New(slog.DiscardHandler), Room: func() error { return nil }, Dir: dir, Cells: NewCells(dir, ""), Clock: clock.WallClock, Observer: func(e Event) {
		if e.Kind == HookRun {
			r.hooks++
		}
	}}
	c.charms = c.newCharms()
	r.agent = newModelAgent(c, r.model, nil, nil, &rebooter{})
	for _, d := range []string{filepath.Join(r.agent.dir, "agents"), HistoryDir(dir, r.model.UUID())} {
		r.must(os.MkdirAll(d, 0o700))
	}
	r.agent.log = slog.New(slog.DiscardHandler)
	r.agent.present = newPresent(r.agent.Config)
	r.agent.health = newHealth(r.agent.Config)
	r.agent.telling, r.agent.spares = newTelling(r.agent.Config, r.agent.health), r.agent.health.spares
	r.agent.slots = newSlots(hooksHere())
	r.agent.debugLog, err = debuglog.Open(durable.Disk{}, LogPath(dir, r.model.UUID()))
	r.must(err)
	doc, err := r.model.Unit(r.ctx, "ring/0")
	r.must(err)
	r.unit = r.agent.add(doc)
	r.unit.idle = func() {
		select {
		case r.idle <- struct{}{}:
		default:
		}
	}
	return r
}

func (r *ring) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// charm makes a charm that has a peer relation and no hooks.
func (r *ring) charm() string {
	return addCharm(r, r.model, "name: ring\nsummary: s\npeers: {ring: {interface: r}}\n")
}

// addCharm has a model know a charm that has no hooks, and is its URL.
func addCharm(t testing.TB, m *state.Model, metadata string) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	must(os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte(metadata), 0o600))
	c, err := charmdir.Read(dir)
	must(err)
	var archive bytes.Buffer
	sum, err := c.Archive(&archive)
	must(err)
	url, err := m.AddCharm(t.Context(), c.Charm, sum, &archive)
	must(err)
	return url
}

// enter makes another unit a member.
func (r *ring) enter(name model.UnitName) {
	r.must(r.model.EnterScope(r.ctx, name, r.peers, model.Settings{"private-address": "10.0.0.1"}))
}

// time measures how long it takes, from something that is done, until the unit
// has nothing to do, and what that costs.
func (r *ring) time(do func()) {
	start, cpu := time.Now(), cpuTime(r.B)
	do()
	r.settle()
	r.took, r.cpu = r.took+time.Since(start), r.cpu+cpuTime(r.B)-cpu
}

// settle waits until the unit has nothing to do.
func (r *ring) settle() {
	for !r.unit.settled() {
		select {
		case <-r.idle:
		case <-r.agent.ended:
			r.Fatalf("the agent has ended: %v", r.unit.err)
		}
	}
}

// stop ends the agent.
func (r *ring) stop() {
	r.end()
	<-r.agent.ended
	r.agent.wait.Wait()
	r.must(r.agent.debugLog.Close())
	r.must(r.store.Close())
}
