package tools

import (
	"net"
	"time"
)

// patient reads and writes a connection, and gives up when nothing has moved
// for that long.
type patient struct {
	net.Conn
	limit time.Duration
}

// Read is io.Reader's.
func (p *patient) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(p.limit)); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

// Write is io.Writer's.
func (p *patient) Write(b []byte) (int, error) {
	const piece = 256 << 10
	written := 0
	for written < len(b) {
		if err := p.SetWriteDeadline(time.Now().Add(p.limit)); err != nil {
			return written, err
		}
		n, err := p.Conn.Write(b[written:min(len(b), written+piece)])
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
