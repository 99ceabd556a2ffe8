package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

func (a modelVerbs) modelConfigCmd() *cobra.Command {
	var format, file, output string
	var reset []string
	var ignore bool
	cmd := &cobra.Command{
		Use:   "model-config [KEY | KEY=VALUE …]",
		Short: "Show or change the model's configuration",
		Example: `  unitd model-config
  unitd model-config update-status-hook-interval=10s
  unitd model-config --reset update-status-hook-interval
  unitd model-config --format yaml -o shop.yaml
  unitd model-config --file shop.yaml`,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.modelConfig(args, reset, file, ignore, format, output)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return slices.Sorted(maps.Keys(state.ModelConfigDefaults())), cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	cmd.Flags().StringVar(&file, "file", "", "YAML file with settings, or what --format yaml has written; - is standard input")
	cmd.Flags().StringSliceVar(&reset, "reset", nil, "settings to be reset to their defaults")
	cmd.Flags().BoolVar(&ignore, "ignore-read-only-fields", false, "with --file: leave out what can't be set, as the model's name")
	formats(cmd, "tabular", "yaml", "json")
	return cmd
}

func (a modelVerbs) modelConfig(args, reset []string, file string, ignore bool, format, output string) error {
	keys, pairs, err := keysOrPairs(args, reset)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	if len(pairs)+len(reset) == 0 && file == "" {
		return a.showModelConfig(m, keys, format, output)
	}
	set, err := a.changes(m.Name(), pairs, reset, file)
	if err != nil {
		return err
	}
	if ignore {
		for _, k := range []string{"agent-version", "name", "type", "uuid"} {
			delete(set, k)
		}
	}
	known := state.ModelConfigDefaults()
	for _, k := range slices.Sorted(maps.Keys(set)) {
		if _, ok := known[k]; !ok {
			a.Note("WARNING key %q is not defined in the current model configuration: possible misspelling", k)
		}
	}
	return m.SetModelConfig(a.Context(), set, reset)
}

func (a modelVerbs) showModelConfig(m *state.Model, keys []string, format, output string) error {
	all, set, err := m.ModelConfig(a.Context())
	if err != nil {
		return err
	}
	if len(keys) == 1 {
		v, ok := all[keys[0]]
		if !ok {
			return errors.NewNotFound(nil, fmt.Sprintf("key %q not found in %q model.", keys[0], "admin/"+m.Name()))
		}
		if format == "tabular" {
			return a.text(output, v+"\n")
		}
		all = map[string]string{keys[0]: v}
	}
	source := func(k string) string {
		if set[k] {
			return "model"
		}
		return "default"
	}
	if format != "tabular" {
		tree := map[string]any{}
		for k, v := range all {
			tree[k] = render.ModelSetting{Value: render.SettingValue(v), Source: source(k)}
		}
		return a.write(format, output, tree)
	}
	rows := [][]render.Cell{render.Heads("Attribute", "From", "Value")}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, []render.Cell{{Text: k}, {Text: source(k)}, {Text: all[k]}})
	}
	return a.table(output, rows)
}
