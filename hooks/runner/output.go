package runner

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Stream is where a line of output came from.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// maxLine is the longest line in bytes that Output gets at once; a longer one
// comes in pieces.
const maxLine = 4 << 20

// maxPipe is more than a pipe can hold, unless root has made it larger.
const maxPipe = 1 << 20

// errEmpty is what a stream's Read says once, when it drains and has found
// nothing left.
var errEmpty = errors.New("nothing is left in the pipe")

// errPaused is what a stream's Read says once when it is to be paused.
var errPaused = errors.New("nobody is to read")

// stream is the end of a pipe from which a program's output is read.
type stream struct {
	file *os.File
	raw  syscall.RawConn
	// draining: the program has ended, and it matters whether all that it wrote
	// was read. drained is closed when it was.
	draining atomic.Bool
	drained  chan struct{}
	// since counts the bytes read since, told says that drained was.
	since int
	told  bool
	// closed: nobody wants to read on.
	closed atomic.Bool
	// rest is what was read before of a line that has no end yet.
	rest []byte
	// pausing: nobody is to read. Who has read says in paused what of a line it has, and
	// goes on with resume. over is closed once nothing is read any more.
	pausing atomic.Bool
	paused  chan []byte
	resume  chan struct{}
	over    chan struct{}
}

func newStream(f *os.File) (*stream, error) {
	raw, err := f.SyscallConn()
	return &stream{
		file: f, raw: raw, drained: make(chan struct{}),
		paused: make(chan []byte), resume: make(chan struct{}), over: make(chan struct{}),
	}, err
}

// pause has nobody read, until goOn is called if open. rest is what was read of a line;
// not open: the stream has come to its end.
func (s *stream) pause() (rest []byte, open bool) {
	s.pausing.Store(true)
	_ = s.file.SetReadDeadline(time.Unix(1, 0)) // a closed one has come to its end
	select {
	case rest := <-s.paused:
		return rest, true
	case <-s.over:
		return nil, false
	}
}

// goOn has a stream be read again, if it was paused.
func (s *stream) goOn() {
	s.pausing.Store(false)
	_ = s.file.SetReadDeadline(time.Time{})
	if s.closed.Load() || s.draining.Load() {
		_ = s.file.SetReadDeadline(time.Unix(1, 0)) // it was told meanwhile
	}
	select {
	case s.resume <- struct{}{}:
	case <-s.over:
	}
}

// standBy waits while the stream is paused.
func (s *stream) standBy(part []byte) {
	s.paused <- bytes.Clone(part)
	<-s.resume
}

// Read is part of io.Reader. It gives errEmpty once, see drain.
func (s *stream) Read(b []byte) (n int, err error) {
	for {
		if s.pausing.Load() {
			return 0, errPaused
		}
		rerr := s.raw.Read(func(fd uintptr) bool {
			n, err = syscall.Read(int(fd), b)
			for err == syscall.EINTR {
				n, err = syscall.Read(int(fd), b)
			}
			if err == syscall.EAGAIN && s.draining.Load() && !s.told {
				err = errEmpty
			}
			return err != syscall.EAGAIN
		})
		switch {
		case errors.Is(rerr, os.ErrDeadlineExceeded) && !s.closed.Load():
			// It was only to be woken.
			_ = s.file.SetReadDeadline(time.Time{})
			if s.closed.Load() {
				return 0, os.ErrClosed
			}
			continue
		case rerr != nil:
			return 0, rerr
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		// Whoever writes on and on must not keep the program's end from being seen.
		if s.draining.Load() && !s.told {
			if s.since += n; s.since > maxPipe {
				s.tell()
			}
		}
		return n, nil
	}
}

func (s *stream) tell() {
	if !s.told {
		s.told = true
		close(s.drained)
	}
}

// drain has drained closed once all is read that is in the pipe now.
func (s *stream) drain() {
	s.draining.Store(true)
	_ = s.file.SetReadDeadline(time.Unix(1, 0)) // a reader that waits looks once more
}

// close ends the reading.
func (s *stream) close() {
	s.closed.Store(true)
	_ = s.file.SetReadDeadline(time.Unix(1, 0))
}

// readers are used again: most hooks print little, and each has two streams.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 16<<10) }}

// pass passes on every line until the end, whatever bytes are in it.
func (s *stream) pass(line func(string)) {
	br := readers.Get().(*bufio.Reader)
	br.Reset(s)
	defer func() {
		br.Reset(nil)
		readers.Put(br)
	}()
	part := s.rest
	rest := func() {
		if len(part) > 0 {
			line(string(part))
			part = part[:0]
		}
	}
	defer s.tell()
	defer rest()
	for {
		chunk, err := br.ReadSlice('\n')
		part = append(part, chunk...)
		if n := len(part); n > 0 && part[n-1] == '\n' {
			line(string(part[:n-1]))
			part = part[:0]
		} else if n >= maxLine {
			rest()
		}
		switch {
		case errors.Is(err, errPaused):
			s.standBy(part)
		case errors.Is(err, errEmpty):
			rest() // the program's last line had no end
			s.tell()
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return
		}
	}
}

// output reads what a program writes.
type output struct {
	streams [2]*stream
	// done is closed when both have come to their ends.
	done chan struct{}
}

// read starts a reader for each stream.
func (r *Runner) read(streams [2]*stream, fn func(Stream, string)) *output {
	if fn == nil {
		fn = func(Stream, string) {}
	}
	o := &output{streams: streams, done: make(chan struct{})}
	var both sync.WaitGroup
	for i, name := range []Stream{Stdout, Stderr} {
		s := streams[i]
		r.mu.Lock()
		if r.open == nil {
			r.open = map[*stream]bool{}
		}
		r.open[s] = true
		if r.closed {
			s.close()
		}
		r.mu.Unlock()
		both.Add(1)
		r.readers.Add(1)
		go func() {
			defer r.readers.Done()
			defer both.Done()
			s.pass(func(line string) { fn(name, line) })
			close(s.over)
			r.mu.Lock()
			delete(r.open, s)
			r.mu.Unlock()
			s.file.Close()
		}()
	}
	go func() {
		both.Wait()
		close(o.done)
	}()
	return o
}

// linger waits for the end of the output, but not for ever: where others hold
// on to the pipe, until after the bound all is passed on that was in it.
func (o *output) linger(bound time.Duration) {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-o.done:
		return
	case <-timer.C:
	}
	for _, s := range o.streams {
		s.drain()
	}
	for _, s := range o.streams {
		<-s.drained
	}
}
