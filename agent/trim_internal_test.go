package agent

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestAQuietAgentGivesMemoryBack(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for _, c := range []struct {
		name       string
		last, next memory
		frees      bool
	}{
		{"it has just begun", memory{}, memory{allocated: 500 * mb, kept: 400 * mb, live: 100 * mb}, false},
		{"it is busy", memory{allocated: 500 * mb}, memory{allocated: 600 * mb, kept: 400 * mb, live: 100 * mb}, false},
		{"it is quiet", memory{allocated: 500 * mb}, memory{allocated: 501 * mb, kept: 400 * mb, live: 100 * mb}, true},
		{"it is quiet, and small", memory{allocated: 500 * mb}, memory{allocated: 501 * mb, kept: 60 * mb, live: 10 * mb}, false},
		{"it is quiet, and needs what it has", memory{allocated: 500 * mb}, memory{allocated: 501 * mb, kept: 400 * mb, live: 390 * mb}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			freed := 0
			trims := trimmer{last: c.last, free: func() { freed++ }}
			trims.look(c.next)
			if (freed == 1) != c.frees || trims.last != c.next {
				t.Errorf("it has freed memory %d times", freed)
			}
		})
	}
}

// TestWhatIsReadOfMemoryIsTrue: what was needed is kept, and isn't any more once it is given back.
func TestWhatIsReadOfMemoryIsTrue(t *testing.T) {
	const size = 128 << 20
	before := readMemory()
	needed := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		needed[i] = 1
	}
	runtime.KeepAlive(needed)
	grown := readMemory()
	if grown.allocated-before.allocated < size || grown.kept < size {
		t.Errorf("before: %+v; with %d bytes more: %+v", before, size, grown)
	}
	debug.FreeOSMemory()
	if after := readMemory(); after.kept > grown.kept-size/2 || after.live > after.kept+size/16 {
		t.Errorf("%+v, and after it was freed %+v", grown, after)
	}
}
