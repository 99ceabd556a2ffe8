package session

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debugger"
)

// inTmux shows a tmux session with a window for each hook, in a tmux server of
// its own, until the person leaves it.
func (p *Person) inTmux(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "unitd-debug-")
	if err != nil {
		return errors.Trace(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return errors.Annotate(err, "cannot find this program")
	}
	t := &tmux{dir: dir, self: self, session: p.Unit.Tag()}
	text := "Each hook comes in a window of its own. " + p.waiting()
	if err := t.do("new-session", "-d", "-s", t.session, "-n", "waiting", "printf '%s\\n' "+quoted(text)+"; exec cat"); err != nil {
		return err
	}
	defer func() { _ = t.do("kill-server") }() // it may have ended with its last window
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	attach := t.command("attach-session", "-t", t.session)
	attach.Stdin, attach.Stdout, attach.Stderr = p.In, p.Out, p.Err
	if err := attach.Start(); err != nil {
		return errors.Annotate(err, "cannot show tmux")
	}
	left := make(chan struct{})
	go func() {
		_ = attach.Wait() // however it has ended: the person has left
		leave()
		close(left)
	}()
	p.say = func(string, ...any) {} // the terminal is tmux's
	err = p.serve(ctx, func(ctx context.Context, s *debugger.Session) (int, error) {
		return t.run(ctx, s.Gone, p.task(s.Offer))
	})
	_ = t.do("kill-server")
	<-left
	return err
}

// tmux is a tmux server with one session.
type tmux struct {
	dir, self, session string
	windows            int
}

func (t *tmux) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(t.dir, "tmux")}, args...)...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TMUX=") { // there may be another one around it
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd
}

func (t *tmux) do(args ...string) error {
	if out, err := t.command(args...).CombinedOutput(); err != nil {
		return errors.Errorf("tmux %s: %v: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

// run runs a task in a new window, and returns its exit code. The window's
// program gets the task by a socket: it has what others must not see.
func (t *tmux) run(ctx context.Context, gone <-chan struct{}, task debugTask) (int, error) {
	t.windows++
	path := filepath.Join(t.dir, fmt.Sprint(t.windows))
	l, err := net.Listen("unix", path)
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { l.Close() })
	window := quoted(t.self) + " debug-window " + quoted(path)
	if err := t.do("new-window", "-t", t.session+":", "-n", task.Offer.Hook, window); err != nil {
		return 0, err
	}
	conn, err := l.Accept()
	if err != nil {
		return 0, errGone
	}
	defer conn.Close()
	context.AfterFunc(ctx, func() { conn.Close() })
	go func() {
		select {
		case <-gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := json.NewEncoder(conn).Encode(task); err != nil {
		return 0, errors.Trace(err)
	}
	var exit int
	if err := json.NewDecoder(conn).Decode(&exit); err != nil {
		return 0, errors.New("its window was closed")
	}
	return exit, nil
}

// quoted is a word for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// Window runs the one hook of a tmux window, which it is told of by a socket.
func Window(ctx context.Context, socket string, stdin io.Reader, stdout, stderr io.Writer) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return errors.Trace(err)
	}
	defer conn.Close()
	var task debugTask
	if err := json.NewDecoder(conn).Decode(&task); err != nil {
		return errors.Trace(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = conn.Read(make([]byte, 1)) // there is no more to come
	}()
	exit, err := runInTerminal(ctx, gone, task, stdin, stdout, stderr)
	if err != nil {
		return err
	}
	return errors.Trace(json.NewEncoder(conn).Encode(exit))
}
