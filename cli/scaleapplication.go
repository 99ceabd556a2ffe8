package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a unitVerbs) scaleApplicationCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "scale-application APPLICATION UNITS",
		Short: "Say how many units a container application is to have",
		Long: `Say how many units an application of a container charm is to have. New ones have
the next numbers; those with the highest numbers go first, after their stop and
remove hooks, and their numbers are used again.`,
		Example:           "  unitd scale-application web 3",
		Args:              scaleArgs,
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[1])
			if err != nil {
				return Usagef("invalid scale %q: it is not a whole number", args[1])
			}
			return a.scaleApplication(args[0], n)
		},
	}
}

func scaleArgs(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return Usagef("no application specified")
	case !model.ValidApplication(args[0]):
		return Usagef("invalid application name %q", args[0])
	case len(args) == 1:
		return Usagef("no scale specified")
	case len(args) > 2:
		return Usagef("unrecognized args: %q", args[2:])
	}
	return nil
}

func (a unitVerbs) scaleApplication(name string, n int) error {
	if n < 0 {
		return Usagef("scale must be a positive integer")
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	err = m.SetScale(a.Context(), name, n, state.Orderly)
	switch {
	case errors.Is(err, errors.NotFound):
		return errors.NewNotFound(nil, fmt.Sprintf("could not scale application %q: application %[1]q does not exist", name))
	case errors.Is(err, errors.NotSupported):
		return errors.NewNotSupported(nil, fmt.Sprintf("could not scale application %q: %v (not supported)", name, err))
	case err != nil:
		return err
	}
	a.printf("%s scaled to %d units\n", name, n)
	return a.Ensure()
}

// scaleDown is remove-unit for a container application, which is named in place of
// units. Source: docs/spec/containers.md §7.2.
func (a unitVerbs) scaleDown(m *state.Model, names []string, by int, how state.Force, destroyStorage bool) error {
	switch {
	case len(names) > 1:
		return errors.New("only single application supported")
	case by <= 0:
		return errors.New("specify the number of units (> 0) to remove using --num-units")
	case destroyStorage:
		return errors.New("k8s models only support --num-units")
	}
	scale := 0
	err := a.removing(names[0], how, func(ctx context.Context) (err error) {
		scale, err = m.ChangeScale(ctx, names[0], -by, how)
		return err
	})
	if err != nil {
		return err
	}
	a.printf("scaling down to %d units\n", scale)
	return a.Ensure()
}

// containerApplication says whether that is what somebody may have named: by its own
// name, or by that of a unit.
func (a unitVerbs) containerApplication(m *state.Model, name string) (bool, error) {
	if u, err := model.ParseUnitName(name); err == nil {
		name = u.Application()
	}
	if !model.ValidApplication(name) {
		return false, nil
	}
	app, err := m.Application(a.Context(), name)
	if errors.Is(err, errors.NotFound) {
		return false, nil
	}
	return app.Sidecar, err
}
