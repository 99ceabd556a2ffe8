package debugger_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debugger"
)

// outcome is what Run has returned.
type outcome struct {
	exit  int
	taken bool
	err   error
}

// offered offers a run of a hook to who listens in dir.
func offered(ctx context.Context, dir string) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		exit, taken, err := debugger.Run(ctx, dir, debugger.Offer{Unit: "shop/0", Hook: "start", Env: []string{"A=b\nc"}, Path: "x"}, func() {})
		out <- outcome{exit, taken, err}
	}()
	return out
}

// listening listens in a directory, whose path is too long for a socket if
// long.
func listening(t *testing.T, long bool) (string, *debugger.Listener) {
	t.Helper()
	dir, err := os.MkdirTemp("", "u")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if long {
		dir = filepath.Join(dir, strings.Repeat("long", 30))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l, err := debugger.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return dir, l
}

func next(t *testing.T, l *debugger.Listener) *debugger.Session {
	t.Helper()
	s, err := l.Next()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestARunIsAnsweredByItsExitCode(t *testing.T) {
	t.Parallel()
	for name, long := range map[string]bool{"a short path": false, "a path too long for a socket": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, l := listening(t, long)
			out := offered(t.Context(), dir)
			s := next(t, l)
			if s.Hook != "start" || len(s.Env) != 1 || s.Env[0] != "A=b\nc" || !s.Take() {
				t.Fatalf("offered %+v", s.Offer)
			}
			s.End(3)
			if o := <-out; o != (outcome{3, true, nil}) {
				t.Errorf("got %+v", o)
			}
		})
	}
}

func TestNobodyListensOrWantsIt(t *testing.T) {
	t.Parallel()
	if o := <-offered(t.Context(), t.TempDir()); o != (outcome{}) {
		t.Errorf("no socket: %+v", o)
	}
	dir, l := listening(t, false)
	out := offered(t.Context(), dir)
	next(t, l).Refuse()
	if o := <-out; o != (outcome{}) {
		t.Errorf("refused: %+v", o)
	}
	if _, err := debugger.Listen(dir); !errors.Is(err, errors.AlreadyExists) {
		t.Errorf("a second one: %v", err)
	}
	// Whoever has looked whether somebody listens is no offer.
	out = offered(t.Context(), dir)
	next(t, l).Refuse()
	<-out
	l.Close()
	if o := <-offered(t.Context(), dir); o != (outcome{}) {
		t.Errorf("closed: %+v", o)
	}
}

// TestASocketThatWasLeftBehind holds up neither hooks nor the next session.
func TestASocketThatWasLeftBehind(t *testing.T) {
	t.Parallel()
	dir, l := listening(t, false)
	l.UnixListener.Close() // as the kernel does for who is killed
	if _, err := os.Lstat(filepath.Join(dir, debugger.SocketName)); err != nil {
		t.Fatal(err)
	}
	if o := <-offered(t.Context(), dir); o != (outcome{}) {
		t.Errorf("left behind: %+v", o)
	}
	again, err := debugger.Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	out := offered(t.Context(), dir)
	s := next(t, again)
	s.Take()
	s.End(0)
	if o := <-out; o != (outcome{0, true, nil}) {
		t.Errorf("the next one: %+v", o)
	}
}

func TestWhoGoesAwayInTheMiddle(t *testing.T) {
	t.Parallel()
	dir, l := listening(t, false)
	out := offered(t.Context(), dir)
	s := next(t, l)
	s.Take()
	s.Drop()
	if o := <-out; !o.taken || !errors.Is(o.err, debugger.ErrEnded) {
		t.Errorf("the person: %+v", o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out = offered(ctx, dir)
	s = next(t, l)
	s.Take()
	cancel()
	<-s.Gone
	if o := <-out; !o.taken || !errors.Is(o.err, context.Canceled) {
		t.Errorf("the agent: %+v", o)
	}
}

func TestWhichHooksAreWanted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hooks string
		want  bool
	}{{"", true}, {"*", true}, {"install start", true}, {"install *", true}, {"install", false}, {"sta", false}} {
		if got := (debugger.Offer{Hook: "start"}).Wanted(strings.Fields(c.hooks)); got != c.want {
			t.Errorf("%q: %v", c.hooks, got)
		}
	}
}
