package recording_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/tools/wire"
)

// play makes the calls one after the other and returns what came of them: for
// each the number of the recorded call and what was printed; then, after "|",
// the differences.
func play(r *recording.Recording, keepGoing bool, exit int, calls ...recording.Call) string {
	p := recording.NewPlayer(r, "/here", keepGoing)
	var out []string
	for _, c := range calls {
		reply, _, recorded := p.Answer(c)
		word := fmt.Sprintf("%d:%s%s", recorded, reply.Stdout, reply.Stderr)
		if reply.Code == wire.NeedStdin {
			word = "stdin?"
		}
		out = append(out, strings.TrimSpace(word))
	}
	var found []string
	for _, d := range p.Finish(exit) {
		found = append(found, d.What)
	}
	return strings.Join(out, " ") + " | " + strings.Join(found, "; ")
}

func do(args ...string) recording.Call { return recording.Call{Args: args} }

func TestCallsAreComparedInTheirOrder(t *testing.T) {
	t.Parallel()
	a, b, c := asked("config-get|a", "A"), asked("config-get|b", "B"), asked("status-set|active", "")
	doA, doB, doC, other, log := do("config-get", "a"), do("config-get", "b"), do("status-set", "active"), do("config-get", "x"), do("juju-log", "x")
	const no = "ERROR not in the recording"
	for _, x := range []struct {
		name      string
		keepGoing bool
		exit      int
		calls     []recording.Call
		want      string
	}{
		{"the same", false, 0, []recording.Call{doA, doB, doC}, "1:A 2:B 3: | "},
		{"another exit code", false, 2, []recording.Call{doA, doB, doC}, "1:A 2:B 3: | exit code 2, recorded 0"},
		{"the other way round", false, 0, []recording.Call{doB, doA, doC}, "2:B 1:A 3: | call 1 differs"},
		{"one more in between", false, 0, []recording.Call{doA, other, doB, doC}, "1:A 0:" + no + " 2:B 3: | call 2 differs"},
		{"one more at the end", false, 0, []recording.Call{doA, doB, doC, log}, "1:A 2:B 3: 0:" + no + " | call 4 is not in the recording, which has 3"},
		{"one twice", false, 0, []recording.Call{doA, doA, doB, doC}, "1:A 1:A 2:B 3: | call 2 differs"},
		{"one less", false, 0, []recording.Call{doA, doB}, "1:A 2:B | recorded call 3 was not made"},
		{"none", false, 1, nil, " | recorded call 1 was not made; exit code 1, recorded 0"},
		{"all differences", true, 3, []recording.Call{other, doB, log}, "0:" + no + " 2:B 0: | call 1 differs; call 3 differs; exit code 3, recorded 0"},
		{"all that weren't made", true, 0, []recording.Call{doB}, "2:B | call 1 differs; recorded call 3 was not made"},
	} {
		if got := play(of(a, b, c), x.keepGoing, x.exit, x.calls...); got != x.want {
			t.Errorf("%s:\nhave %s\nwant %s", x.name, got, x.want)
		}
	}
}

func TestCallsAtTheSameTimeMayComeInAnyOrder(t *testing.T) {
	t.Parallel()
	a, b, c := asked("config-get|a", "A"), asked("config-get|b", "B"), asked("config-get|c", "C")
	a.At, a.Took, b.At, b.Took, c.At = 0, 10, 5, 10, 20
	calls := []recording.Call{do("config-get", "c"), do("config-get", "b"), do("config-get", "a")}
	if got := play(of(a, b, c), false, 0, calls...); got != "3:C 2:B 1:A | " {
		t.Errorf("at the same time: %s", got)
	}
	b.At = 10
	if got := play(of(a, b, c), false, 0, calls...); !strings.Contains(got, "call 1 differs") {
		t.Errorf("one after the other: %s", got)
	}
}

