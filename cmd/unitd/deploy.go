package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/charmbuild"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// deployFlags are the flags of deploy.
type deployFlags struct {
	units       int
	config      []string
	trust       bool
	constraints string
	resources   []string
	base        string
	hookTimeout string
	lockGroup   string
	force       bool
	storage     []string
	to          string
	isolate     isolateFlags
}

func (a *app) deployCmd() *cobra.Command {
	var f deployFlags
	cmd := &cobra.Command{
		Use:   "deploy CHARM|BUNDLE.yaml [APPLICATION]",
		Short: "Deploy a charm from a directory or a .charm file, or a bundle",
		Long: `Deploy a charm as a new application, named after the charm unless another name
is given. CHARM is a path that begins with . or /, to an unpacked charm, to the
source tree of one (what its program imports is installed then, once, outside of
the tree), or to a .charm file. A bundle deploys several applications and relates them; what is there
already is brought up to date, and what the bundle doesn't say of it stays.`,
		Example: `  unitd deploy ./ledger
  unitd deploy ./ledger books -n 3 --config port=5433
  unitd deploy /tmp/ledger.charm --config settings.yaml
  unitd deploy ./ledger --storage data=tmpfs,2G
  unitd deploy ./ledger -n 2 --to 3,new
  unitd deploy ./ledger --isolate
  unitd deploy ./web --resource web-image=docker.io/library/nginx:1.27
  unitd deploy ./shop.yaml`,
		Args: args(1, 2, "no charm specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			name := ""
			if len(args) == 2 {
				name = args[1]
			}
			return a.deploy(args[0], name, f)
		},
	}
	fs := cmd.Flags()
	fs.IntVarP(&f.units, "num-units", "n", -1, "number of units (1; 0 for a subordinate)")
	fs.StringArrayVar(&f.config, "config", nil, "option=value, option=@file, or a YAML file of options")
	fs.BoolVar(&f.trust, "trust", false, "allow the application to ask for the cloud's credentials; a container charm: give it the Kubernetes API")
	fs.StringArrayVar(&f.resources, "resource", nil, "NAME=FILE, or NAME=IMAGE, for a resource of the charm; may be repeated")
	fs.StringVar(&f.hookTimeout, "hook-timeout", "", "how long a hook may take, such as 10m (0: as long as it likes)")
	fs.StringVar(&f.lockGroup, "lock-group", "", "units of different groups on a machine run their hooks at once")
	fs.StringArrayVar(&f.storage, "storage", nil, "name=directive: a pool, a count and a size, with commas between")
	fs.StringVar(&f.to, "to", "", toFlag)
	f.isolate.declare(cmd)
	fs.StringVar(&f.constraints, "constraints", "", "noted; this machine is what it is")
	fs.StringVar(&f.base, "base", "", "the base of the units, of those that the charm names; isolated units see it, unless --isolate-os says another")
	fs.BoolVar(&f.force, "force", false, "deploy the charm on a --base that it doesn't name")
	return cmd
}

func (a *app) deploy(path, name string, f deployFlags) error {
	if isBundle(path) {
		if f.to != "" {
			return usagef("%s", asBundle(path, ": ")+"--to is for a charm: a bundle says itself where its units go")
		}
		return a.deployBundle(path, name, f)
	}
	charm, err := a.readDeployable(path)
	if err != nil {
		return err
	}
	todo, values, err := f.args(charm.Charm, cmp.Or(name, charm.Name))
	if err != nil {
		return err
	}
	if todo.Isolation, err = f.isolate.isolation(); err != nil {
		return err
	}
	todo.Isolation = f.isolate.forContainers(todo.Isolation, charm.Charm)
	m, err := a.model()
	if err != nil {
		return err
	}
	given, err := f.givenBase(charm.Charm)
	if err != nil {
		return err
	}
	ofModel, err := a.baseOf(m)
	if err != nil {
		return err
	}
	todo.Isolation, todo.Base = onBase(todo.Isolation, charm.Charm, given, ofModel)
	if err := a.checkDeploy(m, charm.Charm, todo, f.isolate); err != nil {
		return err
	}
	if values, err = a.withUpstream(charm.Charm, values, nil); err != nil {
		return err
	}
	if todo.Resources, err = a.storeResources(m, charm.Charm, values); err != nil {
		return err
	}
	if todo.Charm, err = a.addCharm(m, charm, todo.Isolation); err != nil {
		return err
	}
	a.note("Deploying %q from local charm %q, revision %s", todo.Application, charm.Name, revision(todo.Charm))
	a.noteLacks(charm, asDeployed(todo))
	if err := a.placed(m, onMachines(charm.Charm, todo), func() error { return m.Deploy(a.ctx, todo) }); err != nil {
		return err
	}
	return a.added()
}

