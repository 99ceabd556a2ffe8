package agent

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// An agent whose units have just run their hooks has far more memory than it needs while they
// wait: Go keeps as much again as is in use, and gives it back in minutes, if at all. So once the
// agent has been quiet, it gives back what it can.
const (
	// trimEvery is how often the agent looks whether it has been quiet.
	trimEvery = 20 * time.Second
	// quiet is how many bytes a quiet agent allocates at most between two looks.
	quiet = 16 << 20
	// worthwhile is how many bytes are to be had at least: to find them, all that is in use
	// is gone through.
	worthwhile = 64 << 20
)

// memory is what Go says of the process.
type memory struct {
	allocated uint64 // bytes, since it began
	kept      uint64 // bytes that it has from the system for objects, and could give back
	live      uint64 // bytes of those that were in use when it last looked through them
}

// trimmer looks time and again.
type trimmer struct {
	last memory
	free func()
}

// trimming trims the process until end is called, which waits for it.
func trimming() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t := trimmer{free: debug.FreeOSMemory}
		tick := time.NewTicker(trimEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				t.look(readMemory())
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// look frees memory if it is worthwhile.
func (t *trimmer) look(now memory) {
	if now.allocated-t.last.allocated < quiet && now.kept > now.live+worthwhile {
		t.free()
	}
	t.last = now
}

func readMemory() memory {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/live:bytes"},
	}
	metrics.Read(samples)
	bytes := make([]uint64, len(samples))
	for i, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			bytes[i] = s.Value.Uint64()
		}
	}
	return memory{allocated: bytes[0], kept: bytes[1] + bytes[2], live: bytes[3]}
}
