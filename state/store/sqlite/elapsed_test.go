package sqlite_test

import (
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

// TestAClockThatIsSetBackKeepsNoLease: one that was kept alive by a clock that was
// 26 hours ahead is over once that is set right, and so are its keys.
func TestAClockThatIsSetBackKeepsNoLease(t *testing.T) {
	t.Parallel()
	path, date := dbPath(t), 1000*time.Hour
	s := open(t, path, sqlite.Options{Up: booted("", &date)})
	date += 26 * time.Hour
	lend(t, s, "leader")
	date -= 26 * time.Hour
	if got := value(t, open(t, path, sqlite.Options{Up: booted("", &date)}), "leader"); got != "" {
		t.Errorf("the leader is there: %q", got)
	}
	lend(t, s, "leader")
	date -= 3 * time.Second // as where a clock is corrected by a little
	if got := value(t, s, "leader"); got != "v" {
		t.Errorf("there is no leader")
	}
}

// booted is a host that was up for so long, in the boot with that id.
func booted(boot string, up *time.Duration) func() (string, time.Duration) {
	return func() (string, time.Duration) { return boot, *up }
}

// TestLeasesGoByTheTimeSinceTheHostWasBooted: a clock that is set anew neither ends
// nor keeps one, and all are over after the next boot.
func TestLeasesGoByTheTimeSinceTheHostWasBooted(t *testing.T) {
	t.Parallel()
	path, up := dbPath(t), 100*time.Hour
	s := open(t, path, sqlite.Options{Up: booted("one", &up)})
	id := lend(t, s, "leader")
	up += ttl - time.Second
	if got := value(t, s, "leader"); got != "v" {
		t.Error("the lease has ended early")
	}
	if err := s.KeepAlive(t.Context(), id); err != nil {
		t.Error(err)
	}
	up += ttl
	if got := value(t, s, "leader"); got != "" {
		t.Error("the lease has not ended")
	}
	lend(t, s, "leader")
	same := open(t, path, sqlite.Options{Up: booted("one", &up)})
	if got := value(t, same, "leader"); got != "v" {
		t.Error("another process of the same boot sees no leader")
	}
	rev := update(t, same, func(tx store.Tx) error { return tx.Put("a", nil) })
	early := time.Second
	again := open(t, path, sqlite.Options{Up: booted("two", &early)})
	if got := value(t, again, "leader"); got != "" {
		t.Error("a leader has outlived its boot")
	}
	await(t, watch(t, again, "leader", rev), "leader", true)
}

// TestWhoIsAskedAboutAFormerFormatSeesWhatIsAlive: those of a former boot have ended.
func TestWhoIsAskedAboutAFormerFormatSeesWhatIsAlive(t *testing.T) {
	t.Parallel()
	up, path := time.Hour, dbPath(t)
	s := open(t, path, sqlite.Options{Up: booted("one", &up)})
	lease, err := s.Grant(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx store.Tx) error { return tx.PutLease("leader", []byte("x"), lease) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, raw(t, path), "PRAGMA user_version = 2")
	refusal := errors.New("somebody works on it")
	for boot, want := range map[string]string{"one": "x", "two": ""} {
		got := ""
		_, err := sqlite.Open(path, sqlite.Options{Up: booted(boot, &up), Former: func(r store.Reader) error {
			kv, err := r.Get("leader")
			if got = string(kv.Value); err != nil && !errors.Is(err, errors.NotFound) {
				return err
			}
			return refusal
		}})
		if !errors.Is(err, refusal) || got != want {
			t.Errorf("in boot %s the key has %q (%v)", boot, got, err)
		}
	}
}
