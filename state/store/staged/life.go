package staged

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// maxTries is how often an Update is tried.
const maxTries = 100

// Life is that of an open store: whoever uses the store enters, and its end waits for all of
// them.
type Life struct {
	turn chan struct{} // holds one: for Updates that have lost against another

	mu     sync.Mutex
	closed bool
	ctx    context.Context
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// NewLife begins one.
func NewLife() *Life {
	l := &Life{turn: make(chan struct{}, 1)}
	l.turn <- struct{}{}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// Context ends with the store.
func (l *Life) Context() context.Context { return l.ctx }

// Enter begins what End waits for: a context that ends with the caller's and with the store.
// Errors: store.ErrClosed, and the caller's.
func (l *Life) Enter(caller context.Context) (ctx context.Context, leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, errors.Trace(store.ErrClosed)
	}
	if err := caller.Err(); err != nil {
		return nil, nil, errors.Trace(err)
	}
	l.done.Add(1)
	ctx, cancel := context.WithCancel(caller)
	unhook := context.AfterFunc(l.ctx, cancel)
	return ctx, func() {
		unhook()
		cancel()
		l.done.Done()
	}, nil
}

// Gone is why nobody waits for an answer any more; nil if somebody does.
func (l *Life) Gone(ctx context.Context) error {
	if l.ctx.Err() != nil {
		return errors.Trace(store.ErrClosed)
	}
	return errors.Trace(ctx.Err())
}

// Ended says whether End was called.
func (l *Life) Ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// End ends the contexts of all who have entered, calls before, and waits for them. Only the
// first does so, and is told so.
func (l *Life) End(before func()) (first bool) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.closed = true
	l.mu.Unlock()
	l.stop()
	before()
	l.done.Wait()
	return true
}

// Update tries until it is done: not done is an attempt that has found that somebody else was
// faster. The error is try's, Enter's, or store.ErrContention.
func (l *Life) Update(caller context.Context, try func(context.Context) (rev int64, done bool, err error)) (int64, error) {
	ctx, leave, err := l.Enter(caller)
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer leave()
	for n := range maxTries {
		if n == 1 { // Updates of this process that have lost don't also fight each other.
			select {
			case <-l.turn:
				defer func() { l.turn <- struct{}{} }()
			case <-ctx.Done():
				return 0, l.Gone(ctx)
			}
		}
		rev, done, err := try(ctx)
		if err != nil {
			return 0, err
		}
		if done {
			return rev, nil
		}
		select {
		case <-ctx.Done():
			return 0, l.Gone(ctx)
		case <-time.After(rand.N(min(time.Millisecond<<min(n, 6), 50*time.Millisecond))):
		}
	}
	return 0, errors.Trace(store.ErrContention)
}
