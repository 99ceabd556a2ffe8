package replay_test

import (
	"strings"
	"testing"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/replay"
)

// call is "TOOL=ANSWER".
func call(text string) replay.Call {
	tool, answer, _ := strings.Cut(text, "=")
	return replay.Call{Request: replay.Request{Args: []string{tool}}, Reply: replay.Reply{Stdout: answer}}
}

// run is the calls, and an end that prints a word.
func run(calls, printed string) replay.Run {
	r := replay.Run{End: replay.End{Printed: []replay.Line{{Text: printed}}}}
	for _, text := range strings.Fields(calls) {
		r.Calls = append(r.Calls, call(text))
	}
	return r
}

// played is what a walk comes to that hears those answers: the calls that it has made, and
// what is printed at the end; "?": nobody knows what comes next.
func played(t *replay.Tree, answers string) string {
	var said []string
	walk := t.Walk()
	for _, answer := range strings.Fields(answers + " more more more") {
		req, ok := walk.Next()
		if !ok {
			break
		}
		said = append(said, req.Args[0])
		if !walk.Hear(replay.Reply{Stdout: answer}) {
			return strings.Join(append(said, "?"), " ")
		}
	}
	end, ok := walk.End()
	if !ok {
		return strings.Join(append(said, "?"), " ")
	}
	return strings.Join(append(said, end.Printed[0].Text), " ")
}

func TestWhatATreeKnows(t *testing.T) {
	t.Parallel()
	type runs []replay.Run
	for _, c := range []struct {
		name          string
		known         runs
		answers, want string
	}{
		{"nothing of a program that never ran", nil, "1", "?"},
		{"a program without calls ends as it did", runs{run("", "done")}, "", "done"},
		{"the same answers have the same end", runs{run("config=1 leader=yes", "both")}, "1 yes", "config leader both"},
		{"an answer that nobody had is the end of what is known", runs{run("config=1 leader=yes", "both")}, "2", "config ?"},
		{"at a later call, too", runs{run("config=1 leader=yes", "both")}, "1 no", "config leader ?"},
		{"another answer leads elsewhere", runs{run("config=1", "one"), run("config=2 status=", "two")}, "1", "config one"},
		{"to other calls", runs{run("config=1", "one"), run("config=2 status=ok", "two")}, "2 ok", "config status two"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tree := &replay.Tree{}
			for _, r := range c.known {
				if known, err := tree.Add(r); known || err != nil {
					t.Fatalf("a new run is known: %v (%v)", known, err)
				}
			}
			if tree.Empty() != (len(c.known) == 0) {
				t.Errorf("it is empty: %v", tree.Empty())
			}
			if got := played(tree, c.answers); got != c.want {
				t.Errorf("have %q, want %q", got, c.want)
			}
		})
	}
}

