package workload

import "testing"

// TestWhoAsksAPebbleInVainIsToldToAskAgain: its watcher may have nothing to tell.
func TestWhoAsksAPebbleInVainIsToldToAskAgain(t *testing.T) {
	t.Parallel()
	read := make(chan bool, 1)
	c := &container{unit: &Unit{Options: Options{Read: func() { read <- true }}}, look: make(chan struct{}, 1)}
	if c.soon() || len(c.look) != 1 {
		t.Error("it is settled, or nobody looks")
	}
	<-read
}
