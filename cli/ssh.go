package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pebble"
)

// SSH is the verb ssh.
func (d Inside) SSH() *cobra.Command {
	var container string
	cmd := &cobra.Command{
		Use:   "ssh UNIT [-- COMMAND …]",
		Short: "Open a shell where a unit is, or run a command there",
		Long: `Open a shell in the machine of an isolated unit, or in the charm directory of a unit
that shares this host. With --container it is in a workload container, as the user and
with the environment of its Pebble. The shell isn't a hook: it waits for no hooks, and
the only hook tool in it is juju-exec, which a workload container doesn't have either.

UNIT is a name, APPLICATION/leader, or the id of the unit's machine. One argument
after it is run as a script. Several are the words of one command; in a workload
container, such a command needs no shell.`,
		Example: `  unitd ssh ledger/0
  unitd ssh ledger/leader -- ss -ltn
  unitd ssh ledger/0 'dpkg -l | grep nginx'
  unitd ssh --container web webby/0 -- ls -l /srv`,
		Args:              Args(1, -1, "no target name specified"),
		ValidArgsFunction: d.completeTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			words := args[1:]
			if len(words) > 0 && words[0] == "--" {
				words = words[1:]
			}
			return d.ssh(cmd.Context(), args[0], container, words)
		},
	}
	d.flags(cmd, &container)
	return cmd
}

func (d Inside) ssh(ctx context.Context, target, container string, words []string) error {
	u, err := d.Unit(ctx, target)
	if err != nil {
		return errors.Trace(err)
	}
	if container, err = u.pick(d.Streams, container); err != nil {
		return errors.Trace(err)
	}
	if container != "" {
		return d.inWorkload(ctx, u, container, words)
	}
	arguments := []string{"-i"}
	if len(words) > 0 {
		arguments = []string{"-c", model.ShellLine(words)}
	}
	cmd, err := u.Shell(arguments...)
	if err != nil {
		return errors.Trace(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = d.In, d.Out, d.Err
	return exited(cmd.Run(), fmt.Sprintf("cannot open a shell for %s", u.Name))
}

// exited is how a program has ended that was run in the place of this one.
func exited(err error, cannot string) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return errors.Annotate(err, cannot)
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Exit(128 + int(ws.Signal()))
	}
	return Exit(exit.ExitCode())
}

// Program is what is run in a workload container for the words of a command; without
// any it is a shell. One word is a script, unless it is nothing but a path: images
// need have no shell. Source: docs/spec/containers.md §7.4.
func Program(words []string) []string {
	switch {
	case len(words) == 0:
		return []string{"sh", "-c", "exec sh"}
	case len(words) == 1 && (!strings.HasPrefix(words[0], "/") || strings.ContainsAny(words[0], " \t\n\"'\\$`|&;<>()*?[]{}~#!")):
		return []string{"sh", "-c", words[0]}
	}
	return words
}

// inWorkload runs a command in a workload container by its Pebble, which is what
// there is in each, with the user and the environment that the container has.
func (d Inside) inWorkload(ctx context.Context, u Unit, container string, words []string) error {
	at, err := u.Workload(container)
	if errors.Is(err, errors.NotFound) {
		return u.notReady(container)
	}
	if err != nil {
		return errors.Trace(err)
	}
	o := pebble.ExecOptions{Command: Program(words), Dir: at.Dir, Stdin: d.In, Stdout: d.Out, Stderr: d.Err, Environment: map[string]string{}}
	in, typed := tty(d.In)
	out, shown := tty(d.Out)
	if typed && shown {
		o.Terminal, o.Stderr, o.Environment["TERM"] = true, nil, os.Getenv("TERM")
		if width, height, err := term.GetSize(int(out.Fd())); err == nil {
			o.Width, o.Height = width, height
		}
	}
	p, err := u.Pebble(container).Exec(ctx, o)
	if err != nil {
		return u.asked(ctx, container, err)
	}
	if o.Terminal {
		back, err := raw(in, out, p)
		if err != nil {
			return errors.Annotate(err, "cannot use the terminal")
		}
		defer back()
	}
	err = p.Wait()
	var exit *pebble.ExitError
	if errors.As(err, &exit) {
		return Exit(exit.Code)
	}
	return u.asked(ctx, container, err)
}

// raw has the terminal pass on what is typed, and how large it is, until back is
// called.
func raw(in, out *os.File, p *pebble.Process) (back func(), err error) {
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, errors.Trace(err)
	}
	changed, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-over:
				return
			case <-changed:
				if width, height, err := term.GetSize(int(out.Fd())); err == nil {
					_ = p.Resize(width, height)
				}
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		close(over)
		_ = term.Restore(int(in.Fd()), was)
	}, nil
}
