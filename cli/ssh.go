package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/terminal"
)

// SSH is the verb ssh. Source: docs/spec/juju-clients.md §5.2.
func (d Inside) SSH() *cobra.Command {
	var container string
	pty := true
	cmd := &cobra.Command{
		Use:   "ssh [USER@]TARGET [OPENSSH OPTIONS] [-- COMMAND …]",
		Short: "Open a shell where a unit is, or run a command there",
		Long: `Open a shell in the machine of an isolated unit, or in the charm directory of a unit
that shares this host. With --container it is in a workload container, as the user and
with the environment of its Pebble. The shell isn't a hook: it waits for no hooks, and
the only hook tool in it is juju-exec, which a workload container doesn't have either.

TARGET is a unit's name, APPLICATION/leader, or the id of a machine: of its first unit,
or this host if it has none. One argument after it is run as a script. Several are the
words of one command; in a workload container, such a command needs no shell. Options
of OpenSSH between the two are taken as well: -l, -n, -t and -T do what they do there,
those about the connection nothing. USER is a user of the unit's machine; one that it
doesn't have is ignored. A unit of another host is reached through the agent there, if
that was started with --allow-sessions; any other host, USER@HOST, through OpenSSH.

Called as juju it does as Juju does: the words of a command are joined, and a shell
parts them again; it runs as the user ubuntu in that user's home, where there is one;
and any other TARGET is a host.`,
		Example: `  unitd ssh ledger/0
  unitd ssh ledger/leader -- ss -ltn
  unitd ssh ledger/0 'dpkg -l | grep nginx'
  unitd ssh --container web webby/0 -- ls -l /srv`,
		Args:              Args(1, -1, "no target name specified"),
		ValidArgsFunction: d.completeTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			call, err := parseSSH(args[0], args[1:])
			if err != nil {
				return err
			}
			if !pty {
				call.terminal = noTerminal
			}
			if call.host != "" && isHost(call.host, d.DropIn) {
				return d.openSSH(cmd.Context(), "ssh", args)
			}
			return d.ssh(cmd.Context(), call, container, args)
		},
	}
	d.flags(cmd, &container)
	cmd.Flags().BoolVar(&pty, "pty", true, "give the command the terminal that this one has, if it has one")
	return cmd
}

func (d Inside) ssh(ctx context.Context, c sshCall, container string, args []string) error {
	target := cmp.Or(c.target, c.host)
	on, err := d.Remote(ctx, target)
	if err != nil {
		return errors.Trace(err)
	}
	if on != nil {
		return d.sshThere(ctx, on, c, container, args[1:])
	}
	u, err := d.Unit(ctx, target)
	if err != nil {
		return errors.Trace(err)
	}
	if u.Address != "" {
		at := cmp.Or(c.user, defaultUser) + "@" + u.Address
		return d.openSSH(ctx, "ssh", append([]string{at}, args[1:]...))
	}
	if c.forwards != "" {
		return errors.Errorf("%s: port forwarding needs OpenSSH; %s is on this host", c.forwards, u.Name)
	}
	if c.silent {
		d.In = nil
	}
	if container, err = u.pick(d.Streams, container); err != nil {
		return errors.Trace(err)
	}
	if container != "" {
		return d.inWorkload(ctx, u, container, c.command)
	}
	arguments := []string{"-i"}
	switch {
	case len(c.command) > 0 && d.DropIn && len(u.Containers) == 0:
		arguments = []string{"-c", remoteScript(c.command)}
	case len(c.command) > 0:
		arguments = []string{"-c", model.ShellLine(c.command)}
	}
	cmd, err := u.Shell(d.user(u, c.user), arguments...)
	if err != nil {
		return errors.Trace(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = d.In, d.Out, d.Err
	if c.terminal == noTerminal {
		cmd.Stdout, cmd.Stderr = piped{d.Out}, piped{d.Err}
	}
	return exited(cmd.Run(), fmt.Sprintf("cannot open a shell for %s", u.Name))
}

// piped is a writer that a program gets a pipe to, whatever is behind it.
type piped struct{ io.Writer }

// openSSH has a program of OpenSSH do what is about other hosts.
func (d Inside) openSSH(ctx context.Context, program string, args []string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = d.In, d.Out, d.Err
	return exited(cmd.Run(), fmt.Sprintf("cannot run %s for a host that is no unit", program))
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
		if width, height, ok := terminal.Size(out); ok {
			o.Width, o.Height = width, height
		}
	}
	p, err := u.Pebble(container).Exec(ctx, o)
	if err != nil {
		return u.asked(ctx, container, err)
	}
	if o.Terminal {
		back, err := terminal.Raw(in, func() {
			if width, height, ok := terminal.Size(out); ok {
				_ = p.Resize(width, height)
			}
		})
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
