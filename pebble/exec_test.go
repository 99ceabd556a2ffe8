package pebble_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
)

// ran is what a command has written.
type ran struct {
	out, err string
	wait     error
}

func run(t *testing.T, c *pebble.Client, o pebble.ExecOptions) ran {
	t.Helper()
	var out, stderr bytes.Buffer
	o.Stdout, o.Stderr = &out, &stderr
	p, err := c.Exec(t.Context(), o)
	must(t, err)
	err = p.Wait()
	return ran{out.String(), stderr.String(), err}
}

func sh(script string) []string { return []string{"sh", "-c", script} }

func TestCommandsAreRun(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{Env: []string{"OF_PEBBLE=1"}, Layers: map[string]string{"001-base.yaml": `
services:
  ctx: {override: replace, command: sleep 1, environment: {OF_SERVICE: s}, working-dir: /usr}
`}})
	for _, x := range []struct {
		name string
		o    pebble.ExecOptions
		out  string
		err  string
		code int
	}{
		{name: "output and errors come apart", o: pebble.ExecOptions{Command: sh("echo out; echo err >&2")}, out: "out\n", err: "err\n"},
		{name: "the code is told", o: pebble.ExecOptions{Command: sh("exit 7")}, code: 7},
		{name: "input is read to its end", o: pebble.ExecOptions{Command: []string{"cat"}, Stdin: strings.NewReader("in")}, out: "in"},
		{name: "no input is an empty one", o: pebble.ExecOptions{Command: []string{"cat"}}},
		{name: "the environment goes over Pebble's", o: pebble.ExecOptions{Command: sh("echo $OF_PEBBLE$MINE"), Environment: map[string]string{"MINE": "2"}}, out: "12\n"},
		{name: "there is a working directory", o: pebble.ExecOptions{Command: []string{"pwd"}, Dir: "/"}, out: "/\n"},
		{name: "a service lends what it has", o: pebble.ExecOptions{Command: sh("pwd; echo $OF_SERVICE"), Service: "ctx"}, out: "/usr\ns\n"},
		{name: "much goes both ways", o: pebble.ExecOptions{Command: []string{"cat"}, Stdin: strings.NewReader(long)}, out: long},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			got := run(t, c, x.o)
			var exit *pebble.ExitError
			if code := errors.As(got.wait, &exit); got.out != x.out || got.err != x.err || code != (x.code != 0) || code && exit.Code != x.code {
				t.Errorf("out %.50q, err %.50q, %v", got.out, got.err, got.wait)
			}
		})
	}
}

var long = strings.Repeat("0123456789abcdef", 200_000)

func TestErrorsOfACommandGoWithItsOutputWhereNobodyAsksForThem(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	var out bytes.Buffer
	p := value[*pebble.Process](t)(c.Exec(t.Context(), pebble.ExecOptions{Command: sh("echo out; echo err >&2"), Stdout: &out}))
	must(t, p.Wait())
	if out.String() != "out\nerr\n" {
		t.Errorf("it wrote %q", out.String())
	}
}