func TestRunsThatContradictEachOther(t *testing.T) {
	t.Parallel()
	like := func(sum, like string) replay.Run {
		return replay.Run{End: replay.End{Changes: []replay.Change{{Path: "db", Mode: 1, Sum: sum, Like: like}}}}
	}
	lines := func(all ...replay.Line) replay.Run { return replay.Run{End: replay.End{Printed: all}} }
	out, bad := replay.Line{Text: "a"}, replay.Line{Err: true, Text: "b"}
	for _, c := range []struct {
		name      string
		one, next replay.Run
		known     bool
		differs   string // empty: they don't
	}{
		{"the same twice", run("a=1 b=2", "x"), run("a=1 b=2", "x"), true, ""},
		{"another answer is no contradiction", run("a=1 b=2", "x"), run("a=1 b=3 c=", "y"), false, ""},
		{"another first call", run("a=1", "x"), run("b=1", "x"), false, "its call 1 is a, and another one: b"},
		{"another call after the same answer", run("a=1 b=2", "x"), run("a=1 c=2", "x"), false, "its call 2 is b, and another one: c"},
		{"one ends where the other one goes on", run("a=1 b=2", "x"), run("a=1", "x"), false, "ends after 1 calls, and it calls b"},
		{"one goes on where the other one has ended", run("a=1", "x"), run("a=1 b=2", "x"), false, "ends after 1 calls, and it calls b"},
		{"other words at the end", run("a=1", "x"), run("a=1", "y"), false, "prints something else"},
		{"another exit code", replay.Run{}, replay.Run{End: replay.End{Exit: 1}}, false, "exits with 0 and with 1"},
		{"another content", like("1", ""), like("2", ""), false, "makes something else of db"},
		{"another content that means the same", like("1", "same"), like("2", "same"), true, ""},
		{"another content that means something else", like("1", "this"), like("1", "that"), false, "makes something else of db"},
		{"a change that the other one doesn't make", replay.Run{}, like("1", ""), false, "changes db only once"},
		{"how lines of two streams stand to each other is chance", lines(out, bad), lines(bad, out), true, ""},
		{"which stream they are on isn't", lines(out), lines(replay.Line{Err: true, Text: "a"}), false, "prints something else"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tree := &replay.Tree{}
			if _, err := tree.Add(c.one); err != nil {
				t.Fatal(err)
			}
			known, err := tree.Add(c.next)
			switch {
			case known != c.known:
				t.Errorf("known: %v", known)
			case c.differs == "" && err != nil, c.differs != "" && !errors.Is(err, replay.ErrDiffers):
				t.Errorf("it is %v", err)
			case c.differs != "" && !strings.Contains(err.Error(), c.differs):
				t.Errorf("it is %q, want %q", err, c.differs)
			}
			// What was there stays.
			if known, err := tree.Add(c.one); !known || err != nil {
				t.Errorf("the first run isn't known any more: %v", err)
			}
		})
	}
}

// TestAWalkIsTheProgram: of a program that is a function, a tree of any of its runs does what
// the program does, for as long as it knows what that is.
func TestAWalkIsTheProgram(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// The program asks for bits, and what it asks next depends on what it has heard.
		program := func(bits []int) replay.Run {
			r := replay.Run{}
			state := 1
			for len(r.Calls) < len(bits) && state%5 != 0 {
				bit := bits[len(r.Calls)]
				r.Calls = append(r.Calls, replay.Call{
					Request: replay.Request{Args: []string{"ask", strings.Repeat("x", state%7)}}, Reply: replay.Reply{Code: bit},
				})
				state = state*3 + bit + 1
			}
			r.End.Exit = state
			return r
		}
		bits := rapid.SliceOfN(rapid.IntRange(0, 1), 6, 6)
		tree := &replay.Tree{}
		seen := map[string]bool{}
		for range rapid.IntRange(0, 12).Draw(t, "runs") {
			one := bits.Draw(t, "bits")
			if _, err := tree.Add(program(one)); err != nil {
				t.Fatalf("a function contradicts itself: %v", err)
			}
			seen[key(program(one))] = true
		}
		heard := bits.Draw(t, "heard")
		want, walk := program(heard), tree.Walk()
		for i, c := range want.Calls {
			req, ok := walk.Next()
			if !ok {
				if i > 0 || !tree.Empty() {
					t.Fatalf("it ends before call %d", i)
				}
				return
			}
			if strings.Join(req.Args, " ") != strings.Join(c.Request.Args, " ") {
				t.Fatalf("call %d is %v, want %v", i, req.Args, c.Request.Args)
			}
			if !walk.Hear(c.Reply) {
				if seen[key(want)] {
					t.Fatal("it doesn't know a run that it has seen")
				}
				return
			}
		}
		if end, ok := walk.End(); !ok || end.Exit != want.End.Exit {
			t.Fatalf("it ends with %d (%v), want %d", end.Exit, ok, want.End.Exit)
		}
	})
}

func key(r replay.Run) string {
	var b strings.Builder
	for _, c := range r.Calls {
		b.WriteByte(byte('0' + c.Reply.Code))
	}
	return b.String()
}
