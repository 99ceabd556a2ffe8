package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// refreshFlags are the flags of refresh.
type refreshFlags struct {
	path, to                     string
	force, forceUnits, forceBase bool
	config, resources            []string
	onto                         baseFlags // for later units
	hub                          hubFlags
	more                         refreshMore
}

// units and base say whether those are forced that are in error, or on another base.
func (f refreshFlags) units() bool { return f.force || f.forceUnits }
func (f refreshFlags) base() bool  { return f.force || f.forceBase }

func (a charmVerbs) refreshCmd() *cobra.Command {
	var f refreshFlags
	cmd := &cobra.Command{
		Use:   "refresh APPLICATION [--channel CHANNEL | --revision N | --switch CHARM | --path CHARM]",
		Short: "Upgrade an application's charm",
		Long: `Upgrade an application to what the channel of its charm in Charmhub has, or another
channel; to another revision of its charm; to the charm at a path; or to another charm.
Each unit deploys it and runs upgrade-charm and config-changed; a unit in error waits
until it is resolved, unless --force-units is given. Units with containers get new
containers one unit at a time, in error or not.

Of a charm by path, --revision is one that the model has already.`,
		Example: `  unitd refresh postgresql
  unitd refresh postgresql --channel 16/edge
  unitd refresh ledger --path ./ledger --force-units`,
		Args:              Args(1, 1, "no application specified"),
		ValidArgsFunction: a.completeApplications(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch revised := f.hub.revision != latest; {
			case f.to != "" && revised:
				return Usagef("--switch and --revision are mutually exclusive")
			case f.path != "" && revised:
				return Usagef("--path and --revision are mutually exclusive: specify either --path or --revision, not both")
			case f.to != "" && f.path != "":
				return Usagef("--switch and --path are mutually exclusive")
			}
			if err := f.hub.check(); err != nil {
				return err
			}
			if _, err := f.onto.parse(a.Note); err != nil {
				return err
			}
			return a.refresh(args[0], f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.path, "path", "", "the new charm")
	fs.StringVar(&f.to, "switch", "", "another charm: a path, or the name of one in Charmhub")
	fs.StringArrayVar(&f.config, "config", nil, "option=value, or a YAML file of options, to be set as well")
	fs.StringArrayVar(&f.resources, "resource", nil, "NAME=FILE, NAME=IMAGE, or NAME=REVISION, for a resource of the charm; may be repeated")
	fs.BoolVar(&f.force, "force", false, "the same as --force-units and --force-base")
	fs.BoolVar(&f.forceUnits, "force-units", false, "upgrade units in error too")
	fs.BoolVar(&f.forceBase, "force-base", false, "take a charm that doesn't name the base that the units are on")
	fs.BoolVar(&f.forceBase, "force-series", false, "the same as --force-base")
	fs.StringVar(&f.onto.base, "base", "", "take a charm for this base, on which later units are")
	f.hub.declare(fs)
	f.more.declare(fs)
	return cmd
}

// refresh finds out what the application is to be made of, and makes it so.
func (a charmVerbs) refresh(name string, f refreshFlags) error {
	if f.path != "" {
		return a.refreshPath(name, onDisk(f.path), f)
	}
	if f.to != "" {
		return a.refreshSwitch(name, f)
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	app, err := m.Application(a.Context(), name)
	if err != nil {
		return err
	}
	switch {
	case state.FromHub(app.Charm) && app.Hub != nil:
		return a.refreshHub(m, app, f)
	case f.hub.revision != latest:
		return a.refreshTo(name, f.hub.revision, nil, f)
	}
	return a.refreshAlias(m, app, f)
}

// refreshAlias is refresh of a charm by path, whose name may stand for that.
func (a charmVerbs) refreshAlias(m *state.Model, app state.ApplicationDoc, f refreshFlags) error {
	charm, err := m.Charm(a.Context(), app.Charm)
	if err != nil {
		return err
	}
	if err := a.Following(m); err != nil {
		return err
	}
	path, err := a.Local("ch:" + charm.Charm.Name)
	if err != nil {
		return err
	}
	if path == "" {
		return errors.New("refreshing a local charm requires either --path or --switch")
	}
	return a.refreshPath(app.Name, path, f)
}

// onDisk is a path that may be given without ./.
func onDisk(path string) string {
	if _, err := os.Stat(path); err == nil && !filepath.IsAbs(path) && path[0] != '.' {
		return "./" + path
	}
	return path
}

// refreshSwitch is refresh to another charm. What is there as a path is taken for one.
func (a charmVerbs) refreshSwitch(name string, f refreshFlags) error {
	word := onDisk(f.to)
	if !deploy.IsPath(word) {
		if err := a.followed(f.hub); err != nil {
			return err
		}
	}
	path, err := a.Local(word)
	if err != nil {
		return err
	}
	if path != "" {
		return a.refreshPath(name, path, f)
	}
	return a.switchToHub(name, word, f)
}

// refreshPath is refresh to a charm by path.
func (a charmVerbs) refreshPath(name, path string, f refreshFlags) error {
	charm, err := a.ReadDeployable(path)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	return a.refreshFound(m, name, deploy.Charm{Charm: charm}, f, false)
}

// refreshFound gives an application a charm that was found; other says whether it may be
// one of another name.
func (a charmVerbs) refreshFound(m *state.Model, name string, charm deploy.Charm, f refreshFlags, other bool) error {
	set, err := configArgs(name, f.config)
	if err != nil {
		return err
	}
	old, err := a.refreshable(m, name, charm.Charm.Charm, other)
	if err != nil {
		return err
	}
	if _, err := charm.ParseConfig(set); err != nil {
		return errors.Annotate(err, "parsing settings for application")
	}
	var revisions map[string]int
	if charm.Release != nil {
		f.resources, revisions = splitRevisions(f.resources)
	}
	values, err := resourceArgs(charm.Charm.Charm, f.resources)
	if err != nil {
		return err
	}
	app, err := m.Application(a.Context(), name)
	if err != nil {
		return err
	}
	if err := checkBase(app, old.Charm, charm.Charm.Charm, f); err != nil {
		return err
	}
	if err := a.checkMore(m, name, charm.Charm.Charm, f.more); err != nil {
		return err
	}
	given, err := a.ResourcesFor(m, charm, values, revisions, app.Resources)
	if err != nil {
		return err
	}
	url, err := a.AddCharm(m, charm, app.Isolation)
	if err != nil {
		return err
	}
	err = a.carryOutRefresh(m, name, f, state.Refresh{URL: url, Resources: given, Hub: deploy.HubOf(charm.Release), Config: set})
	if err != nil {
		return err
	}
	if charm.Release != nil {
		a.Note("Added %s, to the model", deploy.From(*charm.Release))
	} else {
		a.Note("Added local charm %q, revision %s, to the model", charm.Name, deploy.Revision(url))
	}
	a.NoteLacks(charm.Charm, deploy.WhenRefreshed(app, given, nil))
	if err := a.afterRefresh(m, name, app, old.Charm, charm.Charm.Charm, f.more); err != nil {
		return err
	}
	if err := a.WhoWaits(m, name, f.units()); err != nil {
		return err
	}
	return a.added()
}

// checkBase is the error of a charm that doesn't name the base that units are on, or the
// one that later units are to be on, unless that is wanted.
func checkBase(app state.ApplicationDoc, old, charm model.Charm, f refreshFlags) error {
	onto, err := f.onto.parse(func(string, ...any) {})
	switch {
	case err != nil:
		return err
	case f.base():
		return nil
	case onto != (model.Base{}):
		if err := charm.CheckBase(onto); err != nil {
			return errors.Errorf("cannot refresh application %q: %v; --force-base takes it all the same", app.Name, err)
		}
		return nil
	}
	if err := sameBase(app, old, charm); err != nil {
		return errors.Errorf("cannot refresh application %q: %v; --force-base keeps its units on their base", app.Name, err)
	}
	return nil
}

// refreshTo is refresh to a revision that the model has; hub is what is followed from now
// on, nil: what was.
func (a charmVerbs) refreshTo(name string, to int, hub *state.Hub, f refreshFlags) error {
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
	set, err := configArgs(name, f.config)
	if err != nil {
		return err
	}
	if _, err := charm.Charm.ParseConfig(set); err != nil {
		return errors.Annotate(err, "parsing settings for application")
	}
	app, err := m.Application(a.Context(), name)
	if err != nil {
		return err
	}
	old, err := m.Charm(a.Context(), app.Charm)
	if err != nil {
		return err
	}
	if err := a.checkMore(m, name, charm.Charm, f.more); err != nil {
		return err
	}
	if err := checkBase(app, old.Charm, charm.Charm, f); err != nil {
		return err
	}
	given, err := a.resourcesOfHeld(m, app, charm.Charm, hub, f)
	if err != nil {
		return err
	}
	r := state.Refresh{URL: url, Hub: hub, Resources: given, Config: set}
	if url == app.Charm && !f.units() {
		r.URL = "" // its units have it
	}
	if err := a.carryOutRefresh(m, name, f, r); err != nil {
		return err
	}
	if err := a.afterRefresh(m, name, app, old.Charm, charm.Charm, f.more); err != nil {
		return err
	}
	if err := a.WhoWaits(m, name, f.units()); err != nil {
		return err
	}
	return a.added()
}

// resourcesOfHeld are the resources that an application gets with a charm that the model
// has. One of a hub that the model has is taken only where no resources are named, and
// keeps those that it has.
func (a charmVerbs) resourcesOfHeld(m *state.Model, app state.ApplicationDoc, charm model.Charm, hub *state.Hub, f refreshFlags) (map[string]state.Content, error) {
	if hub != nil {
		return nil, nil
	}
	values, err := resourceArgs(charm, f.resources)
	if err != nil {
		return nil, err
	}
	return a.ResourcesFor(m, deploy.Charm{Charm: &charmdir.Charm{Charm: charm}}, values, nil, app.Resources)
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
func (a charmVerbs) refreshable(m *state.Model, name string, charm model.Charm, other bool) (state.CharmDoc, error) {
	app, err := m.Application(a.Context(), name)
	if err != nil {
		return state.CharmDoc{}, err
	}
	old, err := m.Charm(a.Context(), app.Charm)
	if err != nil {
		return old, err
	}
	if old.Charm.Name != charm.Name && !other {
		return old, errors.NewNotValid(nil, fmt.Sprintf("cannot refresh %q to charm %q: it runs charm %q", name, charm.Name, old.Charm.Name))
	}
	return old, m.CheckCharm(a.Context(), name, charm)
}
