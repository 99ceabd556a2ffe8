package cli

import (
	"slices"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// controllerVerbs are about the stores of this host that have names. Source:
// docs/spec/juju-clients.md §3.
type controllerVerbs struct{ modelVerbs }

func (a controllerVerbs) controllersCmd() *cobra.Command {
	var format, output string
	var refresh bool
	cmd := &cobra.Command{
		Use:     "controllers",
		Aliases: []string{"list-controllers"},
		Short:   "List the controllers: this host's own store, and those of bootstrap",
		Example: "  unitd controllers\n  unitd controllers --format json",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			here, all, err := a.known(nil)
			if err != nil {
				return err
			}
			if format != "tabular" {
				return a.write(format, output, render.Controllers(all, here))
			}
			if !refresh && output == "" {
				a.printf("Use --refresh option with this command to see the latest information.\n\n")
			}
			return a.table(output, render.ControllerRows(all, here))
		},
	}
	cmd.Flags().BoolVar(&refresh, "refresh", false, "noted: what is shown is always the latest")
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

// known are the controllers of those names, nil: all, and the name of the one that this
// command works on.
func (a controllerVerbs) known(names []string) (here string, all []render.Controller, err error) {
	own, err := agent.Controller()
	if err != nil {
		return "", nil, err
	}
	registered, err := agent.Controllers()
	if err != nil {
		return "", nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(registered, func(r agent.Registered) bool { return r.Name == name }) {
			return "", nil, errors.NewNotFound(nil, "controller "+name+" not found")
		}
	}
	for _, r := range registered {
		if names != nil && !slices.Contains(names, r.Name) {
			continue
		}
		c := render.Controller{Name: r.Name, Cloud: r.Cloud, Region: r.Region, Models: map[string]render.ModelCounts{}}
		if r.Name == own.Name {
			err = a.readOwn(&c)
		} else {
			err = a.Look(r, func(store *state.Controller) error { return a.read(&c, store) })
		}
		if err != nil {
			return "", nil, err
		}
		all = append(all, c)
	}
	return own.Name, all, nil
}

// readOwn reads the controller that this command works on.
func (a controllerVerbs) readOwn(c *render.Controller) error {
	store, err := a.Open()
	if err != nil {
		return err
	}
	infos, err := store.Models(a.Context())
	if err != nil {
		return err
	}
	if c.Model, err = a.inFocus(infos); err != nil {
		return err
	}
	if c.Model == defaultModel && len(infos) == 0 {
		c.Model = "" // nobody has used it
	}
	return a.read(c, store)
}

// read counts what is in a store; nil: nothing was ever.
func (a controllerVerbs) read(c *render.Controller, store *state.Controller) error {
	if store == nil {
		return nil
	}
	identity, err := store.Identity(a.Context())
	if err != nil {
		return err
	}
	c.UUID = identity.UUID
	infos, err := store.Models(a.Context())
	if err != nil {
		return err
	}
	cores := thisHost().Cores
	for _, info := range infos {
		machines, err := store.Open(info).Machines(a.Context())
		if err != nil {
			return err
		}
		counts := render.ModelCounts{UUID: info.UUID}
		for _, m := range machines {
			if m.Pod {
				continue
			}
			counts.Machines++
			if m.Provider == state.LocalProvider {
				counts.Cores += cores
			}
		}
		c.Models[info.Name] = counts
	}
	return nil
}

func (a controllerVerbs) showControllerCmd() *cobra.Command {
	var format, output string
	var password bool
	cmd := &cobra.Command{
		Use:     "show-controller [CONTROLLER …]",
		Short:   "Show what there is to know of controllers",
		Example: "  unitd show-controller\n  unitd show-controller spare --format json",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				here, err := agent.Controller()
				if err != nil {
					return err
				}
				args = []string{here.Name}
			}
			_, all, err := a.known(args)
			if err != nil {
				return err
			}
			out := map[string]render.ControllerDetail{}
			for _, c := range all {
				out[c.Name] = render.ShowController(c)
			}
			return a.write(format, output, out)
		},
	}
	cmd.Flags().BoolVar(&password, "show-password", false, "noted: there are no passwords")
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "yaml", "json")
	return cmd
}

func (a controllerVerbs) whoamiCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "whoami",
		Short:   "Name the controller, the model and the user in focus",
		Example: "  unitd whoami\n  unitd whoami --format json",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			here, err := agent.Controller()
			if err != nil {
				return err
			}
			c := render.Controller{Models: map[string]render.ModelCounts{}}
			if err := a.readOwn(&c); err != nil {
				return err
			}
			who := render.Whoami{Controller: here.Name, Model: c.Model, User: render.UserName}
			if format != "tabular" {
				return a.write(format, output, who)
			}
			return a.table(output, render.WhoamiRows(who))
		},
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a controllerVerbs) usersCmd() *cobra.Command {
	var format, output string
	var all, exact bool
	cmd := &cobra.Command{
		Use:               "users [MODEL]",
		Aliases:           []string{"list-users"},
		Short:             "List the users, of whom there is one",
		Example:           "  unitd users\n  unitd users staging --format json",
		Args:              Args(0, 1, ""),
		ValidArgsFunction: a.completeModels,
		RunE: func(_ *cobra.Command, args []string) error {
			now := render.JustNow
			if exact {
				now = time.Now().UTC().Format("2006-01-02 15:04:05 -0700 MST")
			}
			if len(args) == 1 {
				return a.modelUsers(args[0], now, format, output)
			}
			here, err := agent.Controller()
			if err != nil {
				return err
			}
			created := ""
			if !here.Created.IsZero() {
				created = here.Created.UTC().Format(time.DateOnly)
			}
			users := render.Users(created, now)
			if format != "tabular" {
				return a.write(format, output, users)
			}
			return a.table(output, [][]render.Cell{{{Text: "Controller: " + here.Name}}}, render.UserRows(users))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "noted: no user is disabled")
	cmd.Flags().BoolVar(&exact, "exact-time", false, "show times in full")
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a controllerVerbs) modelUsers(ref, now, format, output string) error {
	if err := a.follow(ref); err != nil {
		return err
	}
	a.flag = ref
	if _, err := a.model(); err != nil {
		return err
	}
	users := render.ModelUsers(now)
	if format != "tabular" {
		return a.write(format, output, users)
	}
	return a.table(output, render.ModelUserRows(users))
}