func TestWhatWasReadIsCompared(t *testing.T) {
	t.Parallel()
	r := of(read("relation-set|--file|-", "a: 1\n"), recording.Call{Args: []string{"state-set", "--file=/tmp/x1"}, File: []byte("b: 2\n")}, read("x", "late"))
	for _, x := range []struct {
		name  string
		calls []recording.Call
		want  string
	}{
		{"the same, from a file of another name", []recording.Call{read("relation-set|--file|-", "a: 1\n"), {Args: []string{"state-set", "--file=/tmp/y"}, File: []byte("b: 2\n")}, do("x"), read("x", "late")},
			"1: 2: stdin? 3: | "},
		{"another input", []recording.Call{read("relation-set|--file|-", "a: 2\n")}, "0:ERROR not in the recording | call 1 differs"},
		{"another file", []recording.Call{read("relation-set|--file|-", "a: 1\n"), {Args: []string{"state-set", "--file=/tmp/x1"}, File: []byte("b: 3\n")}},
			"1: 0:ERROR not in the recording | call 2 differs"},
		{"no file", []recording.Call{read("relation-set|--file|-", "a: 1\n"), do("state-set", "--file=/tmp/x1")},
			"1: 0:ERROR not in the recording | call 2 differs"},
	} {
		if got := play(r, false, 0, x.calls...); got != x.want {
			t.Errorf("%s:\nhave %s\nwant %s", x.name, got, x.want)
		}
	}
}

func TestAFileOfASecretMayBeCalledOtherwise(t *testing.T) {
	t.Parallel()
	r := of(asked("secret-add|token#file=/tmp/x1/token|user=bob", "secret:9m4e2mr0ui3e8a215n4g"))
	for args, want := range map[string]string{
		"secret-add|token#file=/tmp/y2/token|user=bob":  "1:secret:9m4e2mr0ui3e8a215n4g | ",
		"secret-add|other#file=/tmp/x1/token|user=bob":  "0:ERROR not in the recording | call 1 differs",
		"secret-add|token#file=/tmp/x1/token|user=anna": "0:ERROR not in the recording | call 1 differs",
	} {
		if got := play(r, false, 0, asked(args, "")); got != want {
			t.Errorf("%s:\nhave %s\nwant %s", args, got, want)
		}
	}
}

func TestWhatTheCharmMakesUpStandsForItsPlaceholder(t *testing.T) {
	t.Parallel()
	r := recording.Redact(of(
		asked("config-get|token", "t0ken-of-config\n"), asked("leader-set|password=made-then", ""), asked("leader-get|password", "made-then\n"),
		asked("relation-set|password=made-then|token=t0ken-of-config", ""),
	), nil)
	tell := do("config-get", "token")
	set := do("leader-set", "password=made-now")
	get := do("leader-get", "password")
	for _, x := range []struct {
		name string
		last recording.Call
		want string
	}{
		{"the same values", do("relation-set", "password=made-now", "token=redacted-1"), "1:redacted-1 2: 3:made-now 4: | "},
		{"another password", do("relation-set", "password=made-later", "token=redacted-1"), "1:redacted-1 2: 3:made-now 0:ERROR not in the recording | call 4 differs"},
		{"no password", do("relation-set", "password=", "token=redacted-1"), "1:redacted-1 2: 3:made-now 0:ERROR not in the recording | call 4 differs"},
		{"another token", do("relation-set", "password=made-now", "token=x"), "1:redacted-1 2: 3:made-now 0:ERROR not in the recording | call 4 differs"},
	} {
		if got := play(r, false, 0, tell, set, get, x.last); got != x.want {
			t.Errorf("%s:\nhave %s\nwant %s", x.name, got, x.want)
		}
	}
}

func TestPathsInTheCharmAreThoseOfTheReplay(t *testing.T) {
	t.Parallel()
	r := of(asked("config-get|dir", "/there/charm/run\n"), asked("juju-log|/there/charm/x", ""))
	r.Env = []string{"CHARM_DIR=/there/charm"}
	if got := play(r, false, 0, do("config-get", "dir"), do("juju-log", "/here/x")); got != "1:/here/run 2: | " {
		t.Error(got)
	}
}

