package lab_test

import (
	"os"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	etcdtest.Stop()
	os.Exit(code)
}

// TestHostLeasesInEtcdGoByTheClock has the clock of the world, not the engine's,
// say when a lease has expired, for whoever shares the store.
func TestHostLeasesInEtcdGoByTheClock(t *testing.T) {
	t.Parallel()
	url := etcdtest.URL(t)
	clock := lab.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	open := func() store.Store {
		s, err := lab.OpenStore(t.Context(), t.TempDir(), url, clock)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	s, other := open(), open()
	const ttl = 30 * time.Second
	id, err := s.Grant(t.Context(), ttl)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), func(tx store.Tx) error { return tx.PutLease("k", []byte("v"), id) }); err != nil {
		t.Fatal(err)
	}
	there := func(s store.Store) bool {
		_, err := s.View(t.Context(), func(r store.Reader) error {
			_, err := r.Get("k")
			return err
		})
		if err != nil && !errors.Is(err, errors.NotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	wind := func(d time.Duration) { clock.Set(clock.Now().Add(d)) }
	wind(ttl - 1)
	if err := s.KeepAlive(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	wind(ttl - 1)
	if !there(other) {
		t.Fatal("the key has gone before its time")
	}
	wind(1)
	if there(other) || there(s) {
		t.Fatal("the key is there after its time")
	}
	if err := s.KeepAlive(t.Context(), id); !errors.Is(err, errors.NotFound) {
		t.Fatalf("KeepAlive returned %v, want NotFound", err)
	}
}
