package journald

import (
	"encoding/binary"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/juju/errors"
)

// Path is where the journal listens.
const Path = "/run/systemd/journal/socket"

// Field is a part of a record. Its name has capital letters, digits and underscores, as Name
// makes it; the value is any bytes.
type Field struct{ Name, Value string }

// Name is a name of a field: what the journal doesn't take in one is an underscore. It has at
// most 64 characters, and the first is a letter.
// Source: docs/spec/service-manager.md §6.
func Name(s string) string {
	var b strings.Builder
	for _, r := range strings.ToUpper(s) {
		if (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			r = '_'
		}
		if b.Len() == 0 && (r < 'A' || r > 'Z') {
			b.WriteByte('X')
		}
		if b.WriteRune(r); b.Len() == 64 {
			break
		}
	}
	return b.String()
}

// appendField appends a field as the protocol has it.
func appendField(b []byte, f Field) []byte {
	b = append(b, f.Name...)
	if strings.Contains(f.Value, "\n") {
		b = append(b, '\n')
		b = binary.LittleEndian.AppendUint64(b, uint64(len(f.Value)))
	} else {
		b = append(b, '=')
	}
	b = append(b, f.Value...)
	return append(b, '\n')
}

// Socket sends records to a journal. It is safe for use by many goroutines.
type Socket struct {
	path string
	mu   sync.Mutex
	conn *net.UnixConn
}

// Open connects to the journal that listens at a path. Errors: NotFound where none does.
func Open(path string) (*Socket, error) {
	s := &Socket{path: path}
	return s, s.connect()
}

func (s *Socket) connect() error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.path, Net: "unixgram"})
	if err != nil {
		return errors.NewNotFound(nil, "no journal listens at "+s.path+": "+reason(err))
	}
	if s.conn != nil {
		s.conn.Close()
	}
	s.conn = conn
	return nil
}

// reason is what the system says, without who was asked for what.
func reason(err error) string {
	var no syscall.Errno
	if errors.As(err, &no) {
		return no.Error()
	}
	return err.Error()
}

// patience is how long a journal that is busy may keep who logs waiting.
const patience = 5 * time.Second

// Send sends a record. It connects again where the journal was begun anew. The error says that
// the journal hasn't got it.
func (s *Socket) Send(fields []Field) error {
	var b []byte
	for _, f := range fields {
		b = appendField(b, f)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.send(b)
	if err != nil && !errors.Is(err, errors.Timeout) && s.connect() == nil {
		err = s.send(b)
	}
	return errors.Annotate(err, "cannot log to the journal")
}

func (s *Socket) send(b []byte) error {
	_ = s.conn.SetWriteDeadline(time.Now().Add(patience))
	_, err := s.conn.Write(b)
	if errors.Is(err, syscall.EMSGSIZE) || errors.Is(err, syscall.ENOBUFS) {
		err = s.sendFile(b)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.NewTimeout(nil, "it takes nothing")
	}
	return errors.Trace(err)
}

// Close ends the connection.
func (s *Socket) Close() error { return errors.Trace(s.conn.Close()) }
