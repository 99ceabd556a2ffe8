package workload

import (
	"context"
	"time"

	"github.com/unitd/unitd/pebble"
)

// glance is how long a Pebble has to answer that is thought to do so at once.
const glance = time.Second

// Settled says whether nothing is on its way to States: every container runs, and
// its Pebble has told all that it has to tell, or it waits for a time, or for
// somebody, or its Pebble doesn't answer. It asks the Pebbles, which takes moments,
// or a second where one hangs. Where it says no,
// Options.Changed or Read is called when that may have changed.
func (u *Unit) Settled(ctx context.Context) bool {
	u.mu.Lock()
	all := make([]*container, 0, len(u.containers))
	for _, c := range u.containers {
		all = append(all, c)
	}
	u.mu.Unlock()
	for _, c := range all {
		if !c.settled(ctx) {
			return false
		}
	}
	return true
}

func (c *container) settled(ctx context.Context) bool {
	c.mu.Lock()
	s, cell, read := c.state, c.cell, c.read
	c.mu.Unlock()
	switch {
	case len(c.wake) > 0:
		return false
	case s.Phase == Stopped:
		return c.unit.isHeld(c.Name)
	case s.Phase == Waiting:
		return s.Until.After(c.unit.Clock.Now())
	case s.Phase != Running || !cell.Running():
		return false
	case s.Pebble.Boot == "" && s.Pebble.Fault == "":
		return false
	}
	client := pebble.New(c.Socket())
	client.Patience = glance
	info, err := client.SystemInfo(ctx)
	if s.Pebble.Boot == "" {
		return err != nil // what is wrong is so still
	}
	if err == nil && info.Boot != s.Pebble.Boot {
		c.hasten()
		return false // the watcher is about to notice
	}
	if err != nil {
		return c.soon()
	}
	unread, err := client.Notices(ctx, pebble.NoticesQuery{
		After: read, Types: []string{pebble.NoticeCustom, pebble.NoticeChange}, Everyones: true,
	})
	if err != nil {
		return c.soon()
	}
	return len(unread) == 0
}

// soon is false, for now: the Pebble hasn't answered at once. It may yet, to its watcher as well,
// which then has nothing to tell.
func (c *container) soon() bool {
	c.hasten()
	if c.unit.Read != nil {
		time.AfterFunc(glance, c.unit.Read)
	}
	return false
}

// noteRead takes up to where the notices were read.
func (c *container) noteRead(newest time.Time) {
	c.mu.Lock()
	c.read = newest
	c.mu.Unlock()
	if c.unit.Read != nil {
		c.unit.Read()
	}
}