// givenBase is the base that the flag says; zero: none.
func (f deployFlags) givenBase(charm model.Charm) (model.Base, error) {
	if f.base == "" {
		return model.Base{}, nil
	}
	base, err := model.ParseBase(f.base)
	if err != nil {
		return base, usagef("--base: %v", err)
	}
	if err := charm.CheckBase(base); err != nil && !f.force {
		return base, errors.Errorf("%v; --force deploys it all the same", err)
	}
	return base, nil
}

// args are what the flags say of deploying a charm as an application, but for
// isolation, and the values for resources: both can be told before the model is
// opened.
func (f deployFlags) args(charm model.Charm, name string) (todo state.DeployArgs, values map[string]string, err error) {
	if todo.Units, err = f.count(charm); err != nil {
		return todo, nil, err
	}
	if !model.ValidApplication(name) {
		return todo, nil, usagef("invalid application name %q", name)
	}
	config, err := configArgs(name, f.config)
	if err != nil {
		return todo, nil, err
	}
	if err := f.check(); err != nil {
		return todo, nil, err
	}
	settings, err := takeSettings(config)
	if err != nil {
		return todo, nil, err
	}
	todo.Application, todo.Trust, todo.Constraints = name, f.trust, f.constraints
	todo.HookTimeout, todo.LockGroup = f.hookTimeout, f.lockGroup
	if todo.Config, err = charm.ParseConfig(config); err != nil {
		return todo, nil, errors.Annotate(err, "parsing settings for application")
	}
	if values, err = resourceArgs(charm, f.resources); err != nil {
		return todo, nil, err
	}
	if todo.Storage, err = storageArgs(f.storage); err != nil {
		return todo, nil, err
	}
	todo.To, err = placements(f.to, todo.Units)
	return settings.of(todo), values, err
}

// count is how many units the flags ask for.
func (f deployFlags) count(charm model.Charm) (int, error) {
	switch {
	case f.units < -1:
		return 0, usagef("--num-units must be a positive integer")
	case f.units > bundle.MaxUnits:
		return 0, tooMany(f.units)
	case f.units == -1 && charm.Subordinate:
		return 0, nil
	case f.units == -1:
		return 1, nil
	}
	return f.units, nil
}

// checkDeploy says why an application can't be deployed, before anything is fetched
// for it or stored.
func (a *app) checkDeploy(m *state.Model, charm model.Charm, todo state.DeployArgs, f isolateFlags) error {
	err := m.CheckDeploy(a.ctx, todo, charm)
	if errors.Is(err, errors.AlreadyExists) {
		return a.nameTaken(m, todo.Application, err)
	}
	if err != nil {
		return err
	}
	if err := checkUsers(a.oneUser, todo.Isolation, charm); err != nil {
		return err
	}
	return a.checkIsolation(f, todo.Isolation, len(charm.Containers) > 0)
}

// onMachines is for how many units of an application machines are to be found.
func onMachines(charm model.Charm, todo state.DeployArgs) int {
	if charm.Sidecar() {
		return 0
	}
	return todo.Units - len(todo.To)
}

// check says whether the flags have values that can be.
func (f deployFlags) check() error {
	if err := state.CheckHookTimeout("--hook-timeout", f.hookTimeout); err != nil {
		return usagef("%v", err)
	}
	if err := state.CheckLockGroup("--lock-group", f.lockGroup); err != nil {
		return usagef("%v", err)
	}
	return nil
}

// tooMany is the error of so many units at once.
func tooMany(units int) error {
	return usagef("--num-units must be at most %d, got %d", bundle.MaxUnits, units)
}

