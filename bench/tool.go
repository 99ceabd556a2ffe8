package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/juju/errors"
)

// held is a hook that stays until it is let go, so that its tools can be called.
// The hook and who measures talk by two named pipes.
type held struct {
	said, end *os.File
	// tool is the path of a hook tool's link, and environment what it is called with.
	tool        string
	environment []string
}

// The variables by which a hook tool knows that it is one, and finds the agent.
var (
	beingVariables   = []string{"JUJU_CONTEXT_ID", "UNITD_RUN"}
	findingVariables = []string{"JUJU_AGENT_SOCKET_ADDRESS", "JUJU_AGENT_SOCKET_NETWORK"}
	variables        = slices.Concat(beingVariables, findingVariables)
)

// holding is a dispatch whose start says where the tools are, and waits.
func holding(said, end string) string {
	text := "#!/bin/sh\n[ \"$JUJU_DISPATCH_PATH\" = hooks/start ] || exit 0\n{ command -v config-get"
	for _, v := range variables {
		text += fmt.Sprintf("; echo %s=\"$%s\"", v, v)
	}
	return text + "; } >" + quoted(said) + "\nread -r line <" + quoted(end) + "\n"
}

// hold deploys a unit, and waits until its start is held.
func (w *world) hold() (*held, error) {
	said, end := filepath.Join(w.dir, "said"), filepath.Join(w.dir, "end")
	h := &held{}
	for _, p := range []struct {
		path string
		file **os.File
	}{{said, &h.said}, {end, &h.end}} {
		err := syscall.Mkfifo(p.path, 0o600)
		if err == nil {
			// Opened for both, it waits for nobody at the other end.
			*p.file, err = os.OpenFile(p.path, os.O_RDWR, 0)
		}
		if err != nil {
			h.close()
			return nil, errors.Annotate(err, "cannot make a named pipe")
		}
	}
	if err := w.deploy(charm{dispatch: holding(said, end)}, 1); err != nil {
		h.close()
		return nil, err
	}
	if err := h.listen(w); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// listen reads what the hook says; it gives up with the world.
func (h *held) listen(w *world) error {
	stop := context.AfterFunc(w.ctx, func() { h.said.Close() })
	defer stop()
	lines := bufio.NewReader(h.said)
	for range 1 + len(variables) {
		line, err := lines.ReadString('\n')
		if w.ctx.Err() != nil {
			return errors.Trace(context.Cause(w.ctx))
		}
		if err != nil {
			return errors.Annotate(err, "cannot read from the hook")
		}
		h.environment = append(h.environment, strings.TrimSuffix(line, "\n"))
	}
	h.tool, h.environment = h.environment[0], h.environment[1:]
	return nil
}

// close lets the hook go.
func (h *held) close() {
	if h.end != nil {
		_, _ = h.end.WriteString("end\n") // a hook that is gone needs no word
		h.end.Close()
	}
	if h.said != nil {
		h.said.Close()
	}
}

// call is one call of config-get, as a hook makes it.
func (h *held) call(ctx context.Context) error {
	out, err := h.command(ctx, h.environment).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.Errorf("%v: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	if err == nil && string(out) != "as it was\n" {
		err = errors.Errorf("it printed %q", out)
	}
	return errors.Annotate(err, "cannot call a hook tool")
}

// start has the same program find that it can't call anybody, and end.
func (h *held) start(ctx context.Context) error {
	_, err := h.command(ctx, h.environment[:len(beingVariables)]).Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(exit.Stderr), findingVariables[0]) {
		return errors.Errorf("a hook tool without an agent ended with %v", err)
	}
	return nil
}

func (h *held) command(ctx context.Context, environment []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.tool, option)
	cmd.Env, cmd.Dir = environment, "/"
	return cmd
}

// measureTool measures a hook tool call by the real client in a hook that runs.
// The floor is starting the same program, and a bare round trip.
func measureTool(ctx context.Context, m *measuring) ([]Figure, error) {
	var p pairs
	err := m.within(ctx, func(w *world) error {
		h, err := w.hold()
		if err != nil {
			return err
		}
		defer h.close()
		e, err := newEcho(w.dir)
		if err != nil {
			return err
		}
		defer e.close()
		for i := range m.Count {
			m.done(i, m.Count)
			if err := p.turn(func() error { return h.call(w.ctx) }, func() error {
				if err := h.start(w.ctx); err != nil {
					return err
				}
				return e.ask()
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []Figure{p.figure(Figure{
		Name: "tool", What: "a hook tool call", Floor: "starting the same program, and a bare round trip over a socket",
	})}, nil
}
