package lab

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/juju/clock"
)

// Clock is a clock.Clock that stands still until it is set. It is safe for use
// by many goroutines.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	alarms []*alarm
}

var _ clock.Clock = (*Clock)(nil)

// NewClock is a clock that shows now.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now is part of clock.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the clock to now, or leaves it if it is there or beyond, and lets
// off what is due, in the order of time.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.After(c.now) {
		c.now = now
	}
	for len(c.alarms) > 0 && !c.alarms[0].at.After(c.now) {
		due := c.alarms[0]
		c.alarms = c.alarms[1:]
		due.on = false
		due.ring(c.now)
	}
}

// Next is when something is due next; zero: nothing is. What was set by Quiet is
// nothing.
func (c *Clock) Next() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.alarms {
		if !a.quiet {
			return a.at
		}
	}
	return time.Time{}
}

// Quiet is the same clock for those for whom time needn't stop: their alarms ring
// as it goes by.
func (c *Clock) Quiet() clock.Clock { return quiet{c} }

// quiet is a Clock whose alarms Next knows nothing of.
type quiet struct{ *Clock }

// After is part of clock.Clock.
func (q quiet) After(d time.Duration) <-chan time.Time { return q.NewTimer(d).Chan() }

// NewTimer is part of clock.Clock.
func (q quiet) NewTimer(d time.Duration) clock.Timer {
	return timer{q.add(&alarm{at: q.Now().Add(d), quiet: true})}
}

// AfterFunc is part of clock.Clock.
func (q quiet) AfterFunc(d time.Duration, f func()) clock.Timer {
	return timer{q.add(&alarm{at: q.Now().Add(d), quiet: true, ring: func(time.Time) { go f() }})}
}

// At is part of clock.Clock.
func (q quiet) At(t time.Time) <-chan time.Time { return q.NewAlarm(t).Chan() }

// NewAlarm is part of clock.Clock.
func (q quiet) NewAlarm(t time.Time) clock.Alarm { return q.add(&alarm{at: t, quiet: true}) }

// AtFunc is part of clock.Clock.
func (q quiet) AtFunc(t time.Time, f func()) clock.Alarm {
	return q.add(&alarm{at: t, quiet: true, ring: func(time.Time) { go f() }})
}

// alarm is a timer or an alarm of a Clock.
type alarm struct {
	clock *Clock
	at    time.Time
	on    bool
	quiet bool // time needn't stop for it
	ring  func(time.Time)
	ch    chan time.Time
}

// add sets an alarm off at its time; one without a ring goes to its channel.
func (c *Clock) add(a *alarm) *alarm {
	a.clock, a.ch = c, make(chan time.Time, 1)
	if a.ring == nil {
		a.ring = func(now time.Time) {
			select {
			case a.ch <- now:
			default:
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.start(a.at)
	return a
}

// start lets the alarm off at once if its time has come. The clock is locked.
func (a *alarm) start(at time.Time) {
	c := a.clock
	a.at = at
	if !at.After(c.now) {
		a.ring(c.now)
		return
	}
	a.on = true
	i, _ := slices.BinarySearchFunc(c.alarms, at, func(o *alarm, t time.Time) int {
		// Of those due at the same time the one that was there first goes first.
		return cmp.Or(o.at.Compare(t), -1)
	})
	c.alarms = slices.Insert(c.alarms, i, a)
}

func (a *alarm) stop() bool {
	was := a.on
	a.on = false
	a.clock.alarms = slices.DeleteFunc(a.clock.alarms, func(o *alarm) bool { return o == a })
	return was
}

// Chan is part of clock.Timer and clock.Alarm.
func (a *alarm) Chan() <-chan time.Time { return a.ch }

// Stop is part of clock.Timer and clock.Alarm.
func (a *alarm) Stop() bool {
	a.clock.mu.Lock()
	defer a.clock.mu.Unlock()
	return a.stop()
}

// Reset is part of clock.Alarm.
func (a *alarm) Reset(at time.Time) bool {
	a.clock.mu.Lock()
	defer a.clock.mu.Unlock()
	was := a.stop()
	a.start(at)
	return was
}

// timer is an alarm that is set by how long it takes.
type timer struct{ *alarm }

// Reset is part of clock.Timer.
func (t timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.stop()
	t.start(t.clock.now.Add(d))
	return was
}

// After is part of clock.Clock.
func (c *Clock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).Chan() }

// NewTimer is part of clock.Clock.
func (c *Clock) NewTimer(d time.Duration) clock.Timer {
	return timer{c.add(&alarm{at: c.Now().Add(d)})}
}

// AfterFunc is part of clock.Clock.
func (c *Clock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return timer{c.add(&alarm{at: c.Now().Add(d), ring: func(time.Time) { go f() }})}
}

// At is part of clock.Clock.
func (c *Clock) At(t time.Time) <-chan time.Time { return c.NewAlarm(t).Chan() }

// NewAlarm is part of clock.Clock.
func (c *Clock) NewAlarm(t time.Time) clock.Alarm { return c.add(&alarm{at: t}) }

// AtFunc is part of clock.Clock.
func (c *Clock) AtFunc(t time.Time, f func()) clock.Alarm {
	return c.add(&alarm{at: t, ring: func(time.Time) { go f() }})
}
