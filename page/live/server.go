package live

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/page"
)

// Server serves a view.
type Server struct {
	View *View
	// Token is what whoever looks has to know.
	Token string
	// Detail gathers what is shown of one unit; NotFound where there is none.
	Detail func(context.Context, model.UnitName) (page.Detail, error)
	// Do carries out a command line that the page asks for, without the name of the
	// program, and gives what it has printed; nil: the page changes nothing.
	Do func(ctx context.Context, line []string) (printed string, err error)

	marks marks
}

// Handler serves the page, its events, and what it asks for.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("GET /files/{name}", s.file)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /unit", s.unit)
	mux.HandleFunc("GET /lines", s.lines)
	mux.HandleFunc("POST /mark", s.mark)
	mux.HandleFunc("GET /changes", s.changes)
	mux.HandleFunc("POST /do", s.do)
	return s.guarded(mux)
}

// cookie is the name of the cookie with the token. Browsers send it to all ports of a
// host, so that of each server has a name of its own.
func (s *Server) cookie() string { return "unitd-" + s.Token[:8] }

// guarded lets through who knows the token, and asks from where he may.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		if !isLoopback(r.Host) {
			http.Error(w, "this page is served on loopback only", http.StatusForbidden)
			return
		}
		if r.Method == http.MethodGet && r.URL.Path == "/" && s.knows(r.URL.Query().Get("token")) {
			http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: s.Token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, "/", http.StatusSeeOther) // so that the token isn't in the address bar
			return
		}
		if c, err := r.Cookie(s.cookie()); err != nil || !s.knows(c.Value) {
			http.Error(w, "the token is missing or wrong: open the address that unitd has printed", http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); r.Method != http.MethodGet && origin != "http://"+r.Host {
			http.Error(w, "only the page itself may ask for this", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) knows(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.Token)) == 1
}

// isLoopback says whether a Host header names this host by loopback: a name that somebody
// else has made lead here is of another origin, whose pages may then ask.
func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Server) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.Index(s.Do != nil))
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	content, kind, ok := page.File(r.PathValue("name"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(content)
}

// together is how long what happens at once is gathered before it is sent.
const together = 20 * time.Millisecond

// alive is how often a browser that gets nothing else gets something, so that a
// connection that is no more is noticed.
const alive = 15 * time.Second

// events sends the view's events until the browser goes, or the server ends.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	flush, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "no events can be sent", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	watcher, end := s.View.Watch()
	defer end()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(alive):
			if _, err := w.Write([]byte(":\n\n")); err != nil {
				return
			}
		case <-watcher.some:
			b, err := json.Marshal(watcher.take())
			if err != nil {
				return
			}
			for _, part := range [][]byte{[]byte("data: "), b, []byte("\n\n")} {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
			flush.Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(together):
			}
			continue
		}
		flush.Flush()
	}
}

func (s *Server) unit(w http.ResponseWriter, r *http.Request) {
	name, err := model.ParseUnitName(r.URL.Query().Get("name"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d, err := s.Detail(r.Context(), name)
	answer(w, d, err)
}

// answer sends a value as JSON, or what is wrong as a line of text.
func answer(w http.ResponseWriter, value any, err error) {
	if err != nil {
		code := http.StatusInternalServerError
		if errors.Is(err, errors.NotFound) {
			code = http.StatusNotFound
		}
		http.Error(w, err.Error(), code)
		return
	}
	b, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}
