package cli

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/render"
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
				a.flag = args[0]
			}
			m, err := a.model()
			if errors.Is(err, errors.NotFound) && len(args) == 1 {
				return errors.NewNotFound(nil, fmt.Sprintf("model %s:%s/%s not found", render.ControllerName, render.UserName, args[0]))
			}
			if err != nil {
				return err
			}
			s, err := a.See(m)
			if err != nil {
				return err
			}
			name, err := a.StoreName()
			if err != nil {
				return err
			}
			return a.write(format, output, render.Tree{s.Model.Name: render.ModelTree(s, controllerID(name), time.Now())})
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "yaml", "json")
	return cmd
}

// controllerID is the UUID by which tools tell controllers apart: a store has one,
// made of where it is.
func controllerID(store string) string {
	if dir, err := agent.DataDirPath(); err == nil && store == agent.LocalStore {
		store = dir
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("unitd:"+store)).String()
}
