package tools

import (
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/juju/errors"
)

// Listen makes the socket and serves it until Close. Whatever socket was at
// path, left by an agent that was killed, is replaced; the error is
// AlreadyExists if something else is there. Where path is too long for the
// system, the socket is in a new directory below os.TempDir; see Addr.
func Listen(path string, log *slog.Logger) (*Server, error) {
	return listen(path, log, patience, false)
}

// ListenNear is Listen for a socket that is at path however long that is: its
// callers see the directory under a shorter name.
func ListenNear(path string, log *slog.Logger) (*Server, error) {
	return listen(path, log, patience, true)
}

func listen(path string, log *slog.Logger, patience time.Duration, near bool) (*Server, error) {
	socket, err := openSocket(path, near, 0o600)
	if err != nil {
		return nil, errors.Annotate(err, "cannot listen for hook tools")
	}
	s := serveOn(socket, path, log, patience, near)
	s.begin()
	return s, nil
}

// serveOn is a server on a socket that is there; begin follows.
func serveOn(socket *socket, path string, log *slog.Logger, patience time.Duration, near bool) *Server {
	s := &Server{
		log:      log,
		path:     path,
		near:     near,
		open:     os.OpenFile,
		callers:  callers{hooks: os.Geteuid()},
		giveBy:   func(path string, uid int) error { return os.Lchown(path, uid, -1) },
		socket:   socket,
		patience: patience,
		slots:    make(chan struct{}, maxConnections),
		clients:  map[net.Conn]bool{},
	}
	return s
}

// begin has calls be accepted, if they aren't.
func (s *Server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accepts || s.closed {
		return
	}
	s.accepts = true
	s.serving.Add(1)
	go s.accept(s.socket)
}

// Restore listens again if the socket was removed, or replaced by another one,
// as by a hook. It is for the time between runs. The error is AlreadyExists if
// something that isn't a socket is in its place.
func (s *Server) Restore() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.socket.inPlace() {
		return nil
	}
	// Before the new one is made: that might have the same inode.
	_ = s.socket.Close()
	socket, err := openSocket(s.path, s.near, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot listen for hook tools")
	}
	s.log.Warn("the socket for hook tools was gone and is there again", "path", socket.path)
	s.socket, s.accepts = socket, true
	s.serving.Add(1)
	go s.accept(socket)
	return errors.Annotate(socket.give(s.callers.hooks, s.giveBy), "cannot have hooks find their tools")
}

// Addr is where the socket is: JUJU_AGENT_SOCKET_ADDRESS. Restore may change it.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.socket.path
}
