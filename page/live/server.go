package live

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/history"
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
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /unit", s.unit)
	mux.HandleFunc("GET /run", s.run)
	mux.HandleFunc("GET /lines", s.lines)
	mux.HandleFunc("POST /mark", s.mark)
	mux.HandleFunc("GET /changes", s.changes)
	mux.HandleFunc("POST /do", s.do)
	return s.guarded(mux)
}

// policy is what a browser may do with what it gets; the page says which scripts it may run.
const policy = "default-src 'none'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guarded lets through who asks for the page itself, which has no secret in it, and who knows
// the token. A browser gets the token by the part of the address that it sends to nobody, and
// keeps it for pages of this very port.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		if !isLoopback(r.Host) {
			http.Error(w, "this page is served on loopback only", http.StatusForbidden)
			return
		}
		open := r.Method == http.MethodGet && r.URL.Path == "/"
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !open && (!ok || !s.knows(token)) {
			http.Error(w, "the token is missing or wrong: open the address that unitd has printed", http.StatusUnauthorized)
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
	content, own := page.Index(s.Do != nil)
	w.Header().Set("Content-Security-Policy", policy+"; "+own)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(content)
}

// together is how long what happens at once is gathered before it is sent.
const together = 20 * time.Millisecond

// alive is how often a browser that gets nothing else gets something, so that a
// connection that is no more is noticed.
const alive = 15 * time.Second

// slow is how long a browser may take for what it is sent. One that takes longer gets all
// anew when it asks again.
const slow = 30 * time.Second

// events sends the view's events until the browser goes, or the view ends.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.View.over:
		http.Error(w, "the model can't be shown any more: it is gone, or its store is", http.StatusServiceUnavailable)
		return
	default:
	}
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(parts ...[]byte) error {
		if err := control.SetWriteDeadline(time.Now().Add(slow)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return errors.Trace(err)
		}
		for _, part := range parts {
			if _, err := w.Write(part); err != nil {
				return errors.Trace(err)
			}
		}
		return errors.Trace(control.Flush())
	}
	watcher, end := s.View.Watch()
	defer end()
	for {
		var err error
		select {
		case <-r.Context().Done():
			return
		case <-s.View.over:
			return
		case <-time.After(alive):
			err = send([]byte(":\n\n"))
		case <-watcher.some:
			var b []byte
			if b, err = json.Marshal(watcher.take()); err == nil {
				err = send([]byte("data: "), b, []byte("\n\n"))
			}
			select {
			case <-r.Context().Done():
			case <-time.After(together):
			}
		}
		if err != nil {
			return
		}
	}
}

// run answers with all that there is of a run.
func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	unit, err := model.ParseUnitName(q.Get("unit"))
	number, nerr := strconv.ParseInt(q.Get("run"), 10, 64)
	if err != nil || nerr != nil {
		http.Error(w, "a unit and the number of a run are needed", http.StatusBadRequest)
		return
	}
	for _, dir := range s.View.dirs() {
		entries, err := history.Read(filepath.Join(dir, "history"), unit)
		if err != nil {
			answer(w, nil, err)
			return
		}
		for _, e := range slices.Backward(entries) {
			if e.Run == number && e.ID == q.Get("id") && string(e.Outcome) == q.Get("outcome") {
				answer(w, page.Whole(e), nil)
				return
			}
		}
	}
	answer(w, nil, errors.NotFoundf("run %d of %s", number, unit))
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
