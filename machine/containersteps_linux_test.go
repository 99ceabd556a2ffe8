package machine_test

import (
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/workload"
)

// containerCharm notes in its state how often it was told, and of which starts of
// Pebble.
const containerCharm = `
n=$(state-get "$JUJU_HOOK_NAME")
state-set "$JUJU_HOOK_NAME"=$((n + 1))
case "$JUJU_HOOK_NAME" in
web-pebble-ready) state-set "boot-$(python3 - <<END
import http.client, socket
c = http.client.HTTPConnection("localhost")
c.sock = socket.socket(socket.AF_UNIX)
c.sock.connect("/charm/containers/web/pebble.socket")
c.request("GET", "/v1/system-info")
print(c.getresponse().read().decode().split('"boot-id":"')[1].split('"')[0])
END
)"=told;;
esac
`

// deployContainer deploys c/0, whose container has the host's root.
func (w *world) deployContainer() {
	w.t.Helper()
	charm := w.charm("name: c\nsummary: s\ncontainers: {web: {resource: base}}\nresources: {base: {type: oci-image}}\n", containerCharm)
	err := w.model.Deploy(w.ctx, state.DeployArgs{
		Application: "c", Charm: charm, Units: 1, Isolation: model.Isolation{Mode: model.IsolateOn},
		Resources: map[string]state.Content{"base": {Image: &model.Image{Reference: "host"}}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// pebbleSocket is that of the Pebble in its container.
func (w *world) pebbleSocket() string {
	return filepath.Join(w.unitDir("c/0"), "containers", "web", "pebble.socket")
}

// clearContainers removes what a failure has left of cells.
func (w *world) clearContainers() {
	cells, err := cellsIn(w.dir, durable.Disk{})
	if err != nil {
		w.t.Error(err)
		return
	}
	keys, _ := cells.Keys()
	for _, key := range keys {
		_ = cells.Remove(key)
	}
}

// containerLife is the life of a unit with a workload container: it is deployed, its
// Pebble ends, sends a notice, and it is removed.
type containerLife struct {
	*world
	stages   []lifeStage
	alone    bool     // the unit has no container
	groups   []string // the cgroups that there were
	gateway  string
	notified bool
}

// newContainerLife has no agent yet.
func newContainerLife(t *testing.T) *containerLife {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("workload containers need root")
	}
	program := pebbletest.Program(t)
	w := newWorldWith(t, nil)
	if err := os.Symlink(program, filepath.Join(w.dir, pebbleName)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.clearContainers)
	return &containerLife{world: w, stages: containerStages}
}

// boot is the boot id of the Pebble that answers; empty: none does.
func (l *containerLife) boot() string {
	info, err := pebble.New(l.pebbleSocket()).SystemInfo(l.ctx)
	if err != nil {
		return ""
	}
	return info.Boot
}

// charmState is what the charm has noted.
func (l *containerLife) charmState() map[string]string {
	s, err := l.model.CharmState(l.ctx, "c/0")
	if err != nil {
		return nil // it isn't deployed yet
	}
	return s
}

// told says whether the charm has come to rest, and knows of the Pebble that runs.
func (l *containerLife) told() bool {
	l.resolveAll(true)
	s, boot := l.charmState(), l.boot()
	return s["start"] != "" && boot != "" && s["boot-"+boot] != ""
}

// lifeStage is a part of a life. It ends when what was done has become known to the charm;
// the last, without done, when the application is gone.
type lifeStage struct {
	name string
	act  func(*containerLife)
	done func(*containerLife) bool
}

// containerStages are those of a container's life.
var containerStages = []lifeStage{
	{"deploy", func(l *containerLife) { l.deployContainer() }, (*containerLife).told},
	{"notice", func(*containerLife) {}, func(l *containerLife) bool {
		if !l.notified {
			_, err := pebble.New(l.pebbleSocket()).AddNotice(l.ctx, pebble.NewNotice{Key: "example.com/n"})
			l.notified = err == nil // else Pebble is being started, and pebble-ready will come
		}
		return l.told() && l.charmState()["web-pebble-custom-notice"] != ""
	}},
	{"restart", func(l *containerLife) { killFirsts(l.dir, pebbles) }, (*containerLife).told},
	{"remove", func(l *containerLife) {
		if _, err := l.model.DestroyApplication(l.ctx, "c"); err != nil {
			l.t.Fatal(err)
		}
	}, nil},
}

// live lives it with an agent that is killed, or kills, as the variable says; and
// returns how often the agent was killed.
func (l *containerLife) live(variable string) (kills int) {
	l.t.Helper()
	k := l.keep(variable)
	for _, stage := range l.stages {
		stage.act(l)
		if stage.done != nil {
			l.until(stage.name, func(*state.FullStatus) bool { return stage.done(l) && l.oneOfEach() })
			continue
		}
		l.until(stage.name, func(s *state.FullStatus) bool {
			l.resolveAll(true)
			return len(s.Applications) == 0
		})
	}
	l.settle() // the application's address goes after it
	k.stop()
	if k.unruly { // it was killed as it ended
		k = l.keep("")
		l.settle()
		k.stop()
	}
	return k.kills
}

// oneOfEach says whether there is one container, and one unit's machine. What was
// killed after the charm had come to rest is being made anew.
func (l *containerLife) oneOfEach() bool {
	var pids []int
	for _, f := range firstsIn(l.dir) {
		if f.Net.Gateway != "" {
			l.gateway = f.Net.Gateway
		}
		if f.Group != "" && !slices.Contains(l.groups, f.Group) {
			l.groups = append(l.groups, f.Group)
		}
		if f.runs() {
			pids = append(pids, f.Pid)
		}
	}
	found := l.insiders(true)
	containers := 1
	if l.alone {
		containers = 0
	}
	if len(pids) > 1+containers || len(found) > containers {
		l.t.Errorf("first processes %v and Pebbles %q run, want %d and %d", pids, found, 1+containers, containers)
	}
	return len(pids) == 1+containers && len(found) == containers
}

// insiders are the processes that have something of the world mounted; only those
// that are the first in their process ids, if so.
func (l *containerLife) insiders(pebbles bool) (found []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		mounts, _ := os.ReadFile(filepath.Join(p, "mountinfo"))
		command, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if !strings.Contains(string(mounts), filepath.Base(filepath.Dir(l.dir))+"/"+filepath.Base(l.dir)+"/") {
			continue
		}
		if !pebbles || strings.HasPrefix(string(command), workload.Program+"\x00run\x00") {
			found = append(found, filepath.Base(p)+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

// check holds what was run against what there is to be, however it went.
func (l *containerLife) check(v victim) {
	l.t.Helper()
	var others, ready, notices []string
	interrupted := 0
	for _, e := range l.entries("c/0") {
		switch {
		case e.Outcome == history.Interrupted:
			interrupted++
		case e.Outcome != history.Committed:
		case e.Name == "web-pebble-ready":
			ready = append(ready, e.Name)
		case e.Name == "web-pebble-custom-notice":
			notices = append(notices, e.Name)
		default:
			others = append(others, e.Name)
		}
	}
	want := []string{"install", "leader-elected", "config-changed", "start", "stop", "remove"}
	if i := slices.Index(others, "start"); i >= 0 && (v == inits || v == alls) { // they are a reboot
		others = append(others[:i+1:i+1], slices.DeleteFunc(others[i+1:], func(name string) bool { return name == "start" })...)
	}
	if !slices.Equal(others, want) {
		l.t.Errorf("the hooks were %v, want %v", others, want)
	}
	if len(notices) != 1 {
		l.t.Errorf("the notice was told %d times", len(notices))
	}
	if n := len(ready); n < 2 || n > 3 || v == agents && n != 2 {
		l.t.Errorf("%d times pebble-ready", n)
	}
	if interrupted > 1 {
		l.t.Errorf("one kill has interrupted %d hooks", interrupted)
	}
	l.checkLeft()
}

// checkLeft looks that nothing is there after the removal.
func (l *containerLife) checkLeft() {
	l.t.Helper()
	for _, dir := range []string{filepath.Join(l.dir, "cells"), l.unitDir("c/0")} {
		_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			// The folder of all cells may be there, with nothing in it.
			if !os.IsNotExist(err) && path != filepath.Join(l.dir, "cells") {
				l.t.Errorf("%s is left", path)
			}
			return nil
		})
	}
	if left := l.insiders(false); len(left) > 0 {
		l.t.Errorf("processes are left: %q", left)
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), l.dir) {
		l.t.Errorf("mounts are left: %v", err)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil || l.gateway == "" {
		l.t.Errorf("the gateway was %q, %v", l.gateway, err)
	}
	for _, a := range addresses {
		if strings.HasPrefix(a.String(), l.gateway+"/") {
			l.t.Errorf("the network is left: %s", a)
		}
	}
}

// TestHostAContainersLifeGoesOnWhoeverIsKilledAtAnyStep kills the agent, Pebble, the
// init of the unit's machine, or all of them as a host that goes down, before, in
// the middle of and after each step: the charm is told of each start of Pebble and
// of each notice once, there is one container, and when the unit is gone there is
// nothing.
func TestHostAContainersLifeGoesOnWhoeverIsKilledAtAnyStep(t *testing.T) {
	t.Parallel()
	recorded := newContainerLife(t)
	steps := filepath.Join(recorded.dir, "steps")
	recorded.live(stepsVariable + "=" + steps)
	recorded.check(agents)
	dieAtEach(t, steps, []victim{agents, pebbles, inits, alls}, newContainerLife, (*containerLife).check)
}

// dieAtEach lives a life again for a sample of the points at which each of the victims can
// die.
func dieAtEach(t *testing.T, steps string, victims []victim, begin func(*testing.T) *containerLife, check func(*containerLife, victim)) {
	t.Helper()
	points, err := readPoints(steps)
	if err != nil {
		t.Fatal(err)
	}
	deaths := sample(points, victims)
	t.Logf("%d points, of which %d are tried", len(points), len(deaths))
	var lives sync.WaitGroup
	for n := range atOnce { // a life is waiting for the most part
		lives.Go(func() {
			for i := n; i < len(deaths); i += atOnce {
				d := deaths[i]
				t.Run(strings.ReplaceAll(d.String(), "/", "|"), func(t *testing.T) {
					l := begin(t)
					kills := l.live(pointVariable + "=" + d.encode())
					check(l, d.victim)
					if kills > 1 {
						t.Errorf("it was killed %d times", kills)
					}
				})
			}
		})
	}
	lives.Wait()
}

// sample is some of the deaths, another at each run: of each victim one, mostly.
func sample(points []point, victims []victim) (some []point) {
	var deaths []point
	for i, v := range victims {
		every := 1
		if v != agents {
			every = 4
		}
		for n := i; n < len(points); n += every {
			p := points[n]
			p.victim = v
			deaths = append(deaths, p)
		}
	}
	tried := 4
	switch {
	case os.Getenv("UNITD_TEST_LONG") == "all": // for hours
		tried = len(deaths)
	case os.Getenv("UNITD_TEST_LONG") != "":
		// What is done between the commits is the same on etcd.
		tried = 48
		if !etcdtest.OnEtcd() {
			tried = 200
		}
	}
	from := rand.IntN(len(deaths))
	for i := range tried {
		some = append(some, deaths[(from+i*len(deaths)/tried)%len(deaths)])
	}
	return some
}

// atOnce is how many lives there are side by side.
const atOnce = 4
