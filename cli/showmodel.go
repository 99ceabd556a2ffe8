package cli

import (
	"fmt"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

func (a modelVerbs) showModelCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:               "show-model [MODEL]",
		Short:             "Show what there is to know of a model",
		Example:           "  unitd show-model\n  unitd show-model staging --format json",
		Args:              Args(0, 1, ""),
		ValidArgsFunction: a.completeModels,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				if err := a.follow(args[0]); err != nil {
					return err
				}
				a.flag = args[0]
			}
			m, err := a.modelShown(args)
			if err != nil {
				return err
			}
			s, err := a.See(m)
			if err != nil {
				return err
			}
			f, err := a.modelFacts(m)
			if err != nil {
				return err
			}
			return a.write(format, output, render.Tree{s.Model.Name: render.ModelTree(s, f)})
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "yaml", "json")
	return cmd
}

// modelShown is the model that show-model shows: the one in focus, or that which a
// reference or a UUID names.
func (a modelVerbs) modelShown(args []string) (*state.Model, error) {
	if len(args) == 0 {
		return a.model()
	}
	c, err := a.Open()
	if err != nil {
		return nil, err
	}
	infos, err := c.Models(a.Context())
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		if info.UUID == args[0] {
			return c.Open(info), nil
		}
	}
	name, err := modelRef(args[0])
	if err != nil {
		return nil, err
	}
	m, err := c.Model(a.Context(), name)
	if errors.Is(err, errors.NotFound) {
		return nil, errors.NewNotFound(nil, fmt.Sprintf("model %s:%s/%s not found", c.Name(), render.UserName, name))
	}
	return m, err
}

// modelFacts are what show-model shows beside the status.
func (a modelVerbs) modelFacts(m *state.Model) (render.ModelFacts, error) {
	f := render.ModelFacts{Host: thisHost(), Now: time.Now()}
	c, err := a.Open()
	if err != nil {
		return f, err
	}
	identity, err := c.Identity(a.Context())
	if err != nil {
		return f, err
	}
	secrets, err := m.Secrets(a.Context())
	f.Controller, f.ControllerUUID, f.Secrets = c.Name(), identity.UUID, len(secrets)
	return f, err
}
