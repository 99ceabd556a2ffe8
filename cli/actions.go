package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
)

func (a taskVerbs) actionsCmd() *cobra.Command {
	var schema bool
	var format, output string
	cmd := &cobra.Command{
		Use:               "actions APPLICATION",
		Aliases:           []string{"list-actions"},
		Short:             "List the actions of an application's charm",
		Example:           "  unitd actions ledger\n  unitd actions ledger --schema",
		Args:              Args(1, 1, "no application name specified"),
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
				return a.write(format, output, render.ActionSchemas(actions))
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
	formats(cmd, "", "plain", "json", "yaml")
	return cmd
}

func (a taskVerbs) showActionCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:               "show-action APPLICATION ACTION",
		Short:             "Show what an action does and takes",
		Example:           "  unitd show-action ledger backup",
		Args:              Args(2, 2, "no application or no action specified"),
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
	formats(cmd, "json", "yaml")
	return cmd
}

func (a taskVerbs) actionsOf(application string) (map[string]model.ActionSpec, error) {
	m, err := a.model()
	if err != nil {
		return nil, err
	}
	app, err := m.Application(a.Context(), application)
	if err != nil {
		return nil, err
	}
	charm, err := m.Charm(a.Context(), app.Charm)
	return charm.Charm.Actions, err
}

func (a taskVerbs) actionsTable(application string, actions map[string]model.ActionSpec, output string) error {
	if len(actions) == 0 {
		a.Note("No actions defined for %s.", application)
		return nil
	}
	rows := [][]render.Cell{render.Heads("Action", "Description")}
	for _, name := range slices.Sorted(maps.Keys(actions)) {
		line, _, _ := strings.Cut(strings.TrimSpace(actions[name].Description), "\n")
		rows = append(rows, []render.Cell{{Text: name}, {Text: render.Harmless(line)}})
	}
	return a.table(output, rows)
}
