package kube

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/juju/errors"
)

// Config says for whom a Server answers, and from what. All but Log is needed.
type Config struct {
	// Application and Unit are whose charm asks, as "web" and "web/0".
	Application string
	Unit        string
	// Token is what the service account shows.
	Token   string
	Cluster *Cluster
	// Log is told in a line what was asked for and isn't answered, once for each
	// kind of request. It may be called from many goroutines at once.
	Log func(line string)
}

// Server is the API server of one unit, an http.Handler. It is to be served with
// TLS, at an address that only the unit reaches.
type Server struct {
	config Config

	mu   sync.Mutex
	said map[string]bool // what was logged, by kind of request
}

// maxSaid bounds of how many kinds of requests is remembered that they were logged.
const maxSaid = 1000

// New makes a server. NotValid for a configuration that lacks something.
func New(c Config) (*Server, error) {
	switch {
	case c.Application == "" || c.Unit == "":
		return nil, errors.NotValidf("server of no unit")
	case c.Token == "":
		return nil, errors.NotValidf("server without a token")
	case c.Cluster == nil:
		return nil, errors.NotValidf("server without objects")
	}
	if c.Log == nil {
		c.Log = func(string) {}
	}
	return &Server{config: c, said: map[string]bool{}}, nil
}

// ServeHTTP answers one request. A watch lasts until the request's context is
// done, or as long as the client has asked for.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.serveOpen(w, r) {
		return
	}
	if !s.knows(r) {
		write(w, http.StatusUnauthorized, (&refusal{code: http.StatusUnauthorized, reason: "Unauthorized", message: "Unauthorized"}).status())
		return
	}
	if o := discovered(r.URL.Path); o != nil && r.Method == http.MethodGet {
		write(w, http.StatusOK, o)
		return
	}
	if err := s.answer(w, r); err != nil {
		s.refuse(w, r, refused(err))
	}
}

// serveOpen answers what everybody may ask.
func (s *Server) serveOpen(w http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case "/healthz", "/livez", "/readyz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok")) // a client that has gone
	case "/version", "/version/":
		write(w, http.StatusOK, version())
	default:
		return false
	}
	return true
}

// knows says whether the request shows the token.
func (s *Server) knows(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && subtle.ConstantTimeCompare([]byte(strings.TrimSpace(token)), []byte(s.config.Token)) == 1
}

// refuse answers with an error, and logs what isn't answered at all.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, why *refusal) {
	if (why.code == http.StatusForbidden || why.code == http.StatusInternalServerError) && s.first(r, why) {
		s.config.Log(fmt.Sprintf("kubernetes API: %s %s of %s: %d %s", r.Method, r.URL.Path, s.config.Unit, why.code, why.message))
	}
	write(w, why.code, why.status())
}

// first says whether that kind of request is refused so for the first time: the same
// verb for the same kind of object, whatever its name.
func (s *Server) first(r *http.Request, why *refusal) bool {
	kind := fmt.Sprint(why.code, " ", r.Method, " ", r.URL.Path)
	if q, ok := parseRequest(r); ok {
		kind = fmt.Sprint(why.code, " ", q.verb, " ", q.kind.group, " ", q.kind.plural, " ", q.sub, " ", q.namespace)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said[kind] || len(s.said) >= maxSaid {
		return false
	}
	s.said[kind] = true
	return true
}

// write answers with an object. The type is just so: lightkube takes an error
// with another one for no answer of a server.
func write(w http.ResponseWriter, code int, o any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache, private")
	w.WriteHeader(code)
	_, _ = w.Write(append(encode(o), '\n')) // a client that has gone
}

// answer answers for a resource.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) error {
	q, ok := parseRequest(r)
	if !ok {
		user := "system:serviceaccount:" + s.config.Cluster.namespace(r.Context()) + ":" + s.config.Application
		return &refusal{
			code: http.StatusForbidden, reason: "Forbidden",
			message: fmt.Sprintf("forbidden: User %q cannot %s path %q", user, strings.ToLower(r.Method), r.URL.Path),
		}
	}
	state, err := s.config.Cluster.look(r.Context())
	if err != nil {
		return errors.Trace(err)
	}
	if err := s.may(q, state); err != nil {
		return errors.Trace(err)
	}
	switch q.verb {
	case "get":
		return errors.Trace(get(w, q, state))
	case "list":
		return errors.Trace(listAll(w, q, s.config.Application, state))
	case "watch":
		return errors.Trace(s.watch(w, q))
	case "create":
		if q.kind.group == reviewGroup {
			return errors.Trace(s.review(w, q, state))
		}
		return errors.Trace(s.create(w, q))
	case "delete":
		return errors.Trace(s.delete(w, q))
	}
	return errors.Trace(s.change(w, q))
}

// may says whether the account may do that. It reads what is in its namespace,
// but for the secrets of other applications, and writes what is its own
// application's.
func (s *Server) may(q *request, st state) error {
	namespace := st.namespace
	forbidden := q.forbidden(fmt.Sprintf("system:serviceaccount:%s:%s", namespace, s.config.Application))
	switch {
	case !q.known, q.sub != "", !q.kind.can(q.verb):
		return forbidden
	case q.namespace != "" && q.namespace != namespace:
		return forbidden
	case q.namespace == "" && !q.kind.cluster && q.verb != "list" && q.verb != "watch":
		return forbidden
	case q.kind.plural == "namespaces" && q.name != "" && q.name != namespace:
		return forbidden
	}
	h, ok := st.objects[id(q.kind, q.name)]
	if !ok || q.name == "" || h.object == nil {
		return nil
	}
	other := h.owner() != s.config.Application && h.owner() != ""
	if other && (q.kind.plural == "secrets" || q.verb != "get") {
		return forbidden
	}
	return nil
}
