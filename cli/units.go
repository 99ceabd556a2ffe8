package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// unitVerbs add and remove applications' units, and see to them.
type unitVerbs struct {
	base
	*deploy.Deployer
	removals
	storageVerbs
}

func (a unitVerbs) addUnitCmd() *cobra.Command {
	var n int
	var to string
	var attach []string
	cmd := &cobra.Command{
		Use:               "add-unit APPLICATION",
		Short:             "Add units to an application",
		Example:           "  unitd add-unit ledger\n  unitd add-unit ledger -n 2 --to 3,new",
		Args:              Args(1, 1, "no application specified"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.addUnits(args[0], n, to, attach)
		},
	}
	cmd.Flags().IntVarP(&n, "num-units", "n", 1, "number of units to add")
	cmd.Flags().StringVar(&to, "to", "", toFlag)
	cmd.Flags().StringSliceVar(&attach, "attach-storage", nil, "ids of detached storage for the one unit, with commas between")
	return cmd
}

// addUnits adds so many units to an application, placed as to says, the one with the
// detached storage of those ids.
func (a unitVerbs) addUnits(application string, n int, to string, attach []string) error {
	switch {
	case n < 1:
		return tooFew()
	case n > bundle.MaxUnits:
		return tooMany(n)
	case len(attach) > 0 && n != 1:
		return Usagef("--attach-storage cannot be used with -n")
	}
	ids, err := storageIDs(attach)
	if err != nil {
		return err
	}
	places, err := parsePlacements(to, n)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	container, err := a.containerApplication(m, application)
	if err != nil {
		return err
	}
	if container && (to != "" || len(ids) > 0) {
		return errors.New("k8s models only support --num-units")
	}
	add := func() error {
		if len(ids) > 0 {
			_, err := m.AddUnitWith(a.Context(), application, ids, places.to...)
			return err
		}
		_, err := m.AddUnits(a.Context(), application, n, places.to...)
		return err
	}
	if container {
		err = add() // no machine is passed over for them
	} else {
		err = a.Placed(m, n-len(places.to), add)
	}
	if err != nil {
		return addUnitError(err)
	}
	a.notePlacements(places)
	return a.Ensure()
}

// addUnitError says of an application that isn't there that it isn't found, as
// scripts expect it.
func addUnitError(err error) error {
	if errors.Is(err, errors.NotFound) && !strings.HasPrefix(err.Error(), "machine") && !strings.HasPrefix(err.Error(), "storage") {
		return errors.NewNotFound(nil, err.Error()+" (not found)")
	}
	return err
}

// namedUnit is the error of removing a container unit by its name, with whatever force.
func (a unitVerbs) namedUnit(m *state.Model, arg string) error {
	name, err := model.ParseUnitName(arg)
	if err != nil {
		return Usagef("%s", err)
	}
	return m.DestroyUnit(a.Context(), name)
}

func (a unitVerbs) removeUnitCmd() *cobra.Command {
	var noPrompt, destroyStorage, dryRun bool
	var num int
	var force forceFlags
	cmd := &cobra.Command{
		Use:   "remove-unit UNIT … | APPLICATION --num-units K",
		Short: "Remove units, after their stop and remove hooks",
		Long: `Remove units. Each leaves its relations, runs stop and remove, and is gone.
Of an application of a container charm those with the highest numbers go, as many
as --num-units says.
` + forceHelp,
		Example:           "  unitd remove-unit ledger/2\n  unitd remove-unit ledger/1 ledger/2 --force\n  unitd remove-unit web --num-units 2",
		Args:              Args(1, -1, "no units specified"),
		ValidArgsFunction: a.completeUnits,
		RunE: func(_ *cobra.Command, args []string) error {
			how, err := force.level()
			if err != nil {
				return err
			}
			m, err := a.model()
			if err != nil {
				return err
			}
			container, err := a.containerApplication(m, args[0])
			switch {
			case err != nil:
				return err
			case container && dryRun:
				return errors.New("`--dry-run` is not supported for kubernetes units")
			case container && strings.Contains(args[0], "/"):
				return a.namedUnit(m, args[0])
			case container:
				return a.scaleDown(m, args, num, how, destroyStorage)
			case dryRun:
				return Usagef("--dry-run is not known here")
			case num > 0:
				return Usagef("--num-units for non k8s models not valid: name the units")
			}
			return a.removeUnits(args, how, destroyStorage)
		},
	}
	cmd.Flags().BoolVar(&noPrompt, "no-prompt", false, "for scripts; there is no question here")
	cmd.Flags().BoolVar(&destroyStorage, "destroy-storage", false, "remove the units' storage too")
	cmd.Flags().IntVar(&num, "num-units", 0, "how many units of a container application to remove")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "not known here")
	_ = cmd.Flags().MarkHidden("dry-run")
	force.declare(cmd.Flags())
	return cmd
}

