package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

// changesFlags are the flags of changes.
type changesFlags struct {
	newest         int
	user, since    string
	utc            bool
	format, output string
}

// defaultChanges is how many changes are shown where nothing is said of that.
const defaultChanges = 20

func (a statusVerbs) changesCmd() *cobra.Command {
	var f changesFlags
	cmd := &cobra.Command{
		Use:   "changes [APPLICATION|UNIT|MACHINE]",
		Short: "Show who has changed the model: the command, and what was before and after",
		Long: `Show what people's commands have changed in the model, oldest first: when, by which
account of which host, by which command, and each field with its value before and after.
With a name, show only what was changed of that application with its units and relations,
of that unit, or of that machine.

Each entry is written in the transaction that makes the change, so the log has
what has happened, also of a command that has failed midway. What hooks do is not in it:
see "unitd history". The content of secrets never is, and … stands for what looks like one.
The newest 1000 entries are kept, or as many as the model's setting changes-kept says.

The account is what the command's host says of itself. An agent that serves its store
puts in the account that it sees. Elsewhere, whoever may write to the store can write any
name.`,
		Example:           "  unitd changes\n  unitd changes ledger --since 2h\n  unitd changes --user ann -n 5 --format json",
		Args:              Args(0, 1, ""),
		ValidArgsFunction: a.completeEither,
		RunE: func(_ *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return a.changes(name, f)
		},
	}
	fs := cmd.Flags()
	fs.IntVarP(&f.newest, "limit", "n", 0, "show this many of the newest (0: 20, or all since a time)")
	fs.StringVar(&f.user, "user", "", "show only what this account has changed: NAME or NAME@HOST")
	fs.StringVar(&f.since, "since", "", "show only what was changed since then: 10m, 2h, or a time as 2026-03-03T09:00:00Z")
	fs.BoolVar(&f.utc, "utc", false, "show times in UTC")
	fs.StringVar(&f.format, "format", "plain", "output format: plain, json or yaml")
	fs.StringVarP(&f.output, "output", "o", "", "write to this file")
	formats(cmd, "plain", "json", "yaml")
	return cmd
}

func (a statusVerbs) changes(name string, f changesFlags) error {
	if f.newest < 0 {
		return Usagef("--limit must not be negative")
	}
	since, err := a.sinceTime(f.since)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	all, err := m.Changes(a.Context())
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(c state.Logged) bool {
		return c.Time.Before(since) || f.user != "" && f.user != c.User && f.user != c.User+"@"+c.Host || name != "" && !c.Of(name)
	})
	if f.newest == 0 && f.since == "" {
		f.newest = defaultChanges
	}
	if f.newest > 0 {
		all = all[max(0, len(all)-f.newest):]
	}
	switch {
	case f.format != "plain":
		return a.write(f.format, f.output, render.ChangesOf(all))
	case len(all) == 0:
		a.Note("No changes.")
		return nil
	}
	return a.text(f.output, render.Changes(all, f.utc, terminal.Colourful(a.Out) && f.output == ""))
}
