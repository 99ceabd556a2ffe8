package pebble

import (
	"encoding/json"
	"io"

	"github.com/coder/websocket"
	"github.com/juju/errors"
)

const (
	// maxFrame bounds a message of a command's output. Pebble's have 128 KiB.
	maxFrame = 1 << 20
	// inputSize is how much of the input is sent in one message.
	inputSize = 32 << 10
)

// endOfStream is the message by which each side ends what it sends.
// Source: docs/spec/containers.md §4.6 f.
const endOfStream = `{"command":"end"}`

// receive writes what comes by a socket until the stream ends. An error of the
// writer's, or what isn't output, ends the command; that the connection breaks is
// told by whoever waits for the change.
func (p *Process) receive(w io.Writer, conn *websocket.Conn) {
	if w == nil {
		w = io.Discard
	}
	for {
		kind, message, err := conn.Reader(p.ctx)
		if err != nil {
			return
		}
		if kind == websocket.MessageBinary {
			err := copyFile(w, message)
			var callers *callersError
			if errors.As(err, &callers) {
				p.cancel(err)
			}
			if err != nil {
				return
			}
			continue
		}
		raw, err := io.ReadAll(message)
		if err != nil {
			return
		}
		var m struct{ Command string }
		if err := json.Unmarshal(raw, &m); err != nil || m.Command != "end" {
			p.cancel(garbage("%s, in the output", excerpt(raw)))
		}
		return
	}
}

// send sends the input, and its end.
func (p *Process) send(conn *websocket.Conn, r io.Reader) {
	for buf := make([]byte, inputSize); r != nil; {
		n, err := r.Read(buf)
		if n > 0 && conn.Write(p.ctx, websocket.MessageBinary, buf[:n]) != nil {
			return // the command has ended, or Pebble has
		}
		if err != nil {
			break
		}
	}
	_ = conn.Write(p.ctx, websocket.MessageText, []byte(endOfStream))
}
