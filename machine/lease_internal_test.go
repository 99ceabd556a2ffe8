package machine

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

// deaf is a store that doesn't answer when it is asked to keep a lease.
type deaf struct {
	store.Store
	asked int
	away  bool
	slow  func() // called before it answers; nil: it is quick
}

func (d *deaf) KeepAlive(ctx context.Context, id store.LeaseID) error {
	d.asked++
	if d.away {
		return errors.New("the store is out of reach")
	}
	err := d.Store.KeepAlive(ctx, id)
	if d.slow != nil {
		d.slow()
	}
	return err
}

// still is a clock that shows what it is set to.
type still struct {
	clock.Clock
	now atomic.Pointer[time.Time]
}

func (s *still) Now() time.Time { return *s.now.Load() }

func (s *still) set(now time.Time) { s.now.Store(&now) }

// A unit is told that it leads only if that holds for the next 30 seconds; where
// the lease may end sooner the store is asked, and where it can't be, nothing is
// told.
func TestALeaseIsKnownToLastOrIsAskedFor(t *testing.T) {
	t.Parallel()
	shown := &still{Clock: clock.WallClock}
	shown.set(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Clock: shown})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := &deaf{Store: s}
	l := &lease{ttl: leaseTime, store: d, clock: shown, log: slog.New(slog.DiscardHandler), holders: map[chan struct{}]bool{}}
	if err := l.grant(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	mine := l.current()
	pass := func(d time.Duration) { shown.set(shown.Now().Add(d)) }
	for _, step := range []struct {
		what   string
		pass   time.Duration
		away   bool
		of     store.LeaseID
		lasts  bool
		fails  bool
		asking int // how often the store has been asked by then
	}{
		{"at once", 0, false, mine, true, false, 0},
		{"with just enough left", 30 * time.Second, false, mine, true, false, 0},
		{"with too little left", time.Second, false, mine, true, false, 1},
		{"after it was kept", 29 * time.Second, false, mine, true, false, 1},
		{"somebody else's", 0, false, mine + 1, false, false, 1},
		{"with too little left and nobody to ask", 2 * time.Second, true, mine, false, true, 2},
		{"once there is somebody again", 0, false, mine, true, false, 3},
		{"by an answer that comes late", 31 * time.Second, false, mine, false, true, 4},
		{"when it is over", 2 * leaseTime, false, mine, false, false, 5},
	} {
		pass(step.pass)
		d.away, d.slow = step.away, nil
		if step.what == "by an answer that comes late" {
			d.slow = func() { pass(31 * time.Second) }
		}
		lasts, err := l.lasts(t.Context(), step.of, leaderTime)
		if lasts != step.lasts || (err != nil) != step.fails || d.asked != step.asking {
			t.Errorf("%s: lasts %v, %v, asked %d times", step.what, lasts, err, d.asked)
		}
	}
}