func (a unitVerbs) removeUnits(args []string, how state.Force, destroyStorage bool) error {
	names, err := unitNames(args)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	done, failed := 0, 0
	for _, name := range names {
		storage, err := a.removeUnit(m, name, how, destroyStorage)
		if err != nil {
			failed++
			a.failure(fmt.Errorf("removing unit %s failed: %w", name, err))
			continue
		}
		done++
		a.printf("will remove unit %s\n%s", name, storage)
	}
	return a.afterEach(done, failed)
}

// removeUnit removes a unit, and says in lines what becomes of its storage.
func (a unitVerbs) removeUnit(m *state.Model, name model.UnitName, how state.Force, destroyStorage bool) (string, error) {
	if u, err := m.Unit(a.Context(), name); err != nil || u.Pod && u.Principal == "" {
		return "", m.DestroyUnit(a.Context(), name) // which says what is wrong
	}
	if err := a.warnUnit(m, name, how); err != nil {
		return "", err
	}
	storage, err := a.goesWith(m, name, destroyStorage)
	if err != nil {
		return "", err
	}
	return storage, a.removing(string(name), how, func(ctx context.Context) error { return m.ForceUnitWith(ctx, name, how, fateOf(destroyStorage)) })
}

func unitNames(args []string) ([]model.UnitName, error) {
	names := make([]model.UnitName, len(args))
	for i, arg := range args {
		name, err := model.ParseUnitName(arg)
		if err != nil {
			return nil, Usagef("%s", err)
		}
		names[i] = name
	}
	return names, nil
}

func (a unitVerbs) removeApplicationCmd() *cobra.Command {
	var noPrompt, destroyStorage bool
	var force forceFlags
	cmd := &cobra.Command{
		Use:   "remove-application APPLICATION …",
		Short: "Remove applications with their units and relations",
		Long: `Remove applications. Their units leave their relations, run stop and remove, and
are gone; then the application is.
` + forceHelp,
		Example:           "  unitd remove-application ledger\n  unitd remove-application ledger shop --force",
		Args:              Args(1, -1, "no application specified"),
		ValidArgsFunction: a.completeApplications(-1),
		RunE: func(_ *cobra.Command, args []string) error {
			how, err := force.level()
			if err != nil {
				return err
			}
			return a.removeApplications(args, how, destroyStorage)
		},
	}
	cmd.Flags().BoolVar(&noPrompt, "no-prompt", false, "for scripts; there is no question here")
	cmd.Flags().BoolVar(&destroyStorage, "destroy-storage", false, "remove the units' storage too")
	force.declare(cmd.Flags())
	return cmd
}

func (a unitVerbs) removeApplications(args []string, how state.Force, destroyStorage bool) error {
	for _, name := range args {
		if !model.ValidApplication(name) {
			return Usagef("invalid application name %q", name)
		}
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	done, failed := 0, 0
	for _, name := range args {
		gone, storage, err := a.removeApplication(m, name, how, destroyStorage)
		if err != nil {
			failed++
			a.failure(fmt.Errorf("removing application %s failed: %w", name, err))
			continue
		}
		done++
		a.printf("will remove application %s\n", name)
		for _, u := range gone.Units {
			a.printf("- will remove unit %s\n", u)
		}
		a.printf("%s", storage)
	}
	return a.afterEach(done, failed)
}

// removeApplication removes an application, and says in lines what becomes of
// its units' storage.
func (a unitVerbs) removeApplication(m *state.Model, name string, how state.Force, destroyStorage bool) (gone state.Removal, storage string, err error) {
	if _, err := m.Application(a.Context(), name); err != nil {
		return gone, "", err
	}
	if err := a.warnApplication(m, name, how); err != nil {
		return gone, "", err
	}
	if storage, err = a.goesWithUnitsOf(m, name, destroyStorage); err != nil {
		return gone, "", err
	}
	err = a.removing(name, how, func(ctx context.Context) (err error) {
		gone, err = m.ForceApplicationWith(ctx, name, how, fateOf(destroyStorage), a.tellOf(name))
		return err
	})
	return gone, storage, err
}
