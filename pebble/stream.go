package pebble

import (
	"context"
	"io"
	"time"
)

// stream is a call whose body is longer than an answer. Its context ends, by
// ErrNoAnswer, where Pebble lets the call wait for longer than the client's
// patience; the time that the caller's own reader or writer takes doesn't count.
type stream struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	wait   time.Duration
}

// stream begins one, with the clock running. The caller calls end.
func (c *Client) stream(ctx context.Context) *stream {
	s := &stream{wait: c.Patience}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.timer = time.AfterFunc(s.wait, func() { s.cancel(ErrNoAnswer) })
	return s
}

func (s *stream) end() {
	s.timer.Stop()
	s.cancel(context.Canceled)
}

// waiting starts the clock: it is Pebble's turn, for so long.
func (s *stream) waiting(d time.Duration) { s.timer.Reset(d) }

// ours stops the clock: it is our turn.
func (s *stream) ours() { s.timer.Stop() }

// from reads what Pebble sends: it is Pebble's turn while a read waits.
type from struct {
	*stream
	r io.Reader
}

// Read reads what Pebble has sent.
func (f from) Read(p []byte) (int, error) {
	f.waiting(f.wait)
	defer f.ours()
	return f.r.Read(p)
}

// to reads what is sent to Pebble: it is our turn while a read waits, and
// Pebble's from then on until the next one. When all has been read, Pebble has
// the time that done says.
type to struct {
	*stream
	r    io.Reader
	done time.Duration
}

// Read reads what Pebble is to be sent.
func (t to) Read(p []byte) (int, error) {
	t.ours()
	n, err := t.r.Read(p)
	if err == nil {
		t.waiting(t.wait)
	} else {
		t.waiting(t.done)
	}
	return n, err
}
