package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

func (a controllerVerbs) modelDefaultsCmd() *cobra.Command {
	var f valuesFlags
	var cloud, region string
	cmd := &cobra.Command{
		Use:     "model-defaults [KEY | KEY=VALUE …]",
		Aliases: []string{"model-default"},
		Short:   "Show or change the configuration of models that are added later",
		Long: `Show or change with what configuration models of the controller are made. Models that
are there already stay as they are. All models are in the region "host"; what is said
of another region is recorded.`,
		Example: "  unitd model-defaults\n  unitd model-defaults update-status-hook-interval=1m\n  unitd model-defaults --reset update-status-hook-interval",
		RunE: func(_ *cobra.Command, args []string) error {
			if of, name, both := strings.Cut(region, "/"); both {
				cloud, region = of, name
			}
			if cloud != "" {
				if err := checkCloud(cloud); err != nil {
					return err
				}
			}
			keys, pairs, err := keysOrPairs(args, f.reset)
			if err != nil {
				return err
			}
			c, err := a.Open()
			if err != nil {
				return err
			}
			if len(pairs)+len(f.reset) == 0 && f.file == "" {
				return a.showDefaults(c, keys, region, f)
			}
			set, err := a.changes("model", pairs, f.reset, f.file)
			if err != nil {
				return err
			}
			return a.setDefaults(c, set, region, f)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return slices.Sorted(maps.Keys(state.ModelConfigDefaults())), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.declare(cmd)
	cmd.Flags().StringSliceVar(&f.reset, "reset", nil, "settings to be as they are by themselves")
	cmd.Flags().StringVar(&cloud, "cloud", "", "noted: all models are on this host")
	cmd.Flags().StringVar(&region, "region", "", "[CLOUD/]REGION: for models of this region")
	return cmd
}

// defaultSettings are all settings with what models are made with, in one region or,
// empty, in all.
func defaultSettings(doc state.ControllerDoc, region string) map[string]render.DefaultSetting {
	out := map[string]render.DefaultSetting{}
	for k, v := range state.ModelConfigDefaults() {
		out[k] = render.DefaultSetting{Default: render.SettingValue(v)}
	}
	for k, v := range doc.Defaults {
		s := out[k]
		s.Controller = render.SettingValue(v)
		out[k] = s
	}
	for _, name := range slices.Sorted(maps.Keys(doc.RegionDefaults)) {
		for k, v := range doc.RegionDefaults[name] {
			if s := out[k]; region == "" || region == name {
				s.Regions = append(s.Regions, render.RegionSetting{Name: name, Value: render.SettingValue(v)})
				out[k] = s
			}
		}
	}
	return out
}

func (a controllerVerbs) showDefaults(c *state.Controller, keys []string, region string, f valuesFlags) error {
	doc, err := c.Identity(a.Context())
	if err != nil {
		return err
	}
	all := defaultSettings(doc, region)
	if len(keys) == 1 {
		one, ok := all[keys[0]]
		if !ok {
			return errors.NewNotFound(nil, fmt.Sprintf("there are no default model values for %q", keys[0]))
		}
		all = map[string]render.DefaultSetting{keys[0]: one}
	}
	if f.format != "tabular" {
		return a.write(f.format, f.output, all)
	}
	return a.table(f.output, render.DefaultRows(all))
}

func (a controllerVerbs) setDefaults(c *state.Controller, set map[string]string, region string, f valuesFlags) error {
	const version = "agent-version"
	if _, ok := set[version]; ok && !f.ignore {
		return errors.Errorf("%q must be set via %q", version, "upgrade-model")
	}
	delete(set, version)
	if err := state.CheckModelConfig(set); err != nil {
		return err
	}
	known := state.ModelConfigDefaults()
	for _, k := range slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(set)), f.reset))) {
		if _, ok := known[k]; !ok {
			a.Note("WARNING key %q is not defined in the known model configuration: possible misspelling", k)
		}
	}
	_, err := c.ChangeIdentity(a.Context(), func(doc *state.ControllerDoc) error {
		values := doc.Defaults
		if region != "" {
			values = doc.RegionDefaults[region]
		}
		if values == nil {
			values = map[string]string{}
		}
		maps.Copy(values, set)
		for _, k := range f.reset {
			delete(values, k)
		}
		if region == "" {
			doc.Defaults = values
			return nil
		}
		if doc.RegionDefaults == nil {
			doc.RegionDefaults = map[string]map[string]string{}
		}
		doc.RegionDefaults[region] = values
		return nil
	})
	if err == nil && region != "" && region != state.HostRegion {
		a.records("defaults of another region than " + state.HostRegion)
	}
	return err
}