func TestCommandsThatCannotRunAreRefused(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	for what, o := range map[string]pebble.ExecOptions{
		"no command":            {},
		"a program there isn't": {Command: []string{"/nope"}},
		"a user there isn't":    {Command: []string{"true"}, Owner: pebble.Owner{User: "nobody-here"}},
		"a service there isn't": {Command: []string{"true"}, Service: "nope"},
	} {
		var refused *pebble.APIError
		if _, err := c.Exec(t.Context(), o); !errors.As(err, &refused) || refused.Status != 400 {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestACommandIsKilledWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	got := run(t, c, pebble.ExecOptions{Command: []string{"sleep", "1000"}, Timeout: 50 * time.Millisecond})
	var failed *pebble.ChangeError
	if !errors.As(got.wait, &failed) || !strings.Contains(failed.Error(), "timed out") {
		t.Errorf("it ended by %v", got.wait)
	}
}

// told tells when something was written, and hands on what.
type told chan string

func (w told) Write(p []byte) (int, error) { w <- string(p); return len(p), nil }

func TestACommandIsKilledWhenTheCallersContextEnds(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	out := make(told, 10)
	p := value[*pebble.Process](t)(c.Exec(ctx, pebble.ExecOptions{Command: sh("echo $$; exec sleep 1000"), Stdout: out}))
	pid := strings.TrimSpace(<-out)
	cancel()
	wantError(t, "waiting for it", p.Wait(), context.Canceled)
	gone(t, pid)
}

// gone waits until there is no process of that id.
func gone(t *testing.T, pid string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat("/proc/" + pid + "/stat"); err != nil {
			return
		}
	}
	t.Errorf("process %s is still there", pid)
}

func TestACommandGetsSignals(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	out := make(told, 10)
	p := value[*pebble.Process](t)(c.Exec(t.Context(), pebble.ExecOptions{
		Command: sh("trap 'echo got it; exit 4' USR1; echo ready; while true; do sleep 0.01; done"), Stdout: out,
	}))
	<-out
	must(t, p.Signal("SIGUSR1"))
	var exit *pebble.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.Code != 4 {
		t.Errorf("it ended by %v", err)
	}
	if got := <-out; got != "got it\n" {
		t.Errorf("it wrote %q", got)
	}
}

func TestACommandHasATerminalThatChangesItsSize(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	in, typed := io.Pipe()
	out := make(told, 100)
	p := value[*pebble.Process](t)(c.Exec(t.Context(), pebble.ExecOptions{
		Command: sh(`stty -echo; test -t 0 && test -t 1 && stty size; until [ "$(stty size)" = "24 80" ]; do sleep 0.01; done; echo resized; cat`), Terminal: true, Width: 101, Height: 33, Stdin: in, Stdout: out,
	}))
	expect := func(want string) {
		t.Helper()
		for got := ""; !strings.Contains(got, want); {
			select {
			case more := <-out:
				got += more
			case <-time.After(2 * time.Minute):
				t.Fatalf("the terminal has shown %q, want %q", got, want)
			}
		}
	}
	expect("33 101")
	must(t, p.Resize(80, 24))
	expect("resized")
	_, err := io.WriteString(typed, "typed\n")
	must(t, err)
	expect("typed")
	must(t, typed.Close()) // the terminal's end of file
	must(t, p.Wait())
}

func TestAWriterThatFailsEndsTheCommand(t *testing.T) {
	t.Parallel()
	_, c := start(t, pebbletest.Options{})
	p := value[*pebble.Process](t)(c.Exec(t.Context(), pebble.ExecOptions{Command: sh("yes"), Stdout: failing{}}))
	if err := p.Wait(); err == nil || errors.Is(err, pebble.ErrBroken) || !strings.Contains(err.Error(), "cannot write") {
		t.Errorf("it ended by %v", err)
	}
}

func TestHostCommandsRunAsTheUserThatIsNamed(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("skipped: only root runs commands as others")
	}
	_, c := start(t, pebbletest.Options{})
	id := 4321
	for want, o := range map[string]pebble.Owner{"1:1\n": {User: "daemon", Group: "daemon"}, "4321:4321\n": {UserID: &id, GroupID: &id}} {
		if got := run(t, c, pebble.ExecOptions{Command: sh("echo $(id -u):$(id -g)"), Owner: o, Dir: "/"}); got.out != want || got.wait != nil {
			t.Errorf("as %+v it wrote %+v", o, got)
		}
	}
}

// TestK057K058 kills Pebble while a command runs.
func TestACommandEndsWithItsPebble(t *testing.T) { // K-057, K-058
	t.Parallel()
	p, c := start(t, pebbletest.Options{})
	out := make(told, 10)
	// It ends when its input does, as nobody else ends it.
	cmd := value[*pebble.Process](t)(c.Exec(t.Context(), pebble.ExecOptions{Command: sh("echo ready; exec cat"), Stdin: forever(t), Stdout: out}))
	<-out
	p.Kill()
	if err := cmd.Wait(); !errors.Is(err, pebble.ErrBroken) && !errors.Is(err, pebble.ErrNotThere) {
		t.Errorf("it ended by %v", err)
	}
}

// forever is an input that has nothing and doesn't end before the test does.
func forever(t *testing.T) io.Reader {
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	return r
}
