package memory_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unitd/unitd/footprint"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/script/memory"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/tools/wire"
)

// exploration has worlds with one memory.
type exploration struct {
	*testing.T
	dir string
	n   int
	// hook is what the charm's hook does; it is a process elsewhere.
	hook func(*process)
	// answers are what hook tools say.
	answers map[string]string
}

func newExploration(t *testing.T, hook func(*process)) *exploration {
	x := &exploration{T: t, dir: t.TempDir(), hook: hook, answers: map[string]string{}}
	if err := memory.Make(x.dir); err != nil {
		t.Fatal(err)
	}
	return x
}

// process is the hook as it runs in a world, or the world after it.
type process struct {
	x       *exploration
	dir     string // the charm's
	known   func(wire.Request) (wire.Reply, bool)
	heard   func(tools.Call)
	print   func(runner.Stream, string)
	ran     bool
	exit    int
	mu      sync.Mutex
	calls   []string // that have reached the model
	printed []string
}

// call calls a hook tool.
func (p *process) call(args ...string) string {
	return p.tool(wire.Request{Dir: p.dir, Args: args})
}

func (p *process) tool(req wire.Request) string {
	if p.known != nil {
		if reply, ok := p.known(req); ok {
			return string(reply.Stdout)
		}
	}
	return string(p.answer(req).Stdout)
}

// answer makes a call in the model.
func (p *process) answer(req wire.Request) wire.Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	call := strings.Join(req.Args, " ")
	for _, arg := range req.Args {
		if _, path, ok := strings.Cut(arg, "#file="); ok {
			b, err := os.ReadFile(path)
			if err != nil {
				p.x.Errorf("%s: %v", call, err)
			}
			call = strings.ReplaceAll(call, path, string(b))
		}
	}
	p.calls = append(p.calls, call)
	began := time.Now()
	reply := wire.Reply{Stdout: []byte(p.x.answers[req.Args[0]])}
	if p.heard != nil {
		p.heard(tools.Call{Tool: req.Args[0], Began: began, Duration: time.Since(began), Request: req, Reply: reply})
	}
	return reply
}

func (p *process) write(name, content string) {
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.x.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.x.Fatal(err)
	}
}

// run runs the hook in a new world.
func (x *exploration) run() *process {
	x.Helper()
	x.n++
	p := &process{x: x, dir: filepath.Join(x.TempDir(), "unit", "charm")}
	p.write("dispatch", "#!/bin/sh\n")
	p.write("src/charm.py", "pass\n")
	p.write("old/file", "old\n")
	x.again(p)
	return p
}

// again runs the hook in a world that there is.
func (x *exploration) again(p *process) {
	x.Helper()
	m := &memory.Memory{Dir: x.dir, Way: fmt.Sprintf("way-%d", x.n), Seed: "1", World: filepath.Dir(filepath.Dir(p.dir))}
	p.calls, p.printed, p.ran = nil, nil, false
	show := func(_ runner.Stream, line string) { p.printed = append(p.printed, line) }
	o := m.Around(context.Background(), machine.Program{
		Unit: "app/0", Run: int64(x.n), Hook: hooks.Info{Kind: hooks.ConfigChanged}, Charm: "sum", Dir: p.dir,
		Path: filepath.Join(p.dir, "dispatch"), Context: "context-" + p.dir, Alone: true, Print: show, Call: p.answer,
		Env: []string{"CHARM_DIR=" + p.dir, "JUJU_MODEL_UUID=uuid-" + p.dir, fmt.Sprintf("UNITD_RUN_NUMBER=%d", x.n), "UNITD_RUN=none/" + p.dir, fmt.Sprintf("JUJU_AGENT_SOCKET=/tmp/unitd-%d/socket", x.n)},
		Listen: func(known func(wire.Request) (wire.Reply, bool), heard func(tools.Call)) {
			p.known, p.heard = known, heard
		},
	}, func(print func(runner.Stream, string)) runner.Outcome {
		p.ran, p.print = true, print
		x.hook(p)
		return runner.Outcome{Exit: p.exit}
	})
	p.exit = o.Exit
	if o.Err != nil {
		x.Error(o.Err)
	}
}

// learn runs the hook in as many worlds as it takes until one could be replayed: the first is
// remembered, and the next is a sample.
func (x *exploration) learn() *process {
	x.Helper()
	first := x.run()
	if !x.run().ran {
		x.Error("the first hook that could be replayed isn't a sample")
	}
	return first
}

// replayed is a world in which the hook is replayed.
func (x *exploration) replayed() *process {
	x.Helper()
	for range 4 { // some may be samples
		if p := x.run(); !p.ran {
			return p
		}
	}
	x.Fatalf("it isn't replayed: %q", memory.Refused(x.dir))
	return nil
}

