package machine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// six are agents in processes of their own, with data directories and networks
// of their own, on one etcd cluster of three members.
type six struct {
	*host   // the one that manages the model
	net     networks
	members []*etcdtest.Server
	prefix  string
	gates   string // a directory
	on      map[model.UnitName]*host
	trusted bool
}

// In each of its hooks the leader of the ring writes who it is, and which of its
// runs that is unless it is about what it has written itself, to all relations. Units
// show what they are told of that, as the ring's users do. One that finds a gate of
// its name waits at it at the end of its config-changed, and says so.
const (
	sixMetadata = "name: ring\nsummary: s\npeers: {ring: {interface: ring}}\nprovides: {users: {interface: values}}\n"
	sixCharm    = `
told=
case "$JUJU_HOOK_NAME,${JUJU_REMOTE_UNIT:-}" in ring-relation-changed,)
	told=$(relation-get --app at ring)
	status-set active "$told";;
esac
if [ "$(is-leader)" = True ]; then
	set -- by="$JUJU_UNIT_NAME" at="$JUJU_UNIT_NAME in run $UNITD_RUN_NUMBER"
	case "$told" in "$JUJU_UNIT_NAME in run "*) set -- by="$JUJU_UNIT_NAME";; esac
	for r in $(relation-ids ring) $(relation-ids users); do relation-set --app -r "$r" "$@"; done
fi
gate=GATES/${JUJU_UNIT_NAME#*/}
if [ "$JUJU_HOOK_NAME" = config-changed ] && [ -p "$gate" ]; then
	status-set maintenance held
	read -r x <"$gate"
fi
`
	userMetadata = "name: user\nsummary: s\nrequires: {values: {interface: values}}\n"
	userCharm    = `
case "$JUJU_HOOK_NAME,${JUJU_REMOTE_UNIT:-}" in values-relation-changed,)
	status-set active "$(relation-get --app at ring)";;
esac
`
)

// newSix starts six agents, and has a unit of the ring each on five of them, and of
// its users on the sixth and the first.
func newSix(t *testing.T, net networks, lease time.Duration) *six {
	t.Helper()
	s := &six{net: net, members: etcdtest.ClusterAt(t, net.address(), 3), prefix: "six", gates: t.TempDir(), on: map[model.UnitName]*host{}}
	url := s.url(endpointsOf(s.members))
	w := newWorldOn(t, t.TempDir(), etcdtest.OpenURL(t, url), nil)
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	t.Cleanup(cancel)
	w.ctx = ctx
	s.host = &host{world: w, lease: lease}
	s.do(s.model.SetModelConfig(s.ctx, map[string]string{state.UpdateStatusInterval: "0s"}, nil))
	s.wire(s.host)
	s.net.begin(s.host)
	to := make([]string, 0, 6)
	hosts := make([]*host, 0, 6)
	for range 5 {
		h := s.adds()
		h.lease = lease
		s.wire(h)
		s.net.begin(h)
		to, hosts = append(to, h.id), append(hosts, h)
	}
	s.place("ring", s.charm(sixMetadata, strings.ReplaceAll(sixCharm, "GATES", s.gates)), state.NewMachine, to[0], to[1], to[2], to[3])
	s.place("user", s.charm(userMetadata, userCharm), to[4], state.NewMachine)
	_, err := s.model.AddRelation(s.ctx, "ring:users", "user")
	s.do(err)
	s.on["ring/0"], s.on["user/0"], s.on["user/1"] = s.host, hosts[4], s.host
	for i, h := range hosts[:4] {
		s.on[model.NewUnitName("ring", i+1)] = h
	}
	return s
}

func (s *six) url(endpoints []string) string {
	return "etcd://" + strings.Join(endpoints, ",") + "/" + s.prefix
}

// wire has an agent's process open the store in its own way.
func (s *six) wire(h *host) {
	s.t.Helper()
	h.store = filepath.Join(h.dir, "store")
	s.do(os.WriteFile(h.store+".url", []byte(s.url(s.net.endpoints(h, s.members))), 0o600))
}

// gate is at which a unit waits in its next config-changed.
func (s *six) gate(u model.UnitName) string {
	return filepath.Join(s.gates, fmt.Sprint(u.Number()))
}

