package sqlite_test

import (
	"sync"
	"time"

	"github.com/juju/clock"
)

// stopped is a clock that moves when told to.
type stopped struct {
	clock.Clock
	asked chan struct{} // gets something when the time was asked for

	mu     sync.Mutex
	now    time.Time
	alarms map[chan time.Time]time.Time
}

func newStopped() *stopped {
	return &stopped{
		Clock: clock.WallClock, asked: make(chan struct{}, 1),
		now: time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC), alarms: map[chan time.Time]time.Time{},
	}
}

// Now is part of clock.Clock.
func (c *stopped) Now() time.Time {
	select {
	case c.asked <- struct{}{}:
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// At is part of clock.Clock.
func (c *stopped) At(t time.Time) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	c.alarms[ch] = t
	c.ring()
	return ch
}

// ring fires the alarms that are due.
func (c *stopped) ring() {
	for ch, at := range c.alarms {
		if !at.After(c.now) {
			ch <- c.now
			delete(c.alarms, ch)
		}
	}
}

func (c *stopped) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.ring()
}
