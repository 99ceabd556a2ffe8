package workload

import "time"

// Kubelets start a container again at once, then after 10 s, and after twice the
// time before each time after that, up to 5 minutes; who has run for 10 minutes
// begins anew. Source: docs/spec/containers.md §4.4.
const (
	firstPause = 10 * time.Second
	maxPause   = 5 * time.Minute
	longRun    = 10 * time.Minute
)

// backoff says how long a container waits before it is started again. The zero
// value is that of one that hasn't ended yet.
type backoff struct{ next time.Duration }

// ended is the pause after a container has run for that long; after nothing at
// all, where it couldn't be started.
func (b *backoff) ended(ran time.Duration) time.Duration {
	if ran >= longRun {
		b.next = 0
	}
	pause := b.next
	b.next = min(max(firstPause, 2*b.next), maxPause)
	return pause
}

// failed is the pause after it couldn't even be started.
func (b *backoff) failed() time.Duration {
	b.next = max(b.next, firstPause)
	return b.ended(0)
}
