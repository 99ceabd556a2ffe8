package isolate

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/juju/errors"
)

// turns have each cell be worked on by one at a time, and so many machines boot at once as
// there are processors. What cells share, such as the record of their network, is under
// Cells.mu, which nobody has while a machine boots, shuts down or is deleted: others needn't wait
// for it.
type turns struct {
	mu    sync.Mutex
	keys  map[string]*turn
	boots chan struct{}
}

// turn is that of one cell.
type turn struct {
	mu    sync.Mutex
	users int // who have it or wait for it
}

// take waits for the turn of a cell. A workload container needs none: nobody lets go of
// Cells.mu in the middle of making or ending one.
func (t *turns) take(key string) (give func()) {
	t.mu.Lock()
	if t.keys == nil {
		t.keys = map[string]*turn{}
	}
	one := t.keys[key]
	if one == nil {
		one = &turn{}
		t.keys[key] = one
	}
	one.users++
	t.mu.Unlock()
	one.mu.Lock()
	return func() {
		one.mu.Unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(t.keys, key)
		}
	}
}

// busyBoot is how long a machine that boots keeps a processor busy at most. One that takes
// longer waits for something, and others needn't wait for that.
const busyBoot = 10 * time.Second

// mayBoot waits until a machine may boot; done is when it has. Who calls it has c.mu, and the
// turn of the cell. The error is that of the context.
func (c *Cells) mayBoot(ctx context.Context) (done func(), err error) {
	t := &c.turns
	t.mu.Lock()
	if t.boots == nil {
		t.boots = make(chan struct{}, runtime.NumCPU())
	}
	boots := t.boots
	t.mu.Unlock()
	err = c.apart(func() error {
		select {
		case boots <- struct{}{}:
			return nil
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		}
	})
	if err != nil {
		return nil, err
	}
	done = sync.OnceFunc(func() { <-boots })
	time.AfterFunc(busyBoot, done)
	return done, nil
}

// apart does something that takes its time while others may work on other cells. Who calls
// it has c.mu, and the turn of the cell that it is about.
func (c *Cells) apart(do func() error) error {
	c.mu.Unlock()
	defer c.mu.Lock()
	return do()
}
