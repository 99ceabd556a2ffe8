package machine

import (
	"context"
	"sync"
	"time"

	"github.com/unitd/unitd/durable"
)

// RoomForHooks is how many bytes have to be free, on the disk of Config.Dir,
// before a hook begins: for its record in the journal, for its commit, which is
// 1.4 MB at most and is written twice, and for what is logged of it.
const RoomForHooks = 8 << 20

// RoomOn says whether the disk of a directory has room for a hook, for Config.Room.
func RoomOn(dir string) error { return durable.Room(dir, RoomForHooks) }

// roomInterval is how often it is looked whether there is room again. It is real
// time: no clock of an agent knows when somebody has cleared up.
const roomInterval = 500 * time.Millisecond

// room says whether there is room for what a hook's run has to write down, and
// tells once there is again. It is safe for use by many goroutines.
type room struct {
	look func() error // Config.Room
	back func()

	mu      sync.Mutex
	awaited bool
	wanted  chan struct{} // has room for one
}

func newRoom(look func() error, back func()) *room {
	return &room{look: look, back: back, wanted: make(chan struct{}, 1)}
}

// lacking is why no hook can begin; nil: there is room. What is lacking is
// awaited.
func (r *room) lacking() error {
	err := r.look()
	if err != nil {
		r.await()
	}
	return err
}

// await has back be called once there is room.
func (r *room) await() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.awaited {
		r.awaited = true
		r.wanted <- struct{}{}
	}
}

// returns says whether there is room by now of which those who await it are still
// to be told.
func (r *room) returns() bool {
	r.mu.Lock()
	awaited := r.awaited
	r.mu.Unlock()
	return awaited && r.look() == nil
}

// run waits for room whenever some is awaited, until ctx ends.
func (r *room) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wanted:
		}
		tick := time.NewTicker(roomInterval)
		for lacking := true; lacking; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				lacking = r.look() != nil
			}
		}
		tick.Stop()
		r.mu.Lock() // nobody sees the one without the other
		r.back()
		r.awaited = false
		r.mu.Unlock()
	}
}
