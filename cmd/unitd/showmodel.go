package main

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
)

func (a *app) showModelCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:               "show-model [MODEL]",
		Short:             "Show what there is to know of a model",
		Example:           "  unitd show-model\n  unitd show-model staging --format json",
		Args:              args(0, 1, ""),
		ValidArgsFunction: a.completeModels,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.modelFlag = args[0]
			}
			m, err := a.model()
			if errors.Is(err, errors.NotFound) && len(args) == 1 {
				return errors.NewNotFound(nil, fmt.Sprintf("model %s:%s/%s not found", render.ControllerName, render.UserName, args[0]))
			}
			if err != nil {
				return err
			}
			s, err := a.see(m)
			if err != nil {
				return err
			}
			name, err := a.storeName()
			if err != nil {
				return err
			}
			return a.write(format, output, render.Tree{s.Model.Name: render.ModelTree(s, controllerID(name), time.Now())})
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	a.formats(cmd, "yaml", "json")
	return cmd
}

// controllerID is the UUID by which tools tell controllers apart: a store has one,
// made of where it is.
func controllerID(store string) string {
	if dir, err := dataDirPath(); err == nil && store == localStore {
		store = dir
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("unitd:"+store)).String()
}
