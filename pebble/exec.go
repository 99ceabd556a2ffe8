package pebble

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/juju/errors"
)

// ExecOptions say what Exec runs, and how.
type ExecOptions struct {
	// Command is the program, on Pebble's PATH or by its path, and its arguments.
	Command []string
	// Service is one whose environment, user and working directory the command is
	// to have, where nothing here says otherwise; empty for none.
	Service string
	// Environment goes over that of Pebble.
	Environment map[string]string
	// Dir is the working directory; empty for the user's home.
	Dir string
	Owner
	// Timeout is after how long Pebble kills the command; zero for never.
	Timeout time.Duration

	// Terminal gives the command a pseudo-terminal, for its input too, of this
	// size where one is given.
	Terminal      bool
	Width, Height int

	// Stdin is the command's input; nil for none. A read that waits when the
	// command has ended is left behind.
	Stdin io.Reader
	// Stdout has the command's output; nil drops it.
	Stdout io.Writer
	// Stderr has the command's errors; nil has them go to Stdout.
	Stderr io.Writer
}

// Process is a command that Exec has started.
type Process struct {
	client  *Client
	change  string
	ctx     context.Context // ends with the command
	cancel  context.CancelCauseFunc
	control *websocket.Conn
	copies  sync.WaitGroup
}

// ExitError is that a command ended by another code than 0.
type ExitError struct{ Code int }

// Error names the code.
func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// Exec starts a command in the container. The caller calls Wait. When ctx ends,
// the command is killed. The error is an APIError where Pebble refuses it, as for a
// program or a user that there isn't.
func (c *Client) Exec(ctx context.Context, o ExecOptions) (*Process, error) {
	q := question{method: "POST", path: "/v1/exec", body: o.body()}
	var begun struct {
		Task string `json:"task-id"`
	}
	change, err := c.ask(ctx, q, &begun)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if change == "" || begun.Task == "" {
		return nil, garbage("no command was started")
	}
	p := &Process{client: c, change: change}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	if err := p.connect(begun.Task, o); err != nil {
		p.cancel(err)
		p.copies.Wait()
		return nil, classify(ctx, ctx, err)
	}
	return p, nil
}

// body is the request's, in Pebble's names.
func (o ExecOptions) body() map[string]any {
	body := o.fill(map[string]any{"command": o.Command, "split-stderr": o.Stderr != nil})
	if o.Service != "" {
		body["service-context"] = o.Service
	}
	if len(o.Environment) > 0 {
		body["environment"] = o.Environment
	}
	if o.Dir != "" {
		body["working-dir"] = o.Dir
	}
	if o.Timeout > 0 {
		body["timeout"] = o.Timeout.String()
	}
	if o.Terminal {
		body["terminal"], body["interactive"] = true, true
		body["width"], body["height"] = o.Width, o.Height
	}
	return body
}

// connect opens the command's sockets and starts the copying. Pebble starts the
// command when they are there.
func (p *Process) connect(task string, o ExecOptions) (err error) {
	if p.control, err = p.dial(task, "control"); err != nil {
		return errors.Trace(err)
	}
	// Control's end without a word has Pebble kill the command.
	context.AfterFunc(p.ctx, func() { _ = p.control.CloseNow() })
	stdio, err := p.dial(task, "stdio")
	if err != nil {
		return errors.Trace(err)
	}
	context.AfterFunc(p.ctx, func() { _ = stdio.CloseNow() })
	if o.Stderr != nil {
		stderr, err := p.dial(task, "stderr")
		if err != nil {
			return errors.Trace(err)
		}
		context.AfterFunc(p.ctx, func() { _ = stderr.CloseNow() })
		p.copies.Go(func() { p.receive(o.Stderr, stderr) })
	}
	p.copies.Go(func() { p.receive(o.Stdout, stdio) })
	go p.send(stdio, o.Stdin) // it may wait for somebody who types: Wait doesn't wait for it
	return nil
}

func (p *Process) dial(task, name string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(p.ctx, p.client.Patience, ErrNoAnswer)
	defer cancel()
	path := "ws://pebble/v1/tasks/" + url.PathEscape(task) + "/websocket/" + name
	conn, _, err := websocket.Dial(ctx, path, &websocket.DialOptions{HTTPClient: p.client.http})
	if err != nil {
		return nil, classify(p.ctx, ctx, err)
	}
	conn.SetReadLimit(maxFrame)
	return conn, nil
}

// Wait waits until the command has ended and all its output was written. The
// error is an ExitError if it ended by another code than 0, and a ChangeError if
// it couldn't be started or was killed, as by its time-out. Where Pebble is gone
// or hangs, the error says so.
func (p *Process) Wait() error {
	defer p.copies.Wait() // when the context has ended, in any case
	defer p.cancel(nil)
	change, err := p.client.WaitChange(p.ctx, p.change)
	if err != nil {
		return errors.Trace(err)
	}
	// Pebble ends the change when it has sent all of the output.
	p.copies.Wait()
	if cause := context.Cause(p.ctx); cause != nil {
		return errors.Trace(cause)
	}
	if change.Err != "" {
		return &ChangeError{Change: change}
	}
	var code *int
	if len(change.Tasks) > 0 {
		if err := json.Unmarshal(change.Tasks[0].Data["exit-code"], &code); err != nil {
			return garbage("the exit code: %s", err)
		}
	}
	switch {
	case code == nil:
		return garbage("a command ended without an exit code")
	case *code != 0:
		return &ExitError{Code: *code}
	}
	return nil
}

// Resize tells the command that its terminal has another size.
func (p *Process) Resize(width, height int) error {
	return p.say(map[string]any{"command": "resize", "resize": map[string]int{"width": width, "height": height}})
}

// Signal sends a signal, as "SIGINT", to the command.
func (p *Process) Signal(name string) error {
	return p.say(map[string]any{"command": "signal", "signal": map[string]string{"name": name}})
}

func (p *Process) say(message any) error {
	raw, err := json.Marshal(message)
	if err != nil {
		return errors.Trace(err)
	}
	ctx, cancel := context.WithTimeoutCause(p.ctx, p.client.Patience, ErrNoAnswer)
	defer cancel()
	return classify(p.ctx, ctx, p.control.Write(ctx, websocket.MessageText, raw))
}
