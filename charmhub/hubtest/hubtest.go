// Package hubtest has a hub on loopback for tests: it answers for a directory of charms,
// as docs/spec/juju-clients.md §12 has it, and can be made to misbehave.
package hubtest

import (
	"archive/zip"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/unitd/unitd/charmhub/folder"
)

// Server is a hub. The directory is read again for each request, so what is released
// to it is there at once.
type Server struct {
	*httptest.Server
	dir string

	mu    sync.Mutex
	fault func(w http.ResponseWriter, r *http.Request) bool
	asked []string
}

// Start starts a hub for a directory. Whoever starts it closes it.
func Start(dir string) *Server {
	s := &Server{dir: dir}
	s.Server = httptest.NewServer(s)
	return s
}

// Misbehave has a function see each request first; it says whether it has answered.
func (s *Server) Misbehave(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Asked are the methods and paths of all requests.
func (s *Server) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.Path)
	fault := s.fault
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	hub, err := folder.Open(s.dir)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	hub.ServeHTTP(w, r)
}

// Charm writes a charm with those files as an archive: paths are relative to its root.
func Charm(tb testing.TB, path string, files map[string]string) {
	tb.Helper()
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, content := range files {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o644)
		if !strings.Contains(filepath.Base(name), ".") {
			h.SetMode(0o755)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
}
