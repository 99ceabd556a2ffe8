package recording

import (
	"bytes"
	"io"
	"sync"
)

// maxQueue is how much a queue holds before who writes has to wait, in bytes.
const maxQueue = 4 << 20

// queue is bytes on their way to somebody who reads along: who writes goes on at
// once, as what he writes is for others, unless the reader is far behind.
type queue struct {
	mu        sync.Mutex
	changed   *sync.Cond
	bytes     bytes.Buffer
	ended     bool // nothing more is written
	dismissed bool // nobody reads any more
}

func newQueue() *queue {
	q := &queue{}
	q.changed = sync.NewCond(&q.mu)
	return q
}

func (q *queue) write(b []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes.Len() > maxQueue && !q.ended && !q.dismissed {
		q.changed.Wait()
	}
	if !q.ended && !q.dismissed {
		q.bytes.Write(b)
	}
	q.changed.Broadcast()
}

// Read is part of io.Reader.
func (q *queue) Read(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes.Len() == 0 {
		if q.ended {
			return 0, io.EOF
		}
		q.changed.Wait()
	}
	n, err := q.bytes.Read(b)
	q.changed.Broadcast()
	return n, err
}

func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.changed.Broadcast()
}

// dismiss drops what there is and what comes.
func (q *queue) dismiss() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dismissed = true
	q.bytes = bytes.Buffer{}
	q.changed.Broadcast()
}