func TestALogMessageMayTellTheTime(t *testing.T) {
	t.Parallel()
	const then = `at 2026-11-21T09:25:29.448077+00:00, <X at 0x7f9e51b3>: no "x" since 2026-01-01 10:00:00Z`
	now := strings.NewReplacer("09:25:29.448077", "10:00:00", "7f9e51b3", "6ee0001234", "10:00:00Z", "12:00:00").Replace(then)
	r := of(asked("juju-log|-l|INFO|"+then, ""), asked("status-set|active|"+then, ""))
	if got := play(r, false, 0, do("juju-log", "-l", "INFO", now), do("status-set", "active", then)); got != "1: 2: | " {
		t.Errorf("another time: %s", got)
	}
	if got := play(r, false, 0, do("juju-log", "-l", "INFO", strings.Replace(now, `"x"`, `"y"`, 1))); !strings.Contains(got, "call 1 differs") {
		t.Errorf("another message: %s", got)
	}
	if got := play(r, false, 0, do("juju-log", "-l", "INFO", now), do("status-set", "active", now)); !strings.Contains(got, "call 2 differs") {
		t.Errorf("another status: %s", got)
	}
}

func TestARecordingThatEndsTooEarlySaysSo(t *testing.T) {
	t.Parallel()
	r := of(asked("config-get|a", "A"))
	r.CutOff = true
	if got := play(r, false, 0, do("config-get", "a"), do("x")); got != "1:A 0:ERROR not in the recording | the recording was cut off after 1 calls, as it was too large; the hook goes on" {
		t.Error(got)
	}
	r.CutOff, r.Outcome, r.Exit = false, history.Stopped, -1
	if got := play(r, false, 0, do("config-get", "a")); got != "1:A | " {
		t.Error(got)
	}
}

func TestTheServerAnswersItsOwnHookAlone(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "u")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("b: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := of(asked("config-get|a", "A"), recording.Call{Args: []string{"state-set", "--file", "x"}, File: []byte("b: 2\n")}, read("relation-set|--file|-", "a: 1\n"))
	p := recording.NewPlayer(r, "", false)
	var told []int
	s := recording.Serve(l, p, "id", func(a recording.Answered) { told = append(told, a.Recorded) })
	say := func(b []byte) string {
		t.Helper()
		conn, err := net.Dial("unix", filepath.Join(dir, "s"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		reply, err := wire.ReadReply(conn)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %s%s", reply.Code, reply.Stdout, reply.Stderr)
	}
	ask := func(r wire.Request) string { return say(wire.AppendRequest(nil, r)) }
	for _, c := range []struct{ name, got, want string }{
		{"another context", ask(wire.Request{Context: "other", Dir: "/", Args: []string{"config-get", "a"}}), "1 ERROR bad request: the context id is not that of a running hook\n"},
		{"no command", ask(wire.Request{Context: "id", Dir: "/"}), "1 ERROR bad request: command not specified\n"},
		{"another protocol", say([]byte("GET / HTTP/1.1\r\n\r\n")), "1 ERROR bad request: unknown version of the hook tool protocol\n"},
		{"a call", ask(wire.Request{Context: "id", Dir: "/", Args: []string{"config-get", "a"}}), "0 A"},
		{"a file", ask(wire.Request{Context: "id", Dir: dir, Args: []string{"state-set", "--file", "f"}}), "0 "},
		{"no input", ask(wire.Request{Context: "id", Dir: "/", Args: []string{"relation-set", "--file", "-"}}), "-1 "},
		{"input", ask(wire.Request{Context: "id", Dir: "/", Args: []string{"relation-set", "--file", "-"}, StdinSet: true, Stdin: []byte("a: 1\n")}), "0 "},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.name, c.got, c.want)
		}
	}
	idle, err := net.Dial("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if d := p.Finish(0); len(d) > 0 || p.Made() != 3 || fmt.Sprint(told) != "[1 2 3]" {
		t.Errorf("%v, %d calls, told of %v", d, p.Made(), told)
	}
}
