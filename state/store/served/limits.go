package served

import (
	"cmp"
	"context"
	"time"

	"github.com/juju/errors"
)

const (
	// most is how many connections a user may have at a time, if nothing else is said, and
	// allUsers how many times as many all have together.
	most     = 128
	allUsers = 4
	// allViews is how many views are open at a time, of mostViews for each user: the store has
	// connections for many more, which the agent itself needs.
	allViews  = 24
	mostViews = 12
	// allLarge is how many frames of more than maxQuestion there are in memory at a time.
	allLarge = 4
	// mostAsks is how many questions of a user are on their way to agents at a time.
	mostAsks = 4

	// viewTime is how long a view may take: the store keeps for it what is overwritten
	// meanwhile.
	viewTime = time.Minute
	// writeTime is how long somebody may take to read what was sent to him, and commitTime how
	// long a commit may hold the store, once it is its turn.
	writeTime  = time.Minute
	commitTime = 500 * time.Millisecond
	// frameTime is how long a large frame may take to arrive.
	frameTime = 10 * time.Second
	// answerTime is how long somebody may take to read what has become of his commit.
	answerTime = 2 * time.Second
	// askTime is how long an agent may take to answer.
	askTime = time.Minute
	// leaseTime is how long leases may live of those who may not do everything, and maxLeases
	// how many each of them may have.
	leaseTime = time.Hour
	maxLeases = 1000
)

// gate lets so many in at a time.
type gate chan struct{}

// enter waits for its turn; leave has to be called once.
func (g gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g <- struct{}{}:
		return func() { <-g }, nil
	case <-ctx.Done():
		return nil, errors.Trace(ctx.Err())
	}
}

// limits are those of all users together.
type limits struct{ views, large gate }

func newLimits() limits { return limits{make(gate, allViews), make(gate, allLarge)} }

// user is somebody who has connections. One commit of his is made at a time, and one watch begun,
// so that others have their turn.
type user struct {
	conns                         int
	views, commits, watches, asks gate
}

func newUser() *user {
	return &user{0, make(gate, mostViews), make(gate, 1), make(gate, 1), make(gate, mostAsks)}
}

func (s *Server) most() int { return cmp.Or(s.Most, most) }