func (p *process) look() string {
	var b strings.Builder
	s := footprint.Look([]footprint.Root{{Dir: p.dir}}, footprint.Limits{})
	for _, c := range footprint.Between(&footprint.Sight{}, s, 0) {
		content, err := os.ReadFile(filepath.Join(p.dir, c.Path))
		if err != nil {
			p.x.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %o %q\n", c.Path, s.Files[c.Path].Mode, content)
	}
	return b.String()
}

// TestAReplayIsLikeARun: it makes the same calls, prints the same and leaves the same files.
func TestAReplayIsLikeARun(t *testing.T) {
	t.Parallel()
	x := newExploration(t, func(p *process) {
		size := p.call("config-get", "size")
		p.print(runner.Stdout, "the charm is in "+p.dir)
		p.call("juju-log", "at "+p.dir+", "+size)
		p.tool(wire.Request{Dir: p.dir, Args: []string{"relation-set", "--file", "-"}, StdinSet: true, Stdin: []byte("a: " + p.dir)})
		temp := filepath.Join(p.x.TempDir(), "secret")
		if err := os.WriteFile(temp, []byte("hidden"), 0o600); err != nil {
			p.x.Fatal(err)
		}
		p.call("secret-add", "word#file="+temp)
		p.write("run/size", size)
		p.write("dispatch", "#!/bin/sh\n# changed\n")
		_ = os.Chmod(filepath.Join(p.dir, "dispatch"), 0o700)
		_ = os.RemoveAll(filepath.Join(p.dir, "old"))
		_ = os.Symlink("run/size", filepath.Join(p.dir, "link"))
		p.exit = 3
	})
	x.answers["config-get"] = "7\n"
	first := x.learn()
	p := x.replayed()
	want := func(what, have, want string) {
		t.Helper()
		if have != want {
			t.Errorf("%s:\n%s\nwant:\n%s", what, have, want)
		}
	}
	move := func(lines []string) string { return strings.ReplaceAll(strings.Join(lines, "\n"), first.dir, p.dir) }
	want("calls", strings.Join(p.calls, "\n"), move(first.calls))
	want("output", strings.Join(p.printed, "\n"), move(first.printed))
	want("files", p.look(), first.look())
	want("exit code", strconv.Itoa(p.exit), "3")
	if len(p.calls) != 4 || !strings.Contains(p.look(), "run/size") {
		t.Errorf("it did nothing: %q", p.calls)
	}
	if target, err := os.Readlink(filepath.Join(p.dir, "link")); err != nil || target != "run/size" {
		t.Errorf("the link is %q (%v)", target, err)
	}
	n := memory.Count(x.dir)
	if n.Replayed < 1 || n.Ran < 2 || n.Ran+n.Replayed != int64(x.n) {
		t.Errorf("counted: %+v of %d", n, x.n)
	}
}

// TestAnAnswerThatNobodyHadIsHeardByTheHook: it goes on from the calls that were made for it.
func TestAnAnswerThatNobodyHadIsHeardByTheHook(t *testing.T) {
	t.Parallel()
	x := newExploration(t, func(p *process) {
		p.call("status-set", "maintenance")
		p.call("juju-log", "size "+p.call("config-get", "size"))
	})
	x.answers["config-get"] = "1"
	x.learn()
	x.answers["config-get"] = "2"
	p := x.run()
	if got, want := strings.Join(p.calls, ", "), "status-set maintenance, config-get size, juju-log size 2"; !p.ran || got != want {
		t.Errorf("it ran: %v, with the calls %s; want %s", p.ran, got, want)
	}
	if p := x.replayed(); strings.Join(p.calls, ", ") != "status-set maintenance, config-get size, juju-log size 2" {
		t.Errorf("the new answer isn't known: %q", p.calls)
	}
	x.answers["config-get"] = "1"
	if p := x.replayed(); strings.Join(p.calls, ", ") != "status-set maintenance, config-get size, juju-log size 1" {
		t.Errorf("the old answer isn't known any more: %q", p.calls)
	}
}

// TestWhatTheHookStartsWithIsPartOfIt: a world with other files in the charm directory is another one.
func TestWhatTheHookStartsWithIsPartOfIt(t *testing.T) {
	t.Parallel()
	x := newExploration(t, func(p *process) {
		b, _ := os.ReadFile(filepath.Join(p.dir, "count"))
		p.write("count", string(b)+"x")
	})
	x.learn()
	p := x.replayed()
	for i := 2; i < 5; i++ {
		x.again(p)
		if b, _ := os.ReadFile(filepath.Join(p.dir, "count")); len(b) != i {
			t.Errorf("after %d hooks it has counted %d", i, len(b))
		}
	}
}

// TestHooksThatAreNoFunctionsAreFoundOut: by a sample, or by what they do.
func TestHooksThatAreNoFunctionsAreFoundOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		hook func(*process)
		want string
	}{
		{"chance", func(p *process) { p.write("id", rand.Text()) }, "config-changed of app isn't replayed: it makes something else of id"},
		{"chance in a call", func(p *process) { p.call("relation-set", "id="+rand.Text()) }, "its call 1 is relation-set, and another one: relation-set"},
		{"a file elsewhere", func(p *process) {
			path := filepath.Join(p.x.dir, "..", "counter")
			b, _ := os.ReadFile(path)
			p.call("status-set", "active", fmt.Sprint(len(b)))
			if err := os.WriteFile(path, append(b, 'x'), 0o600); err != nil {
				p.x.Fatal(err)
			}
		}, "its call 1 is status-set"},
		{"an exit code of chance", func(p *process) { p.exit = p.x.n }, "it exits with 1 and with 2"},
		{"where it is, written down", func(p *process) { p.write("here", p.dir) }, "it writes into here what is of use in one world alone"},
		{"calls side by side", func(p *process) {
			began := time.Now()
			for range 2 {
				if p.heard == nil {
					break // nobody wants to know any more
				}
				p.heard(tools.Call{Tool: "config-get", Began: began, Duration: time.Second, Request: wire.Request{Dir: p.dir, Args: []string{"config-get"}}})
			}
		}, "it makes calls side by side"},
		{"a reboot", func(p *process) { p.call("juju-reboot") }, "it calls juju-reboot"},
		{"what is no text", func(p *process) { p.call("juju-log", "\xff") }, "with what is no text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := newExploration(t, c.hook)
			for range 5 {
				if p := x.run(); !p.ran {
					t.Fatal("it is replayed")
				}
			}
			if found := memory.Refused(x.dir); len(found) != 1 || !strings.Contains(found[0], c.want) {
				t.Errorf("refused: %q, want %q", found, c.want)
			}
		})
	}
}

