package tools

import (
	"net"
	"os"

	"github.com/juju/errors"
)

// Private is a socket of this process, as ListenPrivate and ListenPublic make them.
type Private struct {
	net.Listener
	path   string // where people look for it
	socket *socket
}

// ListenPrivate makes a private socket, with mode 0600. Where path is too long
// for a socket it is a link to it: PrivateAddress follows that. What a killed
// process has left there gives way; the error is AlreadyExists for anything
// else.
func ListenPrivate(path string) (*Private, error) {
	// A link of a former process, whose socket had to be elsewhere.
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSymlink {
		if err := os.Remove(path); err != nil {
			return nil, errors.Trace(err)
		}
	}
	s, err := openSocket(path, false, 0o600)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if s.path != path {
		if err := os.Symlink(s.path, path); err != nil {
			_ = s.Close()
			return nil, errors.Trace(err)
		}
	}
	return &Private{Listener: s.UnixListener, path: path, socket: s}, nil
}

// PrivateAddress is the path to connect to for a private socket that was made
// at path.
func PrivateAddress(path string) string {
	if to, err := os.Readlink(path); err == nil {
		return to
	}
	return path
}

// Close stops listening and removes the socket.
func (p *Private) Close() error {
	if p.socket.path != p.path && p.socket.inPlace() {
		_ = os.Remove(p.path)
	}
	return p.socket.Close()
}
