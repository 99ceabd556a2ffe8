package machine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter"
	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/workload"
)

// inWorkload runs the commands of a task in a workload container of the unit, by its
// Pebble. They end with the agent, and with the container.
func (u *unit) inWorkload(ctx context.Context, task *doing) uniter.Result {
	failed := func(err error) uniter.Result {
		return uniter.Result{Failure: &resolver.Failure{Message: err.Error(), Exit: -1}}
	}
	in := task.In
	if u.cell.Load() == nil {
		return failed(errors.Errorf("container %q for unit %q can't run, as the unit isn't isolated", in.Container, u.name))
	}
	if u.inPod == nil || !slices.Contains(u.inPod.names, in.Container) {
		return failed(errors.Errorf("unit %q has no container %q", u.name, in.Container))
	}
	cell, err := u.cells.Find(isolate.ContainerKey(CellKey(u.model.UUID(), u.name), in.Container))
	if err != nil || !cell.Running() {
		return failed(u.notReady(in.Container))
	}
	out := &lines{each: func(line string) { task.printed.add(runner.Stdout, line) }}
	bad := &lines{each: func(line string) { task.printed.add(runner.Stderr, line) }}
	p, err := pebble.New(PebbleSocket(u.dir, in.Container)).Exec(ctx, pebble.ExecOptions{
		Command: commandIn(task.TaskSpec), Environment: in.Environment, Dir: cell.WorkingDir(), Owner: ownerOf(in.User), Stdout: out, Stderr: bad,
	})
	if err == nil {
		err = p.Wait()
		out.end()
		bad.end()
	}
	var exit *pebble.ExitError
	switch {
	case ctx.Err() != nil:
		return uniter.Result{Stopped: true}
	case errors.As(err, &exit):
		return uniter.Result{Failure: &resolver.Failure{Message: exit.Error(), Exit: exit.Code}}
	case errors.Is(err, pebble.ErrNotThere) && p == nil:
		return failed(u.notReady(in.Container))
	case errors.Is(err, pebble.ErrNotThere), errors.Is(err, pebble.ErrBroken):
		return failed(errors.Errorf("container %q of unit %q has ended", in.Container, u.name))
	case err != nil:
		return failed(errors.Errorf("container %q of unit %q: %v", in.Container, u.name, errors.Cause(err)))
	}
	return uniter.Result{}
}

// notReady is the error of a container in which no Pebble answers. Source:
// docs/spec/containers.md §7.4.
func (u *unit) notReady(container string) error {
	text := fmt.Sprintf("container %q for unit %q is not ready yet", container, u.name)
	for _, s := range u.inPod.containers.States() {
		if s.Name == container && s.Phase == workload.Waiting && s.Fault != "" {
			text += ": " + s.Fault
		}
	}
	return errors.New(text)
}

// commandIn is what is run in a container for a task.
func commandIn(t state.TaskSpec) []string {
	if len(t.In.Words) > 0 {
		return t.In.Words
	}
	return []string{"sh", "-c", t.Command}
}

// ownerOf is "USER" or "USER:GROUP" of a container, each by name or number.
func ownerOf(user string) pebble.Owner {
	var o pebble.Owner
	user, group, _ := strings.Cut(user, ":")
	if id, err := strconv.Atoi(user); err == nil {
		o.UserID = &id
	} else {
		o.User = user
	}
	if id, err := strconv.Atoi(group); err == nil {
		o.GroupID = &id
	} else {
		o.Group = group
	}
	return o
}

// lines is a writer that hands on lines without their ends.
type lines struct {
	each func(string)
	rest []byte
}

// Write takes some output.
func (l *lines) Write(b []byte) (int, error) {
	n := len(b)
	for {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		l.rest = append(l.rest, line...)
		if !whole {
			break
		}
		l.flush()
		b = rest
	}
	if len(l.rest) > maxPrinted {
		l.flush()
	}
	return n, nil
}

// end hands on what has no end of a line.
func (l *lines) end() {
	if len(l.rest) > 0 {
		l.flush()
	}
}

func (l *lines) flush() {
	l.each(strings.TrimSuffix(string(l.rest), "\r"))
	l.rest = l.rest[:0]
}
