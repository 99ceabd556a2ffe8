package sessions

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"sync"
	"time"

	"github.com/juju/errors"
)

// Request is what a person asks an agent to run, of the commands of unitd.
type Request struct {
	// Program is how it is called: "unitd" or "juju".
	Program string `json:"program"`
	// Verb is ssh, debug-hooks or debug-code; Flags are its own options, each as
	// "--name=value".
	Verb  string   `json:"verb"`
	Flags []string `json:"flags,omitempty"`
	// Target is a unit, or the id of a machine; before it may be a user and "@".
	Target string `json:"target"`
	// Words are what follows the target.
	Words []string `json:"words,omitempty"`
	// Terminal is the size of the person's; nil: the program has no terminal, but pipes.
	Terminal *Size `json:"terminal,omitempty"`
	// Term is the kind of the terminal, as $TERM has it.
	Term string `json:"term,omitempty"`
	// Language is that of the person, as $LANG has it; empty: the agent's.
	Language string `json:"language,omitempty"`
	// By says for the log who asks: "ann@laptop". Nobody relies on that.
	By string `json:"by,omitempty"`
}

// Size is that of a terminal, in characters.
type Size struct {
	Rows    uint16 `json:"rows"`
	Columns uint16 `json:"columns"`
}

// kind says what a frame is.
type kind byte

// The person's end begins with a request.
const (
	request kind = 'r' // JSON of Request
	input   kind = 'i' // bytes
	noInput kind = 'e' // there is no more
	resized kind = 'w' // JSON of Size
	signals kind = 's' // by name: "INT"
)

// here is what both ends say while they have nothing else to.
const here kind = 'h'

// The agent's end ends with one of the last two.
const (
	output   kind = 'o' // bytes of the standard output, or of the terminal
	trouble  kind = 'x' // bytes of the standard error
	taken    kind = 'a' // the program has taken one frame of input
	exitCode kind = 'q' // JSON of an int
	refused  kind = 'f' // why, as text for people
)

const (
	// headSize is what comes before a frame's bytes: its kind, and their number.
	headSize = 5
	// mostBytes is how many bytes a frame has at most.
	mostBytes = 64 << 10
	// window is how many frames of input may be on their way that aren't taken yet.
	window = 16
	// hereEvery is how often an end says that it is there, and silent after how long without
	// any word the other one takes it for gone.
	hereEvery = 10 * time.Second
	silent    = 35 * time.Second
)

// sayHere says that this end is there, until over is closed.
func (f *frames) sayHere(over <-chan struct{}) {
	look := time.NewTicker(hereEvery)
	defer look.Stop()
	for {
		select {
		case <-over:
			return
		case <-look.C:
			if f.write(here, nil) != nil {
				return
			}
		}
	}
}

// next reads a frame of an end that has to say something now and then.
func next(conn net.Conn) (kind, []byte, error) {
	if err := conn.SetReadDeadline(time.Now().Add(silent)); err != nil {
		return 0, nil, errors.Trace(err)
	}
	return readFrame(conn)
}

// frames writes frames, one after the other, whoever writes them.
type frames struct {
	mu sync.Mutex
	to io.Writer
}

func (f *frames) write(k kind, b []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	frame := make([]byte, headSize, headSize+len(b))
	frame[0] = byte(k)
	binary.BigEndian.PutUint32(frame[1:], uint32(len(b))) //nolint:gosec // at most mostBytes
	_, err := f.to.Write(append(frame, b...))
	return errors.Trace(err)
}

func (f *frames) writeJSON(k kind, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return errors.Trace(err)
	}
	if len(b) > mostBytes {
		return errors.Errorf("%d bytes are too many for a session", len(b))
	}
	return f.write(k, b)
}

// as is a writer of frames of one kind.
func (f *frames) as(k kind) io.Writer { return writer{f, k} }

type writer struct {
	*frames
	kind kind
}

func (w writer) Write(b []byte) (int, error) {
	for done := 0; done < len(b); {
		part := b[done:min(len(b), done+mostBytes)]
		if err := w.write(w.kind, part); err != nil {
			return done, err
		}
		done += len(part)
	}
	return len(b), nil
}

// readFrame reads the next frame. The error is io.EOF at the end, and NotValid for what is
// none.
func readFrame(from io.Reader) (kind, []byte, error) {
	var head [headSize]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > mostBytes {
		return 0, nil, errors.NotValidf("a frame of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(from, b); err != nil {
		return 0, nil, errors.Annotate(err, "a frame is cut off")
	}
	return kind(head[0]), b, nil
}
