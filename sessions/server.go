package sessions

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/juju/errors"
)

const (
	// expected is how long somebody who has asked may take to connect.
	expected = time.Minute
	// mostExpected is how many may be expected at a time, and mostRunning how many there.
	mostExpected = 100
	mostRunning  = 100
	// begun is how long who has connected may take to say what for.
	begun = 10 * time.Second
)

// Server is the agent's end.
type Server struct {
	// Command is the program that does what a person asks for who was expected for a model.
	// The error says for people why there is none.
	Command func(model string, r Request) (*exec.Cmd, error)
	// Log says what sessions there are.
	Log func(msg string, args ...any)

	self    *Identity
	mu      sync.Mutex
	wait    map[Print]guest
	running map[*program]bool
	closed  bool
}

// guest is somebody who was expected.
type guest struct {
	model string // its UUID
	until time.Time
}

// NewServer is a server with an identity of its own.
func NewServer() (*Server, error) {
	self, err := NewIdentity()
	if err != nil {
		return nil, errors.Trace(err)
	}
	return &Server{self: self, wait: map[Print]guest{}, running: map[*program]bool{}}, nil
}

// Print is by what the other end knows the server.
func (s *Server) Print() Print { return s.self.Print }

// Expect lets who has a print begin one session, in a model and within a minute. The errors
// are NotValid and QuotaLimitExceeded.
func (s *Server) Expect(p Print, model string) error {
	if !p.Valid() {
		return errors.NotValidf("the print %q", p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for other, g := range s.wait {
		if now.After(g.until) {
			delete(s.wait, other)
		}
	}
	if len(s.wait) >= mostExpected {
		return errors.QuotaLimitExceededf("so many sessions have been asked for and not begun: try again in a minute")
	}
	s.wait[p] = guest{model, now.Add(expected)}
	return nil
}

// isExpected is the error of somebody who isn't.
func (s *Server) isExpected(p Print) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, ok := s.wait[p]; !ok || time.Now().After(g.until) {
		return errors.New("nobody with this certificate is expected")
	}
	return nil
}

// admit takes who is expected, once.
func (s *Server) admit(p Print) (model string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.wait[p]
	delete(s.wait, p)
	return g.model, ok && time.Now().Before(g.until)
}

// Serve has a listener's TLS, and the server behind it, hand sessions over, which they know by
// their protocol.
func (s *Server) Serve(c *tls.Config, server *http.Server) {
	own := s.self.config(s.isExpected)
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if slices.Contains(hello.SupportedProtos, Protocol) {
			return own, nil
		}
		return nil, nil //nolint:nilnil // which is how crypto/tls is told to go on with its own
	}
	if server.TLSNextProto == nil {
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	server.TLSNextProto[Protocol] = func(_ *http.Server, conn *tls.Conn, _ http.Handler) { s.serve(conn) }
}

// serve is one session. The connection is the caller's to close.
func (s *Server) serve(conn *tls.Conn) {
	model, ok := s.admit(printOf(conn.ConnectionState().PeerCertificates[0].Raw))
	to := &frames{to: conn}
	if !ok { // two have come by one print
		_ = to.write(refused, []byte("this session has begun already"))
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(begun))
	r, err := readRequest(conn)
	if err != nil {
		_ = to.write(refused, []byte(err.Error()))
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	cmd, err := s.Command(model, r)
	if err != nil {
		_ = to.write(refused, []byte(err.Error()))
		return
	}
	about := []any{"verb", r.Verb, "target", r.Target, "by", r.By, "from", conn.RemoteAddr().String()}
	s.Log("a session with another host begins", about...)
	exit, err := s.run(conn, to, cmd, r)
	if err != nil {
		s.Log("a session with another host has ended", append(about, "err", err)...)
		_ = to.write(refused, []byte(err.Error()))
		return
	}
	s.Log("a session with another host has ended", append(about, "exit", exit)...)
}

// run runs a program for who is at the other end of a connection, until it ends, and says how
// that was. The error is that it can't be run, or that the other end has gone.
func (s *Server) run(conn *tls.Conn, to *frames, cmd *exec.Cmd, r Request) (exit int, err error) {
	p, err := s.begin(cmd, to, r)
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer s.over(p)
	left := make(chan struct{})
	go func() {
		defer close(left)
		p.listen(func() (kind, []byte, error) { return next(conn) })
	}()
	go to.sayHere(left)
	select {
	case <-p.ended:
	case <-left:
		p.hangUp(goodbye)
		return 0, errLeft
	}
	if exit, err = p.exit(); err != nil {
		return 0, errors.Trace(err)
	}
	_ = to.writeJSON(exitCode, exit)
	_ = conn.CloseWrite()
	// What is on its way there would be lost if the connection was closed with anything unread.
	select {
	case <-left:
	case <-time.After(goodbye):
	}
	return exit, nil
}

// begin starts a program, unless the server has been closed.
func (s *Server) begin(cmd *exec.Cmd, to *frames, r Request) (*program, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errors.New("the agent ends")
	case len(s.running) >= mostRunning:
		return nil, errors.QuotaLimitExceededf("so many sessions run on this host")
	}
	p, err := start(cmd, to, r)
	if err == nil {
		s.running[p] = true
	}
	return p, errors.Trace(err)
}

func (s *Server) over(p *program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, p)
}

// Close ends all sessions, and lets none begin any more. It waits for their programs, which
// don't have long.
func (s *Server) Close() { s.Hold() }

// Hold is Close until back is called, after which sessions can begin again, unless the server was
// closed before.
func (s *Server) Hold() (back func()) {
	s.mu.Lock()
	held := s.closed
	s.closed = true
	var all sync.WaitGroup
	for p := range s.running {
		all.Go(func() { p.hangUp(time.Second) })
	}
	s.mu.Unlock()
	all.Wait()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = held
	}
}

func readRequest(conn net.Conn) (r Request, err error) {
	k, b, err := readFrame(conn)
	if err == nil && k != request {
		err = errors.New("a session begins with a request")
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	return r, errors.Annotate(err, "cannot read what the session is for")
}