// TestAWorldWithCallsThatNobodyMakesIsSpoilt: the calls were made for a hook that then didn't make them.
func TestAWorldWithCallsThatNobodyMakesIsSpoilt(t *testing.T) {
	t.Parallel()
	fickle := false
	x := newExploration(t, func(p *process) {
		if fickle {
			p.call("leader-get")
			return
		}
		p.call("status-set", "active")
		p.call("config-get")
	})
	x.answers["config-get"] = "1"
	x.learn()
	x.replayed()
	used := fmt.Sprintf("way-%d", x.n)
	if ways := memory.Doubtful(x.dir); len(ways) > 0 {
		t.Errorf("ways are doubtful: %q", ways)
	}
	fickle, x.answers["config-get"] = true, "2"
	x.run()
	if ways := memory.Doubtful(x.dir); len(ways) != 1 || ways[0] != used {
		t.Errorf("ways are doubtful: %q, want %s", ways, used)
	}
	if !memory.Spoilt(x.dir, fmt.Sprintf("way-%d", x.n)) || memory.Spoilt(x.dir, "way-1") {
		t.Error("the world isn't spoilt, or another one is")
	}
	if found := memory.Refused(x.dir); len(found) != 1 || !strings.Contains(found[0], "made other calls") {
		t.Errorf("refused: %q", found)
	}
}

// TestRunNumbersCountForWhoeverMentionsThem: others have the same start in each run.
func TestRunNumbersCountForWhoeverMentionsThem(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"pass\n", "UNITD_RUN_NUMBER\n", "UNITD_WORK\n"} {
		x := newExploration(t, func(p *process) {})
		replayed := false
		for range 6 {
			x.n++
			p := &process{x: x, dir: filepath.Join(t.TempDir(), "unit", "charm")}
			p.write("dispatch", "#!/bin/sh\n")
			p.write("src/charm.py", text)
			x.again(p)
			replayed = replayed || !p.ran
		}
		if want := text == "pass\n"; replayed != want {
			t.Errorf("%q: replayed: %v", text, replayed)
		}
	}
}

// TestSecretsHaveTheSameIDsInEachWorld, and each another one.
func TestSecretsHaveTheSameIDsInEachWorld(t *testing.T) {
	t.Parallel()
	one, other := &memory.Memory{World: t.TempDir()}, &memory.Memory{World: t.TempDir()}
	seen := map[string]bool{}
	for _, unit := range []string{"app/0", "app/1", "app/0"} {
		a, err := one.SecretID("default", "app/0")
		if err != nil {
			t.Fatal(err)
		}
		b, err := other.SecretID("default", "app/0")
		if err != nil || a != b {
			t.Errorf("%s: the ids are %s and %s (%v)", unit, a, b, err)
		}
		if seen[string(a)] || len(a) != 20 {
			t.Errorf("%s: the id %s was there already, or is none", unit, a)
		}
		seen[string(a)] = true
	}
}
