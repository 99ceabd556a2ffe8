package state_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// What etcd takes in one transaction by default: so many keys compared, so many
// written, and so many bytes.
const (
	etcdOps   = 128
	etcdBytes = 1536 << 10
)

// measured is a store that counts its transactions, and says which was the
// largest of those that wrote something.
type measured struct {
	store.Store
	mu                    sync.Mutex
	commits               int
	reads, writes, length int
}

func (m *measured) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	var tx measuredTx
	rev, err := m.Store.Update(ctx, func(under store.Tx) error {
		tx = measuredTx{Tx: under, read: map[string]bool{}, written: map[string]int{}}
		return fn(tx)
	}, opts...)
	if err != nil || len(tx.written) == 0 {
		return rev, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commits++
	length := 0
	for key, n := range tx.written {
		length += len(key) + n
	}
	m.reads, m.writes, m.length = max(m.reads, len(tx.read)), max(m.writes, len(tx.written)), max(m.length, length)
	return rev, nil
}

// within fails the test if a transaction was larger than etcd takes.
func (m *measured) within(t testing.TB) {
	t.Helper()
	if m.reads > etcdOps || m.writes > etcdOps || m.length > etcdBytes {
		t.Errorf("the largest of %d transactions read %d keys and ranges, wrote %d keys, and %d bytes: more than etcd takes",
			m.commits, m.reads, m.writes, m.length)
	}
}

// measuredTx notes what is read, key by key and range by range, and written.
type measuredTx struct {
	store.Tx
	read    map[string]bool
	written map[string]int
}

func (t measuredTx) Get(key string) (store.KV, error) {
	t.read[key] = true
	return t.Tx.Get(key)
}

func (t measuredTx) List(prefix string) ([]store.KV, error) {
	t.read[prefix+"*"] = true
	return t.Tx.List(prefix)
}

func (t measuredTx) Page(prefix, after string, limit int) ([]store.KV, error) {
	t.read[prefix+"*"] = true
	return t.Tx.Page(prefix, after, limit)
}

func (t measuredTx) Keys(prefix, after string, limit int) ([]store.KV, error) {
	t.read[prefix+"*"] = true
	return t.Tx.Keys(prefix, after, limit)
}

func (t measuredTx) Put(key string, value []byte) error {
	t.written[key] = len(value)
	return t.Tx.Put(key, value)
}

func (t measuredTx) Delete(key string) error {
	t.written[key] = 0
	return t.Tx.Delete(key)
}

// crowd makes an application of n units that are all in its peer relation, and n
// relations, each with another application, whose one unit is in it, as is one of
// the crowd.
func (w *world) crowd(n int) {
	w.Helper()
	w.deploy("hub metrics=requirer:http ring=peer:ring", n)
	for i := range n {
		spoke := fmt.Sprintf("spoke%c%c%c", 'a'+i/676, 'a'+i/26%26, 'a'+i%26)
		w.deploy(spoke+" web=provider:http", 1)
		id := w.relate("hub", spoke)
		w.enter(model.NewUnitName("hub", i), 0, id)
		w.enter(model.NewUnitName(spoke, 0), id)
	}
}

// dissolve does what the agents do once the hub of a crowd is Dying. Each looks
// at what it has to do by itself, as looking at all that an application is in is
// many times as much as what is written.
func (w *world) dissolve(m interface {
	SetDying(context.Context, model.UnitName) error
	LeaveScope(context.Context, model.UnitName, model.RelationID) error
	SetDead(context.Context, model.UnitName) error
	RemoveUnit(context.Context, model.UnitName) error
}, n int) {
	w.Helper()
	for i := range n {
		hub := model.NewUnitName("hub", i)
		spoke := model.NewUnitName(fmt.Sprintf("spoke%c%c%c", 'a'+i/676, 'a'+i/26%26, 'a'+i%26), 0)
		w.ok(m.SetDying(w.ctx, hub))
		for _, id := range []model.RelationID{0, model.RelationID(i + 1)} {
			w.ok(m.LeaveScope(w.ctx, hub, id))
		}
		w.ok(m.LeaveScope(w.ctx, spoke, model.RelationID(i+1)))
		w.ok(m.SetDead(w.ctx, hub))
		w.ok(m.RemoveUnit(w.ctx, hub))
	}
}

// Seed 000, "Units": no transaction has as many operations as an application has
// units, nor as it has relations or peers.
func TestNoTransactionGrowsWithTheApplication(t *testing.T) {
	t.Parallel()
	n := 100
	if long {
		n = 1000
	}
	w := newWorld(t)
	w.crowd(n)
	s := &measured{Store: w.store}
	m := w.onStore(s)
	told := 0
	gone, err := m.ForceApplication(w.ctx, "hub", state.Orderly, func(done, total int) {
		if done <= told || total != 2*n+1 {
			t.Errorf("%d of %d are done, after %d of %d", done, total, told, 2*n+1)
		}
		told = done
	})
	w.ok(err)
	if told != 2*n+1 || len(gone.Units) != n || len(gone.Relations) != n+1 {
		t.Errorf("told of %d, of %d units and %d relations", told, len(gone.Units), len(gone.Relations))
	}
	w.dissolve(m, n)
	w.is("application", w.appLife("hub"), "gone")
	w.ok(m.RunCleanups(w.ctx))
	s.within(t)
	for _, kind := range []string{"relation", "scope", "settings/", "cleanup/", "unit/hub", "status/workload/hub"} {
		if keys := w.keys("m/" + w.UUID() + "/" + kind); len(keys) > 0 {
			t.Errorf("%d keys are left of %s: %s, …", len(keys), kind, keys[0])
		}
	}
}

// BenchmarkRemoveApplication takes away an application whose units are all in
// its peer relation, and each in another one: what the command does, what the
// units' agents commit, and the cleanup queue, as time for each unit. 1,000 units
// take some time to make: UNITD_TEST_LONG.
func BenchmarkRemoveApplication(b *testing.B) {
	for _, how := range []state.Force{state.Orderly, state.Abandon} {
		for _, n := range []int{10, 100, 1000} {
			if n == 1000 && !long {
				continue
			}
			name := map[state.Force]string{state.Orderly: "in order", state.Abandon: "at once"}[how]
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				var command, agents, queue time.Duration
				s := &measured{}
				for b.Loop() {
					b.StopTimer()
					w := newWorld(b)
					w.crowd(n)
					s.Store = w.store
					m := w.onStore(s)
					b.StartTimer()
					start := time.Now()
					_, err := m.ForceApplication(w.ctx, "hub", how, nil)
					w.ok(err)
					command += time.Since(start)
					start = time.Now()
					if how == state.Orderly {
						w.dissolve(m, n)
					}
					agents += time.Since(start)
					start = time.Now()
					w.ok(m.RunCleanups(w.ctx))
					queue += time.Since(start)
					w.is("application", w.appLife("hub"), "gone")
				}
				each := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(n*b.N) }
				b.ReportMetric(each(command), "command-ms/unit")
				b.ReportMetric(each(agents), "agents-ms/unit")
				b.ReportMetric(each(queue), "queue-ms/unit")
				b.ReportMetric(float64(s.commits)/float64(n*b.N), "commits/unit")
				b.ReportMetric(float64(max(s.reads, s.writes)), "ops-most")
				s.within(b)
			})
		}
	}
}
