package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/render"
)

// appVerbs are about applications as a whole.
type appVerbs struct{ deploying }

func (a appVerbs) configCmd() *cobra.Command {
	var format, file, output string
	var reset []string
	cmd := &cobra.Command{
		Use:   "config APPLICATION [KEY | KEY=VALUE …]",
		Short: "Show or change an application's configuration",
		Long: `Show or change the options of an application's charm, and those that every
application has: trust; unitd-hook-timeout, how long a hook may take, such as 10m
(0: as long as it likes); unitd-lock-group: of the units on a machine only those
of one group run their hooks one after the other; unitd-workload-errors=error: a
hook of a workload container that fails puts its unit in error, as others do; and
unitd-record-pebble=true: recordings include what hooks ask of Pebble.`,
		Example: `  unitd config ledger
  unitd config ledger port
  unitd config ledger port=5433 title="My ledger"
  unitd config ledger --reset port,title
  unitd config ledger unitd-hook-timeout=10m
  unitd config ledger --file ledger.yaml`,
		Args:              Args(1, -1, "no application name specified"),
		ValidArgsFunction: a.completeOptions,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.config(args[0], args[1:], reset, file, format, output)
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	cmd.Flags().StringVar(&file, "file", "", "YAML file with options; - is standard input")
	cmd.Flags().StringSliceVar(&reset, "reset", nil, "options to be reset to their defaults")
	formats(cmd, "yaml", "json")
	return cmd
}

func (a appVerbs) config(name string, args, reset []string, file, format, output string) error {
	keys, pairs, err := keysOrPairs(args, reset)
	switch {
	case err != nil:
		return err
	case len(pairs)+len(reset) == 0 && file == "":
		return a.showConfig(name, keys, format, output)
	}
	set, err := a.changes(name, pairs, reset, file)
	if err != nil {
		return err
	}
	settings, err := deploy.TakeSettings(set)
	if err != nil {
		return err
	}
	options := settings.Reset(reset)
	m, err := a.model()
	if err != nil {
		return err
	}
	if err := m.SetConfig(a.Context(), name, set, options); err != nil {
		return err
	}
	if err := a.Apply(m, name, settings); err != nil {
		return err
	}
	return a.Ensure()
}

// keysOrPairs tells "KEY", to be shown, from "KEY=VALUE", to be set.
func keysOrPairs(args, reset []string) (keys, pairs []string, err error) {
	for _, arg := range args {
		if strings.Contains(arg, "=") {
			pairs = append(pairs, arg)
		} else {
			keys = append(keys, arg)
		}
	}
	if len(keys) > 1 || len(keys) == 1 && len(pairs)+len(reset) > 0 {
		return nil, nil, Usagef("can only retrieve a single value, or all values")
	}
	return keys, pairs, nil
}

// changes are the values to be set, by pairs and by a file, over which the pairs
// win; what is to be reset must not be among them.
func (a appVerbs) changes(name string, pairs, reset []string, file string) (map[string]string, error) {
	set, err := configArgs(name, pairs)
	if err != nil {
		return nil, err
	}
	if file != "" {
		fromFile, err := a.configFile(name, file)
		if err != nil {
			return nil, err
		}
		maps.Copy(fromFile, set)
		set = fromFile
	}
	for _, k := range reset {
		if _, both := set[k]; both {
			return nil, Usagef("cannot set and reset key %q simultaneously", k)
		}
	}
	return set, nil
}

func (a appVerbs) showConfig(name string, keys []string, format, output string) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	c, err := m.Config(a.Context(), name)
	if errors.Is(err, errors.NotFound) {
		return errors.NewNotFound(nil, err.Error()+" (not found)")
	}
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return a.write(format, output, render.ConfigTree(c, deploy.OptionsTree(c)))
	}
	v, ok := c.Values[keys[0]]
	if own, is := deploy.OptionValue(c, keys[0]); is {
		v, ok = own, true
	}
	if !ok {
		return errors.NewNotFound(nil, fmt.Sprintf("key %q not found in %q application config or charm settings.", keys[0], name))
	}
	if v != nil {
		a.printf("%v\n", v)
	}
	return nil
}

// configArgs reads "key=value", "key=@file" and names of YAML files.
func configArgs(app string, args []string) (map[string]string, error) {
	out := map[string]string{}
	for _, arg := range args {
		k, v, pair := strings.Cut(arg, "=")
		switch {
		case !pair:
			b, err := os.ReadFile(arg)
			if err != nil {
				return nil, errors.Annotate(err, "cannot read the configuration")
			}
			values, err := configYAML(app, arg, b)
			if err != nil {
				return nil, err
			}
			maps.Copy(out, values)
			continue
		case k == "":
			return nil, Usagef("expected \"key=value\", got %q", arg)
		case strings.HasPrefix(v, "@"):
			b, err := os.ReadFile(v[1:])
			if err != nil {
				return nil, errors.Annotatef(err, "cannot read option %q", k)
			}
			v = string(b)
		}
		out[k] = v
	}
	return out, nil
}

func (a appVerbs) configFile(app, file string) (map[string]string, error) {
	var b []byte
	var err error
	if file == "-" {
		b, err = io.ReadAll(a.In)
	} else {
		b, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the configuration")
	}
	return configYAML(app, file, b)
}

// configYAML reads options from YAML: {application: {key: value}}, {key:
// value}, or what "config" or "model-config" shows. Values are taken as they are
// written: a version 1.10 isn't the number 1.1, and a mode 0755 isn't 493.
func configYAML(app, file string, b []byte) (map[string]string, error) {
	doc, err := configNodes(app, b)
	if err != nil {
		why := strings.Join(strings.Fields(err.Error()), " ") // it may have lines
		return nil, errors.NewNotValid(nil, fmt.Sprintf("cannot read %s: %s", file, why))
	}
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(doc)) {
		n := doc[k]
		var text string
		switch err := n.Decode(&text); {
		case err != nil:
			return nil, errors.NewNotValid(nil, fmt.Sprintf("%s: option %q is neither text, number nor boolean", file, k))
		case n.ShortTag() != "!!null":
			out[k] = text
		}
	}
	return out, nil
}

// configNodes are the values of options in YAML.
func configNodes(app string, b []byte) (map[string]yaml.Node, error) {
	var doc map[string]yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	for k, n := range doc {
		if n.Kind == yaml.AliasNode {
			doc[k] = *n.Alias
		}
	}
	own, settings := doc[app], doc["settings"]
	switch {
	case own.Kind == yaml.MappingNode:
		doc = nil
		err := own.Decode(&doc)
		return doc, err
	case settings.Kind == yaml.MappingNode:
		doc = nil
		if err := settings.Decode(&doc); err != nil {
			return nil, err
		}
		for k, n := range doc {
			if value, source := shownSetting(n); source == "user" {
				doc[k] = value
			} else {
				delete(doc, k)
			}
		}
		return doc, nil
	}
	for k, n := range doc {
		switch value, source := shownSetting(n); source {
		case "":
		case "model":
			doc[k] = value
		default:
			delete(doc, k)
		}
	}
	return doc, nil
}

// shownSetting is a setting as it is shown, and where it is from; empty: it isn't one that
// was shown. "model-config" writes the keys in capitals into JSON.
func shownSetting(n yaml.Node) (value yaml.Node, source string) {
	var one map[string]yaml.Node
	if n.Kind != yaml.MappingNode || n.Decode(&one) != nil {
		return value, ""
	}
	for k, n := range one {
		switch strings.ToLower(k) {
		case "value":
			value = n
		case "source":
			source = n.Value
		}
	}
	return value, source
}