// nameTaken says what can be done about a name that an application has already;
// err is what deploying another one gave.
func (a *app) nameTaken(m *state.Model, name string, err error) error {
	if there, err := m.Application(a.ctx, name); err == nil && there.Life != model.Alive {
		return stillThere(name)
	}
	return errors.NewAlreadyExists(nil, err.Error()+`: deploy it under another name with "unitd deploy CHARM NAME", `+
		`or remove the one that is there with "unitd remove-application `+name+`"`)
}

// stillThere is the error of deploying an application while one of the same
// name is on its way out.
func stillThere(name string) error {
	return errors.NewAlreadyExists(nil, fmt.Sprintf(`application %q is still being removed: "unitd wait" waits until it is gone, `+
		`"unitd remove-application %[1]s --force --no-wait" runs no more hooks of it; or deploy under another name`, name))
}

// readCharm reads the charm that a person has named by path.
func readCharm(path string) (*charmdir.Charm, error) {
	local := strings.HasPrefix(path, ".") || filepath.IsAbs(path)
	if !local {
		if _, err := os.Stat(path); err == nil {
			return nil, usagef("The charm or bundle %q is ambiguous.\nTo deploy a local charm or bundle, run `unitd deploy ./%[1]s`", path)
		}
		return nil, errors.NewNotFound(nil, fmt.Sprintf("charm %q not found: only charms by path are known here, as ./%s; there is no Charmhub", path, path))
	}
	return charmdir.Read(path)
}

// readDeployable reads the charm that a person has named by path, if it can run
// here.
func (a *app) readDeployable(path string) (*charmdir.Charm, error) {
	charm, err := readCharm(path)
	if err != nil {
		return nil, err
	}
	if err := checkAssumes(charm.Charm); err != nil {
		return nil, err
	}
	return charm, a.checkSystem(charm.Charm)
}

// packed is a charm with its archive in a temporary file.
type packed struct {
	*charmdir.Charm
	sum  string
	file *os.File
	hold *charmbuild.Hold // the packages that it was built with
}

// pack makes the charm's archive for units that are isolated so, and before that what
// a source tree lacks to run; the caller drops it.
func (a *app) pack(c *charmdir.Charm, i model.Isolation) (*packed, error) {
	hooks, err := hooksOf(i)
	if err != nil {
		return nil, err
	}
	p, err := a.packFor(c, hooks)
	if err != nil {
		return nil, err
	}
	if err := a.notePackages(p.hold, p.sum); err != nil {
		p.drop()
		return nil, err
	}
	return p, nil
}

func (a *app) packFor(c *charmdir.Charm, hooks charmbuild.Place) (*packed, error) {
	for _, hint := range c.Hints() {
		a.note("WARNING %q %s", c.Name, hint)
	}
	hold, err := a.build(c, hooks)
	if err != nil {
		return nil, err
	}
	a.holdPackages(hold)
	f, err := os.CreateTemp("", "unitd-charm-*")
	if err != nil {
		return nil, errors.Annotate(err, "cannot pack the charm")
	}
	p := &packed{Charm: c, file: f, hold: hold}
	// Without a name it goes with this process, however that ends.
	if err := os.Remove(f.Name()); err != nil {
		p.drop()
		return nil, errors.Annotate(err, "cannot pack the charm")
	}
	if p.sum, err = c.Archive(f); err != nil {
		p.drop()
		return nil, err
	}
	return p, nil
}

func (p *packed) drop() {
	if p.file == nil {
		return
	}
	p.file.Close()
}

// store adds the charm to the model and returns its URL.
func (p *packed) store(ctx context.Context, m *state.Model) (string, error) {
	if _, err := p.file.Seek(0, 0); err != nil {
		return "", errors.Annotate(err, "cannot pack the charm")
	}
	source := ""
	if p.Dir {
		var err error
		if source, err = filepath.Abs(p.Path); err != nil {
			return "", errors.Annotate(err, "cannot pack the charm")
		}
	}
	return m.AddCharmFrom(ctx, source, p.Charm.Charm, p.sum, p.file)
}

// addCharm stores the charm in the model and returns its URL.
func (a *app) addCharm(m *state.Model, c *charmdir.Charm, i model.Isolation) (string, error) {
	p, err := a.pack(c, i)
	if err != nil {
		return "", err
	}
	defer p.drop()
	return p.store(a.ctx, m)
}
