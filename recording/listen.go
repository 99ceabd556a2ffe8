package recording

import (
	"bufio"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/unitd/unitd/pattern"
)

// Conversation takes down what is said on one connection between the charm and a
// container's Pebble. It reads along: whoever carries the bytes tells it of them
// and needn't wait for it, and what can't be understood is no part of the
// recording, but never in the way.
//
// HTTP/1.1 is understood, with any number of requests one after the other, and the
// websockets by which commands are given their input and print. Source:
// docs/spec/containers.md §4.6.
type Conversation struct {
	recorder  *Recorder
	container string
	asking    *queue
	answering *queue
	over      sync.WaitGroup
}

// Converse begins to read along on a new connection to the Pebble of a container.
func (r *Recorder) Converse(container string) *Conversation {
	c := &Conversation{recorder: r, container: container, asking: newQueue(), answering: newQueue()}
	pending := make(chan *exchange, 64)
	c.over.Go(func() {
		defer close(pending)
		defer c.asking.dismiss()
		c.readRequests(bufio.NewReaderSize(c.asking, readAhead), pending)
	})
	c.over.Go(func() {
		defer c.answering.dismiss()
		c.readAnswers(bufio.NewReader(c.answering), pending)
	})
	return c
}

// Asked is told what the charm has said. The bytes may be used again afterwards.
func (c *Conversation) Asked(b []byte) { c.asking.write(b) }

// Answered is told what Pebble has said.
func (c *Conversation) Answered(b []byte) { c.answering.write(b) }

// AskedAll is told that the charm says no more.
func (c *Conversation) AskedAll() { c.asking.end() }

// AnsweredAll is the same of Pebble.
func (c *Conversation) AnsweredAll() { c.answering.end() }

// End ends it where it is; what comes later is no part of the recording. It can be
// called again.
func (c *Conversation) End() {
	c.AskedAll()
	c.AnsweredAll()
	c.over.Wait()
}

// exchange is a request that waits for its answer.
type exchange struct {
	request *http.Request
	began   time.Time
	asked   Asked
	read    chan struct{}    // closed when the body is read
	changes chan *streamEnds // of a request that wants another protocol: nil where it isn't taken up
}

// streamEnds is what goes through a websocket.
type streamEnds struct {
	mu               sync.Mutex
	toPebble, toHook gathering
}

func (c *Conversation) readRequests(from *bufio.Reader, pending chan<- *exchange) {
	for {
		if _, err := from.Peek(1); err != nil {
			return
		}
		began := c.asking.arrived(from.Buffered())
		req, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		e := &exchange{request: req, began: began, read: make(chan struct{})}
		e.asked = Asked{Container: c.container, Method: req.Method, Path: req.RequestURI}
		if req.Header.Get("Upgrade") != "" {
			e.changes = make(chan *streamEnds, 1)
		}
		pending <- e
		e.asked.Body = readBody(req.Header.Get("Content-Type"), req.Body)
		close(e.read)
		if e.changes == nil {
			continue
		}
		if s := <-e.changes; s != nil {
			readFrames(from, func(text bool, b []byte) { s.add(&s.toPebble, c.steers(req), text, b) })
			return
		}
	}
}

func (c *Conversation) readAnswers(from *bufio.Reader, pending <-chan *exchange) {
	broken := false
	for e := range pending {
		if !broken {
			broken = !c.readAnswer(from, e)
		} else if e.changes != nil {
			e.changes <- nil
		}
		<-e.read
		if !websocketPath.MatchString(e.request.URL.Path) {
			e.asked.Took = time.Since(e.began)
			c.recorder.ask(e.asked, e.began)
		}
	}
}

// readAnswer is false where nothing can follow.
func (c *Conversation) readAnswer(from *bufio.Reader, e *exchange) bool {
	answer, err := http.ReadResponse(from, e.request)
	for err == nil && answer.StatusCode < 200 && answer.StatusCode != http.StatusSwitchingProtocols {
		answer, err = http.ReadResponse(from, e.request)
	}
	switched := err == nil && answer.StatusCode == http.StatusSwitchingProtocols && e.changes != nil
	if e.changes != nil && !switched {
		e.changes <- nil
	}
	switch {
	case err != nil:
		return false
	case switched:
		s := c.recorder.stream(c.container, e.request.URL.Path)
		e.changes <- s
		if answer.Header.Get("Sec-Websocket-Extensions") == "" {
			readFrames(from, func(text bool, b []byte) { s.add(&s.toHook, false, text, b) })
		}
		return false
	}
	e.asked.Status = answer.StatusCode
	e.asked.Answer = readBody(answer.Header.Get("Content-Type"), answer.Body)
	return true
}

// websocketPath is where a command is given its input, prints, and is steered.
var websocketPath = pattern.New(`^/v1/tasks/([^/]+)/websocket/(stdio|stderr|control)$`)

// steers says whether what a websocket is sent steers a command.
func (c *Conversation) steers(req *http.Request) bool {
	return strings.HasSuffix(req.URL.Path, "/control")
}

// add takes down a message: text on a stream says that it has ended, and elsewhere
// what is to be done with the command.
func (s *streamEnds) add(to *gathering, steers, text bool, b []byte) {
	if text != steers {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = to.Write(b)
	if steers {
		_, _ = to.Write([]byte("\n"))
	}
}

// maxFrame bounds a frame that is taken in whole, in bytes. Pebble and Ops send
// some thousands.
const maxFrame = 16 << 20

// readFrames reads the frames of a websocket, as section 5.2 of RFC 6455 has them and
// without extensions, until it is closed.
func readFrames(from *bufio.Reader, got func(text bool, b []byte)) {
	const (
		continued, textual, binaryFrame, closing = 0, 1, 2, 8
	)
	last := byte(binaryFrame)
	for {
		var head [2]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return
		}
		code, size := head[0]&0x0f, uint64(head[1]&0x7f)
		if wide := map[uint64]int{126: 2, 127: 8}[size]; wide > 0 {
			var long [8]byte
			if _, err := io.ReadFull(from, long[8-wide:]); err != nil {
				return
			}
			size = binary.BigEndian.Uint64(long[:])
		}
		var mask [4]byte
		if head[1]&0x80 != 0 {
			if _, err := io.ReadFull(from, mask[:]); err != nil {
				return
			}
		}
		if size > maxFrame || code == closing {
			return
		}
		b := make([]byte, size)
		if _, err := io.ReadFull(from, b); err != nil {
			return
		}
		for i := range b {
			b[i] ^= mask[i%4]
		}
		if code == continued {
			code = last
		}
		if code == textual || code == binaryFrame {
			last = code
			got(code == textual, b)
		}
	}
}
