package etcd_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// clusterURL names a store in all members.
func clusterURL(members []*etcdtest.Server) string {
	hosts := ""
	for i, m := range members {
		if i > 0 {
			hosts += ","
		}
		hosts += m.Endpoint
	}
	return "etcd://" + hosts + "/cluster"
}

// While each member of three in turn is killed or halted, every Update is made
// once and every change is told.
func TestAStoreOutlivesTheMembersOfItsCluster(t *testing.T) {
	t.Parallel()
	members := etcdtest.Cluster(t, 3)
	s, other := open(t, clusterURL(members)), open(t, clusterURL(members))
	ch, err := s.Watch(t.Context(), []store.Keys{store.Below("n")}, 0)
	if err != nil {
		t.Fatal(err)
	}
	const each = 5
	seen, want := map[int64]bool{}, 0
	count := func() {
		t.Helper()
		for i := range each {
			by := []store.Store{s, other}[i%2]
			rev := update(t, by, increment)
			want++
			told(t, ch, rev)
			if seen[rev] {
				t.Errorf("two commits have revision %d", rev)
			}
			seen[rev] = true
		}
	}
	count()
	for i, m := range members {
		if i == 1 && os.Getenv("UNITD_TEST_LONG") == "" {
			continue // until clients notice takes its time
		}
		if i == 1 {
			if err := m.Halt(); err != nil {
				t.Fatal(err)
			}
			count()
			if err := m.Resume(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		m.Kill()
		count()
		if err := m.Run(); err != nil {
			t.Fatal(err)
		}
		count()
	}
	if got := value(t, other, "n"); got != fmt.Sprint(want) {
		t.Errorf("%d increments have counted to %s", want, got)
	}
}
