package systemd

import (
	"bytes"
	"encoding/hex"
	"io"
	"strings"
	"sync/atomic"

	"github.com/godbus/dbus/v5"
	"github.com/juju/errors"
)

// checked is a connection to a bus that somebody else may be in the place of. The library
// takes the bus itself at its word, and panics where that makes no sense; so it gets answers
// and systemd's signals alone, each of which is whole, and no end of them is an error.
type checked struct {
	conn  io.ReadWriteCloser
	said  bytes.Buffer // what the library is to read next
	begun bool         // it has its turn to write
	read  atomic.Int64 // since systemd's last word
}

// mostLine is the length of an answer while the bus is entered.
const mostLine = 256

var errTooMuch = errors.New("the bus says too much")

// enter goes through the greeting of a bus as nobody, and has the library believe that it
// does: what it reads first is an answer that fits.
// Source: docs/spec/machine-isolation.md §8.
func enter(conn io.ReadWriteCloser) (*checked, error) {
	if _, err := conn.Write([]byte("\x00AUTH EXTERNAL " + hex.EncodeToString([]byte(nobody)) + "\r\n")); err != nil {
		return nil, errors.Trace(err)
	}
	var line []byte
	for b := make([]byte, 1); !bytes.HasSuffix(line, []byte("\r\n")); line = append(line, b[0]) {
		if len(line) > mostLine {
			return nil, errTooMuch
		}
		if _, err := io.ReadFull(conn, b); err != nil {
			return nil, errors.Trace(err)
		}
	}
	if !strings.HasPrefix(string(line), "OK ") {
		return nil, errors.Errorf("it doesn't let nobody in: %q", strings.TrimSpace(string(line)))
	}
	if _, err := conn.Write([]byte("BEGIN\r\n")); err != nil {
		return nil, errors.Trace(err)
	}
	c := &checked{conn: conn}
	c.said.WriteString("REJECTED EXTERNAL\r\nOK 0\r\n")
	return c, nil
}

// Write passes on what the library says after its part of the greeting.
func (c *checked) Write(b []byte) (int, error) {
	if c.begun {
		return c.conn.Write(b)
	}
	c.begun = bytes.HasSuffix(b, []byte("BEGIN\r\n"))
	return len(b), nil
}

// Read is one message after the other.
func (c *checked) Read(b []byte) (int, error) {
	for c.said.Len() == 0 {
		m, err := dbus.DecodeMessage(io.TeeReader(reading{c}, &c.said))
		if err != nil {
			return 0, errors.Trace(err)
		}
		if !harmless(m) {
			c.said.Reset()
		}
	}
	return c.said.Read(b)
}

// harmless says whether a message is for the library: an answer, or a signal of systemd's.
func harmless(m *dbus.Message) bool {
	switch m.Type {
	case dbus.TypeMethodReply, dbus.TypeError:
		return true
	case dbus.TypeSignal:
		iface, _ := m.Headers[dbus.FieldInterface].Value().(string)
		return iface == properties || iface == managerIface
	}
	return false
}

// Close closes the connection.
func (c *checked) Close() error { return c.conn.Close() }

// heard begins the count of what is read anew.
func (c *checked) heard() { c.read.Store(0) }

// reading counts what is read.
type reading struct{ of *checked }

func (r reading) Read(b []byte) (int, error) {
	if r.of.read.Load() > mostRead {
		return 0, errTooMuch
	}
	n, err := r.of.conn.Read(b)
	r.of.read.Add(int64(n))
	return n, err
}
