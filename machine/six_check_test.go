package machine_test

import (
	"encoding/json"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// present says whether the agent of a unit's machine is there.
func (s *six) present(f *state.FullStatus, u model.UnitName) bool {
	m, ok := machineIn(f, unitIn(f, u).Machine)
	return ok && m.Present
}

// written is what the ring's leaders have written to their peers.
func (s *six) written() model.Settings {
	s.t.Helper()
	rels, err := s.model.RelationsOf(s.ctx, "ring")
	s.do(err)
	for _, r := range rels {
		if r.IsPeer() {
			values, err := s.model.ApplicationSettings(s.ctx, r.ID, "ring")
			s.do(err)
			return values
		}
	}
	return nil
}

// checkUnits holds each unit's history against the guarantees, and what they all
// show against each other. The hook in which an agent was killed was interrupted,
// the leader's last one as leader was taken back, and none has failed at its commit.
func (s *six) checkUnits(killed, leader model.UnitName) {
	s.t.Helper()
	f, err := s.model.Status(s.ctx)
	s.do(err)
	want, outcomes := s.written()["at"], map[model.UnitName][]history.Outcome{}
	for u, h := range s.on {
		h.checkMonitor(u)
		if got := unitIn(f, u).Workload; got.Message != want || got.Status != model.StatusActive {
			s.t.Errorf("%s is %s with %q, want %q", u, got.Status, got.Message, want)
		}
		for _, e := range h.entries(u) {
			// A tool call that etcd has left without an answer fails its hook.
			if e.Outcome == history.Failed && strings.Contains(e.Message, "cannot commit") {
				s.t.Errorf("%s: run %d, %s, has failed: %s", u, e.Run, e.Name, e.Message)
			}
			outcomes[u] = append(outcomes[u], e.Outcome)
		}
	}
	if !slices.Contains(outcomes[killed], history.Interrupted) || !slices.Contains(outcomes[leader], history.Stopped) {
		s.t.Errorf("%s had %v, %s %v, want one interrupted and one taken back", killed, outcomes[killed], leader, outcomes[leader])
	}
	for _, m := range f.Machines {
		if !m.Present {
			s.t.Errorf("machine %s isn't there", m.ID)
		}
	}
}

// checkWrites reads from etcd all that was ever written, in its order, and has
// each change of the ring's data be of the unit that held the leadership, on a
// lease, when it was committed.
func (s *six) checkWrites() {
	s.t.Helper()
	last, err := s.model.Mark(s.ctx, "")
	s.do(err)
	c, err := clientv3.New(clientv3.Config{Endpoints: endpointsOf(s.members)})
	s.do(err)
	defer c.Close()
	documents, _, _, _, _ := s.model.Keys()
	prefix := s.prefix + "/k/" + documents
	var leader struct {
		Unit model.UnitName `json:"unit"`
	}
	leaders, writes := map[model.UnitName]bool{}, 0
	watch := c.Watch(s.ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(1))
	for rev := int64(0); rev < last; {
		batch, ok := <-watch
		if !ok || batch.Err() != nil {
			s.t.Fatal("cannot read what was written: ", batch.Err())
		}
		// A hook's commit never writes who leads, and is one revision.
		for _, e := range batch.Events {
			rev = e.Kv.ModRevision
			key := strings.TrimPrefix(string(e.Kv.Key), prefix)
			switch {
			case key == "leader/ring" && e.Type == clientv3.EventTypeDelete:
				leader.Unit = ""
			case key == "leader/ring":
				s.do(json.Unmarshal(e.Kv.Value, &leader))
				leaders[leader.Unit] = true
				if e.Kv.Lease == 0 {
					s.t.Errorf("revision %d: %s leads without a lease", rev, leader.Unit)
				}
			case strings.HasPrefix(key, "settings/") && strings.HasSuffix(key, "/app/ring") && e.Type != clientv3.EventTypeDelete:
				var doc struct{ Values model.Settings }
				s.do(json.Unmarshal(e.Kv.Value, &doc))
				writes++
				if by := doc.Values["by"]; by != string(leader.Unit) {
					s.t.Errorf("revision %d: %s was written by %q while %q led", rev, key, by, leader.Unit)
				}
			}
		}
	}
	s.t.Logf("%d changes of the leaders' data, by %d leaders", writes, len(leaders))
	if writes < 10 || len(leaders) < 2 {
		s.t.Error("there was less to look at than there should be")
	}
}
