package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/pebble"
)

// logsFlags are those of logs.
type logsFlags struct {
	follow bool
	pebble bool
	system bool
	lines  string
	format string
}

// Logs is the verb logs.
func (d Inside) Logs() *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use:   "logs UNIT [CONTAINER [SERVICE …]] | logs UNIT --system [SERVICE …]",
		Short: "Show what the services of a workload container, or of a machine with systemd, have printed",
		Long: `Show the last lines that the services of a workload container have printed. Its
Pebble keeps some 100 KB for each service, as long as the container runs. If the unit
has only one container, you can leave out its name. With --follow, new lines are
shown until Ctrl-C, or until the container ends.

With --pebble you see what Pebble itself printed, even if the container isn't up,
including what it printed before it was started again.

With --system you see the journal of a machine with systemd (deploy
--isolate=machine): all of it, or only what the services that you name have logged.`,
		Example:           "  unitd logs webby/0\n  unitd logs webby/0 web --follow\n  unitd logs webby/0 web httpd -n all --format json\n  unitd logs webby/0 web --pebble\n  unitd logs site/0 --system nginx",
		Args:              Args(1, -1, "no unit name specified"),
		ValidArgsFunction: d.completeLogs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.logs(cmd.Context(), args, f)
		},
	}
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "show new lines as they come")
	cmd.Flags().BoolVar(&f.pebble, "pebble", false, "show what Pebble itself printed, including earlier starts")
	cmd.Flags().BoolVar(&f.system, "system", false, "show the journal of a machine with systemd")
	cmd.Flags().StringVarP(&f.lines, "lines", "n", "30", "how many of the last lines to show; all: all that there are")
	cmd.Flags().StringVar(&f.format, "format", "text", "text, or json: one line of JSON for each line")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// query is what is asked of Pebble, and how lines are printed.
func (f logsFlags) query(services []string) (q pebble.LogsQuery, show func(pebble.LogEntry) (string, error), err error) {
	q = pebble.LogsQuery{Services: services, Last: -1, Follow: f.follow}
	if f.lines != "all" {
		if q.Last, err = strconv.Atoi(f.lines); err != nil || q.Last < 0 {
			return q, nil, Usagef("invalid value %q for option --lines: a number, or all", f.lines)
		}
	}
	switch f.format {
	case "text":
		return q, logText, nil
	case "json":
		return q, logJSON, nil
	}
	return q, nil, Usagef("invalid value %q for option --format: unknown format %q", f.format, f.format)
}

// logText is a line as Pebble's own command shows it.
func logText(e pebble.LogEntry) (string, error) {
	return fmt.Sprintf("%s [%s] %s", e.Time.UTC().Format("2006-01-02T15:04:05.000Z07:00"), e.Service, e.Message), nil
}

func logJSON(e pebble.LogEntry) (string, error) {
	b, err := json.Marshal(e)
	return string(b), errors.Trace(err)
}

func (d Inside) logs(ctx context.Context, args []string, f logsFlags) error {
	var container string
	var services []string
	if len(args) > 1 {
		container, services = args[1], args[2:]
	}
	if f.pebble && f.system {
		return Usagef("--pebble is for containers, --system for machines: use one of them")
	}
	if f.pebble && (f.follow || f.format != "text" || len(services) > 0) {
		return Usagef("--pebble takes no service, --follow or --format: it shows what Pebble printed, as it is")
	}
	query, show, err := f.query(services)
	if err != nil {
		return errors.Trace(err)
	}
	u, err := d.Unit(ctx, args[0])
	if err != nil {
		return errors.Trace(err)
	}
	if f.system {
		return d.systemLogs(ctx, u, query, args[1:], f)
	}
	if container, err = u.withServices(container); err != nil {
		return errors.Trace(err)
	}
	if f.pebble {
		return d.printed(u, container, query.Last)
	}
	client := u.Pebble(container)
	if err := u.has(ctx, client, container, services); err != nil {
		return errors.Trace(err)
	}
	err = client.Logs(ctx, query, func(e pebble.LogEntry) error {
		line, err := show(e)
		if err == nil {
			_, err = fmt.Fprintln(d.Out, line)
		}
		return errors.Trace(err)
	})
	if f.follow && ctx.Err() != nil {
		return nil // Ctrl-C is how it ends
	}
	return u.logsOf(ctx, container, err)
}

// logsOf is asked, and says where there is more to read.
func (u Unit) logsOf(ctx context.Context, container string, err error) error {
	if errors.Is(err, pebble.ErrNotThere) && ctx.Err() == nil {
		return errors.NewNotFound(nil, fmt.Sprintf("%v, and \"unitd logs %s %s --pebble\" what its Pebble has printed", u.notReady(container), u.Name, container))
	}
	return u.asked(ctx, container, err)
}

// printed shows what a container's Pebble itself has printed.
func (d Inside) printed(u Unit, container string, lines int) error {
	text, err := u.Printed(container, lines)
	if err != nil {
		return errors.Annotatef(err, "cannot read what the Pebble of container %q of %s has printed", container, u.Name)
	}
	_, err = fmt.Fprint(d.Out, text)
	return errors.Trace(err)
}

// withServices is the workload container that is meant; empty is the only one.
func (u Unit) withServices(name string) (string, error) {
	switch {
	case len(u.Containers) == 0 || name == CharmContainer:
		return "", errors.NewNotFound(nil, fmt.Sprintf(`%s has no services there: what its hooks print is in "unitd debug-log --include %s"`, u.Name, u.Name))
	case name == "" && len(u.Containers) > 1:
		return "", Usagef("%s has several containers: name one of %s", u.Name, strings.Join(u.Containers, ", "))
	case name == "":
		return u.Containers[0], nil
	case !slices.Contains(u.Containers, name):
		return "", errors.NewNotFound(nil, fmt.Sprintf("container %q must be one of %s", name, strings.Join(u.Containers, ", ")))
	}
	return name, nil
}

// has is an error where Pebble has no such service: it would just say nothing.
func (u Unit) has(ctx context.Context, client *pebble.Client, container string, services []string) error {
	if len(services) == 0 {
		return nil
	}
	all, err := client.Services(ctx)
	if err != nil {
		return u.logsOf(ctx, container, err)
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	for _, name := range services {
		if !slices.Contains(names, name) {
			has := "none"
			if len(names) > 0 {
				has = strings.Join(names, ", ")
			}
			return errors.NewNotFound(nil, fmt.Sprintf("container %q of %s has no service %q; it has %s", container, u.Name, name, has))
		}
	}
	return nil
}

// completeLogs completes a unit, then its containers.
func (d Inside) completeLogs(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return beginning(d.Names(), word), cobra.ShellCompDirectiveNoFileComp
	case 1:
		return beginning(d.Containers(args[0]), word), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
