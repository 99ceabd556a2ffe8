package recording

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// maxQueue is how much a queue holds before who writes has to wait, in bytes.
const maxQueue = 4 << 20

// queue is bytes on their way to somebody who reads along: who writes goes on at
// once, as what he writes is for others, unless the reader is far behind.
type queue struct {
	mu        sync.Mutex
	changed   *sync.Cond
	bytes     bytes.Buffer
	read      int64     // how many bytes have been
	wrote     int64     // the same of those that came
	arrivals  []arrival // of what was read last, and of what wasn't yet
	ended     bool      // nothing more is written
	dismissed bool      // nobody reads any more
}

// arrival is when bytes came.
type arrival struct {
	end int64 // how many had come with them
	at  time.Time
}

// readAhead is how much a reader may hold that is asked when it came, in bytes.
const readAhead = 4 << 10

func newQueue() *queue {
	q := &queue{}
	q.changed = sync.NewCond(&q.mu)
	return q
}

func (q *queue) write(b []byte) {
	at := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes.Len() > maxQueue && !q.ended && !q.dismissed {
		q.changed.Wait()
	}
	if !q.ended && !q.dismissed {
		q.bytes.Write(b)
		q.wrote += int64(len(b))
		q.arrivals = append(q.arrivals, arrival{q.wrote, at})
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
	q.read += int64(n)
	q.forget(q.read - readAhead)
	q.changed.Broadcast()
	return n, err
}

// arrived is when the byte came that is the first of the last n that were read; n is
// more than 0, and no more than readAhead. Who reads may be far behind.
func (q *queue) arrived(n int) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forget(q.read - int64(n))
	return q.arrivals[0].at
}

// forget drops when the first so many bytes came.
func (q *queue) forget(bytes int64) {
	for len(q.arrivals) > 1 && q.arrivals[0].end <= bytes {
		q.arrivals = q.arrivals[1:]
	}
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
