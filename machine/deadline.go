package machine

import (
	"sync/atomic"
	"time"
)

// deadline is a time of the agent's clock at which something is due. It is
// compared by the time that has passed, which a clock that is set anew doesn't
// change. The zero value is over; it is safe for use by many goroutines.
type deadline struct{ at atomic.Pointer[time.Time] }

// set changes it; zero: never.
func (d *deadline) set(at time.Time) { d.at.Store(&at) }

// over says whether its time has come.
func (d *deadline) over(now time.Time) bool {
	at := d.at.Load()
	return at == nil || !at.IsZero() && !now.Before(*at)
}
