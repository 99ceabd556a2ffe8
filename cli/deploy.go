package cli

import (
	"cmp"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// charmVerbs bring charms, and their resources, into the model.
type charmVerbs struct{ caches }

// deployFlags are the flags of deploy.
type deployFlags struct {
	units       int
	config      []string
	trust       bool
	constraints []string
	resources   []string
	hookTimeout string
	lockGroup   string
	force       bool
	storage     []string
	attach      []string
	device      []string
	bind        string
	to          string
	isolate     deploy.Isolate
	dryRun      bool
	hub         hubFlags
	baseFlags
	bundle bundleFlags
}

func (a charmVerbs) deployCmd() *cobra.Command {
	var f deployFlags
	cmd := &cobra.Command{
		Use:   "deploy CHARM|BUNDLE [APPLICATION]",
		Short: "Deploy a charm or a bundle, by path or from Charmhub",
		Long: `Deploy a charm as a new application, named after the charm unless another name
is given. CHARM is the name of a charm in Charmhub, or a path that begins with . or /,
to an unpacked charm, to the source tree of one (what its program imports is installed
then, once, outside of the tree), or to a .charm file. A bundle, a YAML file or the name
of one in Charmhub, deploys several applications and relates them; what is there already
is brought up to date, and what the bundle doesn't say of it stays.

What was had from Charmhub is kept, and serves when it can't be reached. The model's
charmhub-url, or CHARMHUB_URL, may name another hub, or a directory of charms. In the
file that the model's charm-aliases, or UNITD_CHARMS, names, names stand for charms by
path.`,
		Example: `  unitd deploy ./ledger
  unitd deploy postgresql --channel 14/stable
  unitd deploy ./ledger books -n 3 --config port=5433
  unitd deploy /tmp/ledger.charm --config settings.yaml
  unitd deploy ./ledger --storage data=tmpfs,2G
  unitd deploy ./ledger -n 2 --to 3,new
  unitd deploy ./ledger --isolate
  unitd deploy ./web --resource web-image=docker.io/library/nginx:1.27
  unitd deploy ./shop.yaml
  unitd deploy ./shop.yaml --overlay more.yaml --dry-run`,
		Args: Args(1, 2, "no charm specified"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.units < 0 && cmd.Flags().Changed("num-units") {
				return tooFew()
			}
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
	fs.StringSliceVar(&f.attach, "attach-storage", nil, "ids of detached storage for the one unit, with commas between")
	fs.StringArrayVar(&f.device, "device", nil, "recorded: hosts have the devices that they have")
	fs.StringVar(&f.bind, "bind", "", "\"[SPACE] [ENDPOINT=SPACE …]\": recorded; there is one network")
	fs.StringVar(&f.to, "to", "", toFlag)
	declareIsolation(cmd, &f.isolate)
	fs.StringArrayVar(&f.constraints, "constraints", nil, "key=value …: the architecture that units need; others are recorded")
	fs.StringVar(&f.base, "base", "", "the base of the units, of those that the charm names; isolated units see it, unless --isolate-os says another")
	f.bundle.declare(cmd)
	fs.BoolVar(&f.force, "force", false, "deploy the charm on a --base that it doesn't name")
	fs.BoolVar(&f.dryRun, "dry-run", false, "say what would be deployed from Charmhub, or by a bundle, and deploy nothing")
	f.declareSeries(fs)
	f.hub.declare(fs)
	return cmd
}

func (a charmVerbs) deploy(word, name string, f deployFlags) error {
	if err := f.hub.check(); err != nil {
		return err
	}
	path, release, err := a.named(word, f)
	switch {
	case err != nil:
		return err
	case release != nil:
		return a.deployRelease(*release, name, f)
	case bundle.Is(path):
		return a.deployBundle(path, name, f)
	}
	if err := f.bundle.onCharm(); err != nil {
		return err
	}
	charm, err := a.ReadDeployable(path)
	if err != nil {
		return err
	}
	if f.dryRun {
		a.Note("ignoring dry-run flag for local charms")
	}
	return a.deployCharm(deploy.Charm{Charm: charm}, name, f)
}

// deployCharm deploys a charm that is here.
func (a charmVerbs) deployCharm(charm deploy.Charm, name string, f deployFlags) error {
	var revisions map[string]int
	if charm.Release != nil {
		f.resources, revisions = splitRevisions(f.resources)
	}
	todo, values, err := f.args(charm.Charm.Charm, cmp.Or(name, charm.Name))
	if err != nil {
		return err
	}
	if err := f.isolate.Check(); err != nil { // before there is a model
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	if f.isolate, err = a.OfModel(m, f.isolate); err != nil {
		return err
	}
	if todo.Isolation, err = f.isolate.Isolation(); err != nil {
		return err
	}
	todo.Isolation = f.isolate.ForContainers(todo.Isolation, charm.Charm.Charm)
	given, err := f.givenBase(charm.Charm.Charm, a.Note)
	if err != nil {
		return err
	}
	ofModel, err := a.BaseOf(m)
	if err != nil {
		return err
	}
	if err := a.chooseRoot(&todo, charm.Charm.Charm, given, ofModel); err != nil {
		return err
	}
	if err := a.checkDeploy(m, charm.Charm.Charm, todo, f.isolate); err != nil {
		return err
	}
	if todo.Resources, err = a.ResourcesFor(m, charm, values, revisions, nil); err != nil {
		return err
	}
	if todo.Charm, err = a.AddCharm(m, charm, todo.Isolation); err != nil {
		return err
	}
	todo.Hub = deploy.HubOf(charm.Release)
	if charm.Release == nil {
		a.Note("Deploying %q from local charm %q, revision %s", todo.Application, charm.Name, deploy.Revision(todo.Charm))
	}
	a.NoteLacks(charm.Charm, deploy.WhenDeployed(todo))
	if err := a.Placed(m, deploy.OnMachines(charm.Charm.Charm, todo), func() error { return m.Deploy(a.Context(), todo) }); err != nil {
		return err
	}
	if err := a.noteConstraints(m, todo); err != nil {
		return err
	}
	if charm.Release != nil {
		a.Note("Deployed %s", releaseText(todo.Application, *charm.Release, todo.Base))
	}
	a.noteDeployed(todo, f)
	return a.added()
}

// chooseRoot chooses what the units are on, and says what they lack of it.
func (a charmVerbs) chooseRoot(todo *state.DeployArgs, charm model.Charm, given, ofModel model.Base) error {
	dir, err := agent.DataDir()
	if err != nil {
		return err
	}
	roots, err := a.Roots(dir)
	if err != nil {
		return err
	}
	s, err := roots.Settle(todo.Isolation, charm, given, ofModel, false)
	if err != nil {
		return err
	}
	if s.Lacks != "" {
		a.Note("the units have no systemd: %s", s.Lacks)
	}
	todo.Isolation, todo.Base = s.Isolation, s.Base
	return nil
}

// givenBase is the base that the flags say; zero: none.
func (f deployFlags) givenBase(charm model.Charm, note func(string, ...any)) (model.Base, error) {
	base, err := f.parse(note)
	if err != nil || base == (model.Base{}) {
		return base, err
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
		return todo, nil, Usagef("invalid application name %q", name)
	}
	config, err := configArgs(name, f.config)
	if err != nil {
		return todo, nil, err
	}
	if err := f.check(); err != nil {
		return todo, nil, err
	}
	settings, err := deploy.TakeSettings(config)
	if err != nil {
		return todo, nil, err
	}
	constraints, err := readConstraints(f.constraints)
	if err != nil {
		return todo, nil, err
	}
	if len(f.constraints) > 0 && charm.Subordinate {
		return todo, nil, errors.New("cannot use --constraints with subordinate application")
	}
	todo.Application, todo.Trust, todo.Constraints = name, f.trust, constraints.String()
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
	if todo, err = f.more(todo); err != nil {
		return todo, nil, err
	}
	return settings.Of(todo), values, nil
}

// count is how many units the flags ask for.
func (f deployFlags) count(charm model.Charm) (int, error) {
	switch {
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
func (a charmVerbs) checkDeploy(m *state.Model, charm model.Charm, todo state.DeployArgs, f deploy.Isolate) error {
	err := m.CheckDeploy(a.Context(), todo, charm)
	if errors.Is(err, errors.AlreadyExists) {
		return a.nameTaken(m, todo.Application, err)
	}
	if err != nil {
		return err
	}
	if away, err := a.Away(f); err != nil || away {
		return err
	}
	if err := deploy.CheckUsers(a.OneUser, todo.Isolation, charm); err != nil {
		return err
	}
	return a.CheckIsolation(f, todo.Isolation, len(charm.Containers) > 0)
}

// check says whether the flags have values that can be.
func (f deployFlags) check() error {
	if err := state.CheckHookTimeout("--hook-timeout", f.hookTimeout); err != nil {
		return Usagef("%v", err)
	}
	if err := state.CheckLockGroup("--lock-group", f.lockGroup); err != nil {
		return Usagef("%v", err)
	}
	return nil
}

// tooFew and tooMany are the errors of less than one unit, and of so many at once.
func tooFew() error { return Usagef("--num-units must be a positive integer") }

func tooMany(units int) error {
	return Usagef("--num-units must be at most %d, got %d", bundle.MaxUnits, units)
}

// nameTaken says what can be done about a name that an application has already;
// err is what deploying another one gave.
func (a charmVerbs) nameTaken(m *state.Model, name string, err error) error {
	if there, err := m.Application(a.Context(), name); err == nil && there.Life != model.Alive {
		return deploy.StillThere(name)
	}
	return errors.NewAlreadyExists(nil, err.Error()+`: deploy it under another name with "unitd deploy CHARM NAME", `+
		`or remove the one that is there with "unitd remove-application `+name+`"`)
}
