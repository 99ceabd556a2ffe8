package main

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
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
				return errors.NewNotFound(nil, fmt.Sprintf("model %s:%s/%s not found", controllerName, userName, args[0]))
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
			return a.write(format, output, tree{s.Model.Name: modelTree(s, controllerID(name), time.Now())})
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

// modelTree is what show-model shows. Source: docs/spec/cli-juju.md §2.6. The type
// is "kubernetes" for a model that was made for container charms, or has none but
// them: tools take another way there, on which there are no machines.
func modelTree(s *state.FullStatus, controller string, now time.Time) tree {
	kind := shownType(s.Model, s.Applications)
	t := tree{
		"name": userName + "/" + s.Model.Name, "short-name": s.Model.Name, "model-uuid": s.Model.UUID, "model-type": typeName(kind),
		"controller-uuid": controller, "controller-name": controllerName, "is-controller": false,
		"owner": userName, "cloud": cloudNameOf(s.Model.Type), "region": regionName, "type": providerOf(kind), "life": s.Model.Life.String(),
		"status":        tree{"current": modelStatus(s.Model), "since": ago(now.Sub(s.Model.Created))},
		"users":         tree{userName: tree{"display-name": userName, "access": userName, "last-connection": justNow}},
		"sla":           "unsupported",
		"agent-version": hooks.Version,
		"supported-features": []tree{
			{"name": model.FeatureJuju, "description": "the version of Juju that charms find", "version": hooks.Version},
			{"name": model.FeatureK8sAPI, "description": "what charms need of Kubernetes", "version": kubernetesVersion},
		},
	}
	if len(s.Machines) > 0 {
		machines := tree{}
		for _, m := range s.Machines {
			machines[m.ID] = tree{"cores": 0}
		}
		t["machines"] = machines
	}
	return t
}

// ago is how long ago something was, as Juju says it.
func ago(d time.Duration) string {
	for _, unit := range []struct {
		name string
		is   time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		switch n := int(d / unit.is); {
		case n == 1:
			return "1 " + unit.name + " ago"
		case n > 1:
			return fmt.Sprintf("%d %ss ago", n, unit.name)
		}
	}
	return justNow
}
