package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// constraintVerbs are about what machines for units have to be like. Source:
// docs/spec/juju-clients.md §6.2.
type constraintVerbs struct{ base }

const constraintHelp = `Of constraints the architecture alone has an effect here: units for another one than
this host's wait, as they would in a cloud without such machines. The others are
recorded.`

func (a constraintVerbs) modelConstraintsCmd() *cobra.Command {
	return a.shown(&cobra.Command{
		Use:     "model-constraints",
		Short:   "Show the constraints of the model",
		Example: "  unitd model-constraints\n  unitd model-constraints --format json",
		Args:    Args(0, 0, ""),
	}, func(m *state.Model, _ []string) (model.Constraints, error) { return m.Constraints(a.Context()) })
}

func (a constraintVerbs) constraintsCmd() *cobra.Command {
	return a.shown(&cobra.Command{
		Use:               "constraints APPLICATION",
		Short:             "Show the constraints of an application",
		Example:           "  unitd constraints ledger\n  unitd constraints ledger --format yaml",
		Args:              Args(1, 1, "no application name specified"),
		ValidArgsFunction: a.completeApplications(1),
	}, func(m *state.Model, args []string) (model.Constraints, error) {
		return m.ConstraintsOf(a.Context(), args[0])
	})
}

// shown is the command with its flags, printing the constraints that read gives.
func (a constraintVerbs) shown(cmd *cobra.Command, read func(*state.Model, []string) (model.Constraints, error)) *cobra.Command {
	var format, output string
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := constraintArgs(args); err != nil {
			return err
		}
		m, err := a.model()
		if err != nil {
			return err
		}
		c, err := read(m, args)
		if err != nil {
			return err
		}
		if format != "constraints" {
			return a.write(format, output, c)
		}
		return a.text(output, c.String()+"\n")
	}
	cmd.Flags().StringVar(&format, "format", "constraints", "output format: constraints, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "constraints", "json", "yaml")
	return cmd
}

// constraintArgs checks the name of an application, if there is one.
func constraintArgs(args []string) error {
	if len(args) > 0 && !model.ValidApplication(args[0]) {
		return Usagef("invalid application name %q", args[0])
	}
	return nil
}

func (a constraintVerbs) setModelConstraintsCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "set-model-constraints [KEY=VALUE …]",
		Short:   "Replace the constraints of the model; with none, clear them",
		Long:    "Replace the constraints of the model. They hold for units and machines that are\nadded later, unless an application says otherwise.\n\n" + constraintHelp,
		Example: "  unitd set-model-constraints arch=amd64\n  unitd set-model-constraints mem=4G cores=2\n  unitd set-model-constraints",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.set(args, func(m *state.Model, c model.Constraints) error { return m.SetConstraints(a.Context(), c) })
		},
	}
}

func (a constraintVerbs) setConstraintsCmd() *cobra.Command {
	return &cobra.Command{
		Use:               "set-constraints APPLICATION [KEY=VALUE …]",
		Short:             "Replace the constraints of an application; with none, clear them",
		Long:              "Replace the constraints of an application. They hold for units that are added\nlater, and win over the model's, key by key.\n\n" + constraintHelp,
		Example:           "  unitd set-constraints ledger mem=4G cores=2\n  unitd set-constraints ledger",
		Args:              Args(1, -1, "no application name specified"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := constraintArgs(args); err != nil {
				return err
			}
			return a.set(args[1:], func(m *state.Model, c model.Constraints) error {
				return m.SetConstraintsOf(a.Context(), args[0], c)
			})
		},
	}
}

func (a constraintVerbs) set(words []string, store func(*state.Model, model.Constraints) error) error {
	c, err := model.ParseConstraints(words...)
	if err != nil {
		return Usagef("%v", err)
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	if err := store(m, c); err != nil {
		return err
	}
	a.recordsConstraints(c)
	return nil
}

// recordsConstraints says which of the constraints have no effect.
func (a base) recordsConstraints(c model.Constraints) {
	c.Arch = nil
	if text := c.String(); text != "" {
		a.records("constraints " + text)
	}
}

// noteConstraints says what of the constraints for new units this host can't fulfil.
// Source: docs/spec/juju-clients.md §6.3.
func (a base) noteConstraints(m *state.Model, deployed state.DeployArgs) error {
	own, err := model.ParseConstraints(deployed.Constraints)
	if err != nil || deployed.Units == 0 {
		return err
	}
	a.recordsConstraints(own)
	ofModel, err := m.Constraints(a.Context())
	if err != nil {
		return err
	}
	host := thisHost()
	all := own.Under(ofModel)
	if arch, here := all.Architecture(), model.ArchitectureOf(host.Arch); arch != "" && arch != here {
		a.Note("the units wait: there is no machine with arch=%s, this host is %s", arch, here)
	}
	if beyond := all.Beyond(uint64(host.Cores), host.Mem); len(beyond) > 0 {
		a.Note("the units run here all the same: constraints ask for %s", strings.Join(beyond, ", "))
	}
	return nil
}

// readConstraints reads what --constraints says, each time that it is given.
func readConstraints(words []string) (model.Constraints, error) {
	c, err := model.ParseConstraints(words...)
	if err != nil {
		return c, fmt.Errorf("--constraints: %w", err)
	}
	return c, nil
}
