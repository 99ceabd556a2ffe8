package telemetry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/juju/errors"
)

// Server says over HTTP what a meter has measured, and how the agent is.
type Server struct {
	Meter *Meter
	// Well says what is wrong with the agent; nil: nothing.
	Well func(context.Context) error
	// Ready says whether hooks can run.
	Ready func() bool
	// Token, where it is set, is what whoever asks has to have, as "Authorization: Bearer
	// TOKEN".
	Token string
	// Sessions, where it is set, has the listener's TLS, and the server behind it, hand over
	// connections of another protocol; see sessions.Server.
	Sessions func(*tls.Config, *http.Server)
}

// Handler answers /metrics, /healthz and /readyz.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { say(w, s.Well(r.Context())) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if !s.Ready() {
			say(w, errors.New("the agent is starting"))
			return
		}
		say(w, s.Well(r.Context()))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Token != "" && !same(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), s.Token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// same compares two secrets without telling by its time how alike they are.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// say answers whether something is well.
func say(w http.ResponseWriter, wrong error) {
	if wrong != nil {
		http.Error(w, wrong.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	all, err := s.Meter.collect(r.Context())
	if err != nil {
		// What was counted is there, and what couldn't be looked at isn't.
		w.Header().Set("X-Unitd-Incomplete", oneLine(err.Error()))
	}
	var b bytes.Buffer
	_ = expose(&b, all) // to a buffer it always can
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(b.Bytes())
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Listen says where a Server listens, and how. Cert and Key are files in PEM, Token a file
// with the token in it.
type Listen struct{ Address, Cert, Key, Token string }

// Check says what is missing or wrong: an address that others can reach needs TLS and a
// token. The errors are for people.
func (l Listen) Check() error {
	host, _, err := net.SplitHostPort(l.Address)
	switch {
	case err != nil:
		return errors.Errorf("invalid value %q for --listen: expected HOST:PORT", l.Address)
	case (l.Cert == "") != (l.Key == ""):
		return errors.New("--listen-cert and --listen-key go together")
	case loopback(host):
		return nil
	case l.Cert == "" || l.Token == "":
		return errors.Errorf("--listen %s can be reached by others: it needs --listen-cert, --listen-key and --listen-token", l.Address)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Start begins to serve, until the end is called. s gets the token of l.
func (l Listen) Start(s *Server) (address string, end func(), err error) {
	if err := l.Check(); err != nil {
		return "", nil, err
	}
	if l.Token != "" {
		b, err := os.ReadFile(l.Token)
		if err != nil {
			return "", nil, errors.Annotate(err, "cannot read the token")
		}
		if s.Token = strings.TrimSpace(string(b)); len(s.Token) < 16 {
			return "", nil, errors.Errorf("the token in %s is too short: give 16 characters or more", l.Token)
		}
	}
	listener, err := net.Listen("tcp", l.Address)
	if err != nil {
		return "", nil, errors.Annotatef(err, "cannot listen on %s", l.Address)
	}
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	if l.Cert != "" {
		// Read anew for each connection, so that a certificate can be replaced.
		get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			c, err := tls.LoadX509KeyPair(l.Cert, l.Key)
			return &c, err
		}
		if _, err := get(nil); err != nil {
			listener.Close()
			return "", nil, errors.Annotate(err, "cannot read the certificate")
		}
		config := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get}
		if s.Sessions != nil {
			s.Sessions(config, server)
		}
		listener = tls.NewListener(listener, config)
	}
	var over sync.WaitGroup
	over.Go(func() { _ = server.Serve(listener) })
	return listener.Addr().String(), func() { _ = server.Close(); over.Wait() }, nil
}
