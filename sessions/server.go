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
	// mostExpected is how many may be expected at a time.
	mostExpected = 100
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

	self *Identity
	mu   sync.Mutex
	wait map[Print]guest
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
	return &Server{self: self, wait: map[Print]guest{}}, nil
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
	exit, err := run(conn, to, cmd, r)
	if err != nil {
		s.Log("a session with another host has ended", append(about, "err", err)...)
		_ = to.write(refused, []byte(err.Error()))
		return
	}
	s.Log("a session with another host has ended", append(about, "exit", exit)...)
	_ = to.writeJSON(exitCode, exit)
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
