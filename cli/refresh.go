package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a charmVerbs) refreshCmd() *cobra.Command {
	var path string
	var to int
	var force, forceUnits, forceBase bool
	var config, resources []string
	cmd := &cobra.Command{
		Use:   "refresh APPLICATION --path CHARM | --revision N",
		Short: "Upgrade an application's charm",
		Long: `Upgrade an application to the charm at a path, or to a revision of its charm that
the model has already. Each unit deploys it and runs upgrade-charm and
config-changed; a unit in error waits until it is resolved, unless --force-units is
given. Units with containers get new containers one unit at a time, in error or not.`,
		Example:           "  unitd refresh ledger --path ./ledger\n  unitd refresh ledger --path ./ledger --force-units",
		Args:              Args(1, 1, "no application specified"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch revised := cmd.Flags().Changed("revision"); {
			case revised && path != "":
				return Usagef("specify either --path or --revision, not both")
			case revised:
				return a.refreshTo(args[0], to, force || forceUnits, config)
			case path == "":
				return errors.New("refreshing a local charm requires either --path or --switch")
			}
			return a.refresh(args[0], path, force || forceUnits, force || forceBase, config, resources)
		},
	}
	cmd.Flags().StringVar(&path, "path", "", "the new charm")
	cmd.Flags().StringVar(&path, "switch", "", "the new charm; the same as --path here")
	cmd.Flags().IntVar(&to, "revision", 0, "a revision of its charm that the model has, instead of --path")
	cmd.Flags().StringArrayVar(&config, "config", nil, "option=value, or a YAML file of options, to be set as well")
	cmd.Flags().StringArrayVar(&resources, "resource", nil, "NAME=FILE, or NAME=IMAGE, for a resource of the charm; may be repeated")
	cmd.Flags().BoolVar(&force, "force", false, "the same as --force-units and --force-base")
	cmd.Flags().BoolVar(&forceUnits, "force-units", false, "upgrade units in error too")
	cmd.Flags().BoolVar(&forceBase, "force-base", false, "take a charm that doesn't name the base that the units are on")
	cmd.Flags().BoolVar(&forceBase, "force-series", false, "the same as --force-base")
	return cmd
}

func (a charmVerbs) refresh(name, path string, force, anyBase bool, config, resources []string) error {
	if _, err := os.Stat(path); err == nil && !filepath.IsAbs(path) && path[0] != '.' {
		path = "./" + path
	}
	charm, err := a.ReadDeployable(path)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	set, err := configArgs(name, config)
	if err != nil {
		return err
	}
	old, err := a.refreshable(m, name, charm.Charm)
	if err != nil {
		return err
	}
	if _, err := charm.ParseConfig(set); err != nil {
		return errors.Annotate(err, "parsing settings for application")
	}
	values, err := resourceArgs(charm.Charm, resources)
	if err != nil {
		return err
	}
	app, err := m.Application(a.Context(), name)
	if err != nil {
		return err
	}
	if err := sameBase(app, old.Charm, charm.Charm); err != nil && !anyBase {
		return errors.Errorf("cannot refresh application %q: %v; --force-base keeps its units on their base", name, err)
	}
	if values, err = a.WithUpstream(charm.Charm, values, app.Resources); err != nil {
		return err
	}
	given, err := a.StoreResources(m, charm.Charm, values)
	if err != nil {
		return err
	}
	url, err := a.AddCharm(m, charm, app.Isolation)
	if err != nil {
		return err
	}
	if err := a.setCharm(m, name, url, force, set, given); err != nil {
		return err
	}
	a.Note("Added local charm %q, revision %s, to the model", charm.Name, deploy.Revision(url))
	a.NoteLacks(charm, deploy.WhenRefreshed(app, given, nil))
	if err := a.WhoWaits(m, name, force); err != nil {
		return err
	}
	return a.added()
}

// setCharm gives an application a charm that the model has, and sets options.
func (a charmVerbs) setCharm(m *state.Model, name, url string, force bool, set map[string]string, given map[string]state.Content) error {
	if err := m.SetCharmAndResources(a.Context(), name, url, force, given); err != nil {
		return err
	}
	if len(set) == 0 {
		return nil
	}
	return m.SetConfig(a.Context(), name, set, nil)
}

// refreshTo is refresh to a revision that the model has.
func (a charmVerbs) refreshTo(name string, to int, force bool, config []string) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	url, err := m.Revision(a.Context(), name, to)
	if err != nil {
		return err
	}
	charm, err := m.Charm(a.Context(), url)
	if err != nil {
		return err
	}
	set, err := configArgs(name, config)
	if err != nil {
		return err
	}
	if _, err := charm.Charm.ParseConfig(set); err != nil {
		return errors.Annotate(err, "parsing settings for application")
	}
	if err := a.setCharm(m, name, url, force, set, nil); err != nil {
		return err
	}
	if err := a.WhoWaits(m, name, force); err != nil {
		return err
	}
	return a.added()
}

// sameBase is an error for a charm that doesn't name the base that the application's
// units are on, as its former charm did.
func sameBase(app state.ApplicationDoc, old, charm model.Charm) error {
	base, err := model.ParseBase(app.Base)
	if err != nil || len(old.Bases) == 0 || !old.Supports(base) {
		return nil
	}
	return charm.CheckBase(base)
}

// refreshable says whether the application can have that charm, and which one it
// has.
func (a charmVerbs) refreshable(m *state.Model, name string, charm model.Charm) (state.CharmDoc, error) {
	app, err := m.Application(a.Context(), name)
	if err != nil {
		return state.CharmDoc{}, err
	}
	old, err := m.Charm(a.Context(), app.Charm)
	if err != nil {
		return old, err
	}
	if old.Charm.Name != charm.Name {
		return old, errors.NewNotValid(nil, fmt.Sprintf("cannot refresh %q to charm %q: it runs charm %q", name, charm.Name, old.Charm.Name))
	}
	return old, m.CheckCharm(a.Context(), name, charm)
}
