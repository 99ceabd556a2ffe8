package live

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/model"
)

// lines answers with what an entity has logged between two times: that of a run, say.
func (s *Server) lines(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	from, err := strconv.ParseFloat(q.Get("from"), 64)
	to, toErr := strconv.ParseFloat(q.Get("to"), 64)
	if err != nil || toErr != nil {
		http.Error(w, "from and to have to be times in milliseconds", http.StatusBadRequest)
		return
	}
	found, err := s.View.logged(q.Get("entity"), at(from), at(to))
	answer(w, found, err)
}

func at(ms float64) time.Time { return time.UnixMicro(int64(ms * 1000)) }

// logged are the newest lines of an entity between two times, both included.
func (v *View) logged(entity string, from, to time.Time) ([]debuglog.Entry, error) {
	found := []debuglog.Entry{}
	for _, dir := range v.dirs() {
		if err := debuglog.ReadAll(filepath.Join(dir, "debug.log"), func(e debuglog.Entry) error {
			if e.Entity == entity && !e.Time.Before(from) && !e.Time.After(to) {
				found = newest(found, e)
			}
			return nil
		}); err != nil {
			return nil, errors.Trace(err)
		}
		if len(found) > 0 { // no other host has run it
			break
		}
	}
	return found[max(0, len(found)-maxLines):], nil
}

// newest appends a line, and drops old ones now and then.
func newest(lines []debuglog.Entry, e debuglog.Entry) []debuglog.Entry {
	if lines = append(lines, e); len(lines) >= 2*maxLines {
		lines = slices.Clone(lines[len(lines)-maxLines:])
	}
	return lines
}

// marks are moments of the model that it can be compared with.
type marks struct {
	mu  sync.Mutex
	all []mark
}

type mark struct {
	id      int
	picture model.Picture
}

// maxMarks is how many are kept: the newest.
const maxMarks = 20

// Mark names a moment.
type Mark struct {
	ID int `json:"id"`
}

func (s *Server) mark(w http.ResponseWriter, r *http.Request) {
	p, err := s.View.model.WholePicture(r.Context())
	if err != nil {
		answer(w, nil, err)
		return
	}
	s.marks.mu.Lock()
	defer s.marks.mu.Unlock()
	id := 1
	if n := len(s.marks.all); n > 0 {
		id = s.marks.all[n-1].id + 1
	}
	s.marks.all = append(s.marks.all, mark{id, p})
	s.marks.all = s.marks.all[max(0, len(s.marks.all)-maxMarks):]
	answer(w, Mark{id}, nil)
}

// Changed is one thing that is different at two moments.
type Changed struct {
	Sign string `json:"sign"` // "+", "-" or "~"
	Line string `json:"line"`
}

// changes answers with the difference between two marks, or one and now.
func (s *Server) changes(w http.ResponseWriter, r *http.Request) {
	from, err := s.moment(r.Context(), r.URL.Query().Get("from"))
	if err != nil {
		answer(w, nil, err)
		return
	}
	to, err := s.moment(r.Context(), r.URL.Query().Get("to"))
	if err != nil {
		answer(w, nil, err)
		return
	}
	out := []Changed{}
	for _, d := range to.Since(from) {
		out = append(out, Changed{d.Sign(), d.String()})
	}
	answer(w, out, nil)
}

// moment is the picture of a mark; of no mark it is that of now.
func (s *Server) moment(ctx context.Context, id string) (model.Picture, error) {
	if id == "" {
		p, err := s.View.model.WholePicture(ctx)
		return p, errors.Trace(err)
	}
	s.marks.mu.Lock()
	defer s.marks.mu.Unlock()
	i := slices.IndexFunc(s.marks.all, func(m mark) bool { return strconv.Itoa(m.id) == id })
	if i < 0 {
		return nil, errors.NotFoundf("mark %q", id)
	}
	return s.marks.all[i].picture, nil
}

// verbs are the commands that a page may ask for, and whether their words are those of its
// buttons: names and values, of this model, and none that leads to a file.
var verbs = map[string]func(words []string) bool{
	"add-unit": func(words []string) bool { return len(words) == 1 },
	"resolved": func(words []string) bool {
		return len(words) == 1 || len(words) == 2 && words[0] == "--no-retry" && plain(words[1])
	},
	"run": func(words []string) bool { return len(words) >= 2 && plain(words[1]) && all(words[2:], assigns) },
	"config": func(words []string) bool {
		return len(words) == 3 && words[1] == "--reset" && plain(words[2]) || len(words) >= 2 && all(words[1:], assigns)
	},
}

// plain says whether a word is a name, and no option.
func plain(word string) bool { return word != "" && !strings.HasPrefix(word, "-") }

// assigns says whether a word gives a value to something. "@" would be the name of a file, and
// trust is no option of the charm's.
func assigns(word string) bool {
	name, value, ok := strings.Cut(word, "=")
	return ok && plain(word) && !strings.HasPrefix(value, "@") && name != "trust"
}

func all(words []string, is func(string) bool) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !is(word) })
}

// maxLine is how long a command may be, in bytes.
const maxLine = 1 << 20

// Done is what a command has printed; Wrong is what it says is wrong, if it has failed.
type Done struct {
	Printed string `json:"printed,omitempty"`
	Wrong   string `json:"wrong,omitempty"`
}

func (s *Server) do(w http.ResponseWriter, r *http.Request) {
	if s.Do == nil {
		http.Error(w, "the page changes nothing: it was started without --write", http.StatusForbidden)
		return
	}
	var line []string
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLine)).Decode(&line); err != nil {
		http.Error(w, "a list of words is expected", http.StatusBadRequest)
		return
	}
	if err := allowed(line); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	// What has begun is carried out, though the browser may go.
	printed, err := s.Do(context.WithoutCancel(r.Context()), line)
	if err != nil {
		answer(w, Done{Wrong: strings.TrimSpace(err.Error())}, nil)
		return
	}
	answer(w, Done{Printed: printed}, nil)
}

// allowed says whether a page may ask for a command.
func allowed(line []string) error {
	if len(line) > 1 {
		may := verbs[line[0]]
		first := line[1:]
		if may != nil && (plain(first[0]) || line[0] == "resolved" && len(first) == 2) && may(first) {
			return nil
		}
	}
	return errors.Forbiddenf("to ask for %q by a page", strings.Join(line, " "))
}
