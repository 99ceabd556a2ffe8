package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// bootstrapFlags are the flags of bootstrap.
type bootstrapFlags struct {
	addModel                               string
	noSwitch                               bool
	base, series                           string
	config, defaults, storagePool          []string
	constraints, bootstrapConstraints      []string
	clouds                                 bool
	regions                                string
	texts                                  map[string]*string
	autoUpgrade, buildAgent, force, broken bool
}

// recordedTexts are flags that only a cloud could follow.
func recordedTexts() []string {
	return []string{"agent-version", "bootstrap-image", "controller-charm-channel", "controller-charm-path", "credential", "db-snap",
		"db-snap-asserts", "metadata-source", "to"}
}

func (a controllerVerbs) bootstrapCmd() *cobra.Command {
	f := bootstrapFlags{texts: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "bootstrap CLOUD[/REGION] [CONTROLLER]",
		Short: "Make another controller: a store of its own, with an agent of its own",
		Long: `Make a controller on this host: a store with a data directory of its own, below the
one of this host's own store, and with an agent of its own, which is started when it
has something to do. It is made at once, whichever cloud is named: all units run on
this host. "-c CONTROLLER" and "-m CONTROLLER:MODEL" reach it, "switch" makes it the
current one, destroy-controller removes it.`,
		Example: "  unitd bootstrap local spare\n  unitd bootstrap lxd ci --no-switch --add-model web",
		Args:    Args(0, 2, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.clouds:
				return a.listClouds()
			case f.regions != "":
				return a.listRegions(f.regions)
			case len(args) == 0:
				return Usagef(`name a cloud, as "bootstrap local": --clouds lists them`)
			}
			return a.bootstrap(cmd, args, f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.addModel, "add-model", "", "make a model of this name, too")
	fs.BoolVar(&f.noSwitch, "no-switch", false, "leave the current controller the current one")
	fs.StringArrayVar(&f.config, "config", nil, "key=value of the controller's configuration, or a YAML file: recorded; may be repeated")
	fs.StringArrayVar(&f.defaults, "model-default", nil, "key=value, or a YAML file: the configuration of models that are added later")
	fs.StringArrayVar(&f.storagePool, "storage-pool", nil, "key=value: recorded; may be repeated")
	fs.StringArrayVar(&f.constraints, "constraints", nil, "key=value …: recorded; may be repeated")
	fs.StringArrayVar(&f.bootstrapConstraints, "bootstrap-constraints", nil, "key=value …: recorded; may be repeated")
	fs.StringVar(&f.base, "bootstrap-base", "", "recorded: a base, as ubuntu@24.04")
	fs.StringVar(&f.series, "bootstrap-series", "", "recorded: an older way to name the base")
	fs.BoolVar(&f.clouds, "clouds", false, "list the clouds that can be named")
	fs.StringVar(&f.regions, "regions", "", "list the regions of this cloud")
	for _, name := range recordedTexts() {
		f.texts[name] = new(string)
		fs.StringVar(f.texts[name], name, "", "recorded")
	}
	fs.BoolVar(&f.autoUpgrade, "auto-upgrade", false, "noted")
	fs.BoolVar(&f.buildAgent, "build-agent", false, "noted")
	fs.BoolVar(&f.force, "force", false, "noted")
	fs.BoolVar(&f.broken, "keep-broken", false, "noted")
	return cmd
}

func (a controllerVerbs) listClouds() error {
	a.printf("%s\n", strings.Join(hostClouds(), "\n"))
	return nil
}

func (a controllerVerbs) listRegions(cloud string) error {
	if err := checkCloud(cloud); err != nil {
		return err
	}
	a.printf("%s\n", regionIn(cloud))
	return nil
}

// hostClouds are the clouds that this host can be called.
func hostClouds() []string { return []string{"local", "localhost", "lxd", "manual"} }

// regionIn is the one region of a cloud.
func regionIn(cloud string) string {
	if cloud == "localhost" || cloud == "lxd" {
		return "localhost"
	}
	return render.RegionName
}

func checkCloud(cloud string) error {
	if slices.Contains(hostClouds(), cloud) || kubernetesCloud(cloud) {
		return nil
	}
	return fmt.Errorf("unknown cloud %q, please try %q", cloud, "juju update-public-clouds")
}

// args are what the flags say of a new controller, and what of it is only recorded.
func (f bootstrapFlags) args() (doc state.ControllerDoc, err error) {
	if doc.Config, err = configArgs("controller", f.config); err != nil {
		return doc, err
	}
	if doc.Defaults, err = configArgs("model", f.defaults); err != nil {
		return doc, err
	}
	if err := state.CheckModelConfig(doc.Defaults); err != nil {
		return doc, err
	}
	if f.base != "" {
		if _, err := model.ParseBase(f.base); err != nil {
			return doc, Usagef("base %q not valid", f.base)
		}
	}
	doc.Asked = map[string][]string{}
	for name, words := range map[string][]string{"constraints": f.constraints, "bootstrap-constraints": f.bootstrapConstraints} {
		c, err := model.ParseConstraints(words...)
		if err != nil {
			return doc, Usagef("--%s: %v", name, err)
		}
		if text := c.String(); text != "" {
			doc.Asked[name] = []string{text}
		}
	}
	for name, text := range f.texts {
		if *text != "" {
			doc.Asked[name] = []string{*text}
		}
	}
	for name, text := range map[string]string{"bootstrap-base": f.base, "bootstrap-series": f.series} {
		if text != "" {
			doc.Asked[name] = []string{text}
		}
	}
	if len(f.storagePool) > 0 {
		doc.Asked["storage-pool"] = f.storagePool
	}
	return doc, nil
}

func (a controllerVerbs) bootstrap(cmd *cobra.Command, args []string, f bootstrapFlags) error {
	if _, inLab, err := agent.LabTime(); err != nil || inLab {
		return cmp.Or(err, fmt.Errorf("the world of a script has one controller, and gets no other"))
	}
	cloud, region, _ := strings.Cut(args[0], "/")
	doc, err := f.args()
	if err != nil {
		return err
	}
	if err := checkCloud(cloud); err != nil {
		return err
	}
	name := strings.ReplaceAll(args[0], "/", "-")
	if len(args) == 2 {
		name = args[1]
	}
	if f.addModel != "" && !model.ValidModelName(f.addModel) {
		return Usagef("%q is not a valid name: model names may only contain lowercase letters, digits and hyphens", f.addModel)
	}
	r, err := agent.RegisterController(agent.Registered{
		Name: name, Cloud: cloud, Region: cmp.Or(region, regionIn(cloud)), Created: time.Now().UTC().Truncate(time.Second),
	})
	if err != nil {
		return err
	}
	if err := a.fill(r, doc, f); err != nil {
		// Half a controller is none.
		return undone(err, a.RemoveController(r))
	}
	for _, what := range slices.Sorted(maps.Keys(doc.Asked)) {
		a.records("--" + what)
	}
	if len(doc.Config) > 0 {
		a.records("--config")
	}
	a.Note("Made controller %q on %s/%s: a store of its own, in %s", r.Name, r.Cloud, r.Region, r.Dir)
	if !f.noSwitch {
		if err := agent.ChooseController(r.Name); err != nil {
			return err
		}
	}
	if f.addModel == "" {
		a.Note("Now \"%s add-model -c %s MODEL\" makes a model in it", cmd.Root().Name(), r.Name)
	}
	return nil
}

// undone is why bootstrap has failed, and, where what it had made is still there, why.
func undone(failed, left error) error {
	if left == nil {
		return failed
	}
	return fmt.Errorf("%w; and what there is of the controller can't be removed: %v", failed, left)
}

// fill writes what is known of a new controller to its store.
func (a controllerVerbs) fill(r agent.Registered, doc state.ControllerDoc, f bootstrapFlags) error {
	if err := a.WorkOn(r.Name); err != nil {
		return err
	}
	c, err := a.Open()
	if err != nil {
		return err
	}
	if _, err := c.ChangeIdentity(a.Context(), func(now *state.ControllerDoc) error {
		now.Config, now.Defaults, now.Asked = doc.Config, doc.Defaults, doc.Asked
		return nil
	}); err != nil {
		return err
	}
	if f.addModel == "" {
		return nil
	}
	return a.addModel(f.addModel, state.IAAS, nil, false)
}
