package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
)

func (a *app) actionsCmd() *cobra.Command {
	var schema bool
	var format, output string
	cmd := &cobra.Command{
		Use:               "actions APPLICATION",
		Aliases:           []string{"list-actions"},
		Short:             "List the actions of an application's charm",
		Example:           "  unitd actions ledger\n  unitd actions ledger --schema",
		Args:              args(1, 1, "no application name specified"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			actions, err := a.actionsOf(args[0])
			if err != nil {
				return err
			}
			if format == "" && schema {
				format = "yaml"
			}
			if format == "" || format == "plain" {
				return a.actionsTable(args[0], actions, output)
			}
			if schema {
				return a.write(format, output, schemasOf(actions))
			}
			described := map[string]string{}
			for name, spec := range actions {
				described[name] = spec.Description
			}
			return a.write(format, output, described)
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "with the schemas of the parameters")
	cmd.Flags().StringVar(&format, "format", "", "plain, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file instead")
	a.formats(cmd, "", "plain", "json", "yaml")
	return cmd
}

func (a *app) showActionCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:               "show-action APPLICATION ACTION",
		Short:             "Show what an action does and takes",
		Example:           "  unitd show-action ledger backup",
		Args:              args(2, 2, "no application or no action specified"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			actions, err := a.actionsOf(args[0])
			if err != nil {
				return err
			}
			spec, ok := actions[args[1]]
			if !ok {
				return errors.NewNotFound(nil, fmt.Sprintf("unknown action %q", args[1]))
			}
			return a.write(format, output, spec)
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file instead")
	a.formats(cmd, "json", "yaml")
	return cmd
}

func (a *app) actionsOf(application string) (map[string]model.ActionSpec, error) {
	m, err := a.model()
	if err != nil {
		return nil, err
	}
	app, err := m.Application(a.ctx, application)
	if err != nil {
		return nil, err
	}
	charm, err := m.Charm(a.ctx, app.Charm)
	return charm.Charm.Actions, err
}

// schemasOf are the actions' JSON schemas, each with the action's name for its
// title and with what the action does.
func schemasOf(actions map[string]model.ActionSpec) map[string]map[string]any {
	out := map[string]map[string]any{}
	for name, spec := range actions {
		schema := map[string]any{"title": name, "description": cmp.Or(spec.Description, "No description")}
		maps.Copy(schema, spec.Params)
		out[name] = schema
	}
	return out
}

func (a *app) actionsTable(application string, actions map[string]model.ActionSpec, output string) error {
	if len(actions) == 0 {
		a.note("No actions defined for %s.", application)
		return nil
	}
	rows := [][]cell{heads("Action", "Description")}
	for _, name := range slices.Sorted(maps.Keys(actions)) {
		line, _, _ := strings.Cut(strings.TrimSpace(actions[name].Description), "\n")
		rows = append(rows, []cell{{text: name}, {text: harmless(line)}})
	}
	t := table{colours: output == "" && colourful(a.stdout)}
	t.block(rows)
	if output != "" {
		return a.writeFile(output, t.b.String())
	}
	a.printf("%s", t.b.String())
	return nil
}
