package footprint

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Modes of Tracker, as a person chooses them.
const (
	Off     = "off"     // nothing is looked at
	Names   = "names"   // which files
	Content = "content" // and what became of text in them
)

// Found is what became of the files of one run.
type Found struct {
	Files []Change `json:",omitempty"`
	// More is how many there were beside Files.
	More int `json:",omitempty"`
	// Note says what isn't known, if something isn't.
	Note string `json:",omitempty"`
}

const (
	// MaxListed is how many files Found has at most.
	MaxListed = 200
	// MaxFiles is how many files a unit may have for them to be looked at, MaxTime how long
	// a look may take.
	MaxFiles = 20_000
	MaxTime  = 500 * time.Millisecond
)

// Tracker follows what the hooks of one unit do to its files. The zero value follows nothing.
// It is for one goroutine.
type Tracker struct {
	mode  string
	seen  *Sight // after the newest run; nil: nobody has looked since
	texts *texts // by then; nil: they aren't followed
	since int64  // when the run that goes on began; 0: none does that could be told of
	// over says why the unit's files aren't looked at any more.
	over string
	// limits are those of each look; zero: MaxFiles and MaxTime.
	limits Limits
}

// Follow changes the mode. A run that goes on isn't told of then.
func (t *Tracker) Follow(mode string) {
	if mode == "" {
		mode = Off
	}
	if t.mode != mode {
		*t = Tracker{mode: mode, limits: t.limits}
	}
}

// Forget is to be called when somebody else than a hook has changed the files, as by another
// charm: the next run begins with a look.
func (t *Tracker) Forget() { *t = Tracker{mode: t.mode, limits: t.limits} }

// Unfollowed is to be called where a run goes on that isn't told of, as that of a command: the next
// one that is begins with a look. One within a run that goes on, as a hook that runs twice, is
// told of with it.
func (t *Tracker) Unfollowed() {
	if t.since == 0 {
		t.seen, t.texts = nil, nil
	}
}

// Begin notes that a run begins. nil: nobody knows where its files are.
func (t *Tracker) Begin(roots []Root) {
	if t.since != 0 { // nobody has asked what became of the former run
		t.Forget()
	}
	if !t.On() || t.over != "" || roots == nil {
		return
	}
	if t.seen == nil {
		s := t.look(roots)
		if t.tooMuch(s) {
			return
		}
		t.seen = s
		if t.mode == Content {
			t.texts = readTexts(roots, s, t.deadline())
		}
	}
	t.since = now()
}

func (t *Tracker) look(roots []Root) *Sight { return Look(roots, t.bounds()) }

// bounds are the limits of a look.
func (t *Tracker) bounds() Limits {
	if t.limits == (Limits{}) {
		return Limits{MaxFiles, MaxTime}
	}
	return t.limits
}

// deadline is until when texts are read that are to be read now; zero: there is none.
func (t *Tracker) deadline() time.Time {
	if most := t.bounds().Time; most > 0 {
		return time.Now().Add(most)
	}
	return time.Time{}
}

// On says whether anybody wants to know anything: else nothing need be done at all.
func (t *Tracker) On() bool { return t.mode == Names || t.mode == Content }

// tooMuch notes where a sight isn't whole: nothing is looked at any more then.
func (t *Tracker) tooMuch(s *Sight) bool {
	if s.Over {
		*t = Tracker{mode: t.mode, limits: t.limits, over: fmt.Sprintf("not looked for: the unit has more than %d files, or looking at them takes longer than %s", MaxFiles, MaxTime)}
	}
	return s.Over
}

// End is what has become of files since Begin; nil: nobody wants to know. Without roots, it isn't
// known.
func (t *Tracker) End(roots []Root) *Found {
	since := t.since
	t.since = 0
	switch {
	case !t.On():
		return nil
	case t.over != "":
		return &Found{Note: t.over}
	case since == 0:
		t.Forget()
		return &Found{Note: "not known: nobody had looked when the run began"}
	case roots == nil:
		t.Forget()
		return &Found{Note: "not known: the unit's files couldn't be looked at"}
	}
	s := t.look(roots)
	if t.tooMuch(s) {
		return &Found{Note: t.over}
	}
	all := Between(t.seen, s, since)
	f := &Found{Files: all[:min(len(all), MaxListed)], More: max(0, len(all)-MaxListed)}
	if n := len(s.Unread); n > 0 {
		f.Note = fmt.Sprintf("not all is known: the agent may not read %s", strings.Join(s.Unread[:min(n, 3)], ", "))
		if n > 3 {
			f.Note += fmt.Sprintf(" and %d more directories", n-3)
		}
	}
	if t.mode == Content {
		t.texts.advance(roots, t.seen, s, all, t.deadline())
	}
	t.seen = s
	return f
}

// rootOf is the root that a path is of, and the path in it: of roots within each other the
// innermost one.
func rootOf(roots []Root, at string) (found *Root, within string) {
	for i, r := range roots {
		rest, below := strings.CutPrefix(at, strings.TrimSuffix(r.As, "/")+"/")
		if r.As == "" {
			rest, below = at, !strings.HasPrefix(at, "/")
		}
		if below && (found == nil || len(r.As) > len(found.As)) {
			found, within = &roots[i], rest
		}
	}
	return found, within
}

// openIn opens a file of a directory for reading, if it is a regular one: links out of the
// directory lead nowhere, and no pipe is waited for.
func openIn(dir, within string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(within, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, os.ErrInvalid
	}
	return f, nil
}
