package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// setBack is by how much a clock may be set back without a lease ending by it.
const setBack = 10 * time.Second

// elapsed is the time that leases go by, in ns. All processes of a store are on
// one host, so that is the time since it was booted, which nobody sets; leases
// of a former boot are over. Where it can't be told it is what the clock shows; a
// lease that was kept alive later than that, by a clock that was ahead, is over
// then. Tests have clocks of their own, which may differ between processes: there
// nothing is over before its time.
type elapsed struct {
	clock clock.Clock
	up    func() (boot string, up time.Duration) // nil: by the clock
	// alive is what holds for leases that live, at the time that is its parameter.
	alive string
}

func newElapsed(o Options) elapsed {
	e := elapsed{clock: o.Clock, up: o.Up, alive: "expires > ?"}
	if e.up == nil && e.clock == clock.WallClock {
		e.up = hostUp
	}
	if e.up != nil {
		e.alive = fmt.Sprintf("? BETWEEN expires - ttl - %d AND expires - 1", setBack)
	}
	return e
}

func (e elapsed) now() int64 {
	if e.up == nil {
		return e.clock.Now().UnixNano()
	}
	_, up := e.up()
	return int64(up)
}

// at gets something once it is that time.
func (e elapsed) at(t int64) <-chan time.Time {
	if e.up == nil {
		return e.clock.At(time.Unix(0, t))
	}
	return e.clock.After(time.Duration(t - e.now()))
}

// ofBoot says whether leases that were made in that boot of the host are those of this
// one, or nobody can tell.
func (e elapsed) ofBoot(id string) bool {
	if e.up == nil {
		return true
	}
	boot, _ := e.up()
	return boot == "" || boot == id
}

// endFormerBoot ends all leases if the host was booted since somebody opened the
// store last.
func (s *Store) endFormerBoot(ctx context.Context) error {
	was := ""
	if err := s.write.conn.QueryRowContext(ctx, "SELECT id FROM boot").Scan(&was); err != nil || s.time.ofBoot(was) {
		return errors.Trace(err)
	}
	boot, _ := s.time.up()
	_, err := s.Update(ctx, func(tx store.Tx) error {
		t := tx.(*transaction)
		if err := t.row("SELECT id FROM boot").Scan(&was); err != nil || was == boot {
			return errors.Trace(err)
		}
		if err := t.endLeases("SELECT id FROM lease"); err != nil {
			return errors.Trace(err)
		}
		return t.exec("UPDATE boot SET id = ?", boot)
	})
	if errors.Is(err, store.ErrFull) {
		s.log.Warn("cannot end the leases of a former boot", "err", err)
		return nil // it can be read nevertheless
	}
	return errors.Trace(err)
}