// hold has the leader and two other units wait at gates, and waits until they do.
func (s *six) hold() (leader, killed, lost model.UnitName) {
	s.t.Helper()
	for {
		leader = s.leads("")
		killed, lost = others(leader)
		units := []model.UnitName{leader, killed, lost}
		for _, u := range units {
			s.do(syscall.Mkfifo(s.gate(u), 0o600))
		}
		s.configChanged()
		s.until("they are held in a hook", func(f *state.FullStatus) bool {
			return !slices.ContainsFunc(units, func(u model.UnitName) bool { return unitIn(f, u).Workload.Message != "held" })
		})
		if now, _, err := s.model.Leadership(s.ctx, "ring"); err == nil && now == leader {
			return leader, killed, lost
		}
		for _, u := range units { // its agent was too slow to keep its lease
			s.open(u)
		}
		s.untilSettled()
	}
}

// configChanged has each unit of the ring run config-changed.
func (s *six) configChanged() {
	s.t.Helper()
	s.trusted = !s.trusted
	s.do(s.model.SetTrust(s.ctx, "ring", s.trusted))
}

// open lets a unit go on that waits at its gate.
func (s *six) open(u model.UnitName) {
	s.t.Helper()
	f, err := os.OpenFile(s.gate(u), os.O_WRONLY, 0) // once it waits
	s.do(err)
	s.do(os.Remove(s.gate(u)))
	_, err = fmt.Fprintln(f, "go on")
	s.do(err)
	s.do(f.Close())
}

// leads waits until somebody leads the ring, but that one.
func (s *six) leads(but model.UnitName) model.UnitName {
	s.t.Helper()
	var leader model.UnitName
	s.until("another one leads", func(*state.FullStatus) bool {
		now, _, err := s.model.Leadership(s.ctx, "ring")
		s.do(err)
		leader = now
		return now != "" && now != but
	})
	return leader
}

// untilSettled waits until nothing is left to do and no unit is in error: hooks
// that have failed are run again by themselves.
func (s *six) untilSettled() {
	s.t.Helper()
	for {
		s.settle()
		well := func(f *state.FullStatus) bool {
			for _, app := range f.Applications {
				for _, u := range app.Units {
					if u.Workload.Status == model.StatusError {
						return false
					}
				}
			}
			return true
		}
		f, err := s.model.Status(s.ctx)
		s.do(err)
		if well(f) {
			return
		}
		s.until("no unit is in error", well)
	}
}

// TestHostSixAgentsOutliveWhatBefallsThem: of six agents one is killed, one is cut off
// from etcd in the middle of a hook, and so is the leader's, and a member of etcd
// is killed, all at once. Another one leads meanwhile, and once all is mended
// everything settles by itself. With UNITD_TEST_LONG they are cut off for two
// minutes, and leases are as long as they are elsewhere.
func TestHostSixAgentsOutliveWhatBefallsThem(t *testing.T) {
	t.Parallel()
	if etcdtest.OnEtcd() {
		t.Skip("it is on etcd without that")
	}
	net := networksFor(t)
	if net == nil {
		return // it has run
	}
	lease, cut := 4*time.Second, time.Duration(0)
	if os.Getenv("UNITD_TEST_LONG") != "" {
		lease, cut = time.Minute, 2*time.Minute
	}
	began := time.Now()
	stage := func(name string) { t.Logf("%5.1f s: %s", time.Since(began).Seconds(), name) }
	s := newSix(t, net, lease)
	stage("started")
	s.untilSettled()
	stage("settled")
	leader, killed, lost := s.hold()
	stage("held")
	s.on[killed].kill()
	s.do(os.Remove(s.gate(killed)))
	s.net.cut(s.on[leader])
	s.net.cut(s.on[lost])
	at := time.Now()
	mended := time.After(cut)
	s.members[0].Kill()
	s.open(lost) // its commit can't be made
	next := s.leads(leader)
	t.Logf("%s leads after %s, %.1f of the lease's time after that was cut off", next, leader, time.Since(at).Seconds()/lease.Seconds())
	s.configChanged()
	s.net.begin(s.on[killed])
	s.do(s.members[0].Run())
	s.until("the one that leads has written", func(*state.FullStatus) bool { return s.written()["by"] != string(leader) })
	<-mended
	stage("written by the next")
	s.net.mend(s.on[lost])
	s.net.mend(s.on[leader])
	s.until("both are back", func(f *state.FullStatus) bool { return s.present(f, leader) && s.present(f, lost) })
	stage("back")
	s.open(leader) // it has written as the leader that it was
	s.untilSettled()
	stage("settled")

	s.checkUnits(killed, leader)
	s.checkWrites()
}

// others are two units of the ring that don't lead.
func others(leader model.UnitName) (a, b model.UnitName) {
	var found []model.UnitName
	for i := range 3 {
		if u := model.NewUnitName("ring", i); u != leader {
			found = append(found, u)
		}
	}
	return found[0], found[1]
}
