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

// settableOfControllers are the keys that a controller's configuration takes later.
func settableOfControllers() []string {
	return []string{
		"agent-logfile-max-backups", "agent-logfile-max-size", "agent-ratelimit-max", "agent-ratelimit-rate", "api-port-open-delay",
		"application-resource-download-limit", "audit-log-capture-args", "audit-log-exclude-methods", "audit-log-max-backups",
		"audit-log-max-size", "auditing-enabled", "controller-resource-download-limit", "features", "juju-ha-space", "juju-mgmt-space",
		"max-agent-state-size", "max-charm-state-size", "max-debug-log-duration", "max-prune-txn-batch-size", "max-prune-txn-passes",
		"migration-agent-wait-time", "model-logfile-max-backups", "model-logfile-max-size", "mongo-memory-profile", "prune-txn-query-count",
		"prune-txn-sleep-time", "public-dns-address", "query-tracing-enabled", "query-tracing-threshold",
	}
}

// valuesFlags are those of verbs that show and change keys with values.
type valuesFlags struct {
	file, format, output string
	reset                []string
	ignore               bool
}

func (f *valuesFlags) declare(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "format", "tabular", "output format: tabular, json or yaml")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write to this file")
	cmd.Flags().StringVar(&f.file, "file", "", "YAML file with settings; - is standard input")
	cmd.Flags().BoolVar(&f.ignore, "ignore-read-only-fields", false, "leave out what can't be set, without an error")
	formats(cmd, "tabular", "json", "yaml")
}

func (a controllerVerbs) controllerConfigCmd() *cobra.Command {
	var f valuesFlags
	cmd := &cobra.Command{
		Use:     "controller-config [KEY | KEY=VALUE …]",
		Short:   "Show or record the configuration of a controller",
		Long:    "Show the configuration of a controller, or record values for it, which have no effect here.",
		Example: "  unitd controller-config\n  unitd controller-config controller-uuid\n  unitd controller-config auditing-enabled=true",
		RunE: func(_ *cobra.Command, args []string) error {
			keys, pairs, err := keysOrPairs(args, nil)
			if err != nil {
				return err
			}
			c, err := a.Open()
			if err != nil {
				return err
			}
			if len(pairs) == 0 && f.file == "" {
				return a.showControllerConfig(c, keys, f)
			}
			set, err := a.changes("controller", pairs, nil, f.file)
			if err != nil {
				return err
			}
			return a.setControllerConfig(c, set, f.ignore)
		},
	}
	f.declare(cmd)
	return cmd
}

func (a controllerVerbs) showControllerConfig(c *state.Controller, keys []string, f valuesFlags) error {
	doc, err := c.Identity(a.Context())
	if err != nil {
		return err
	}
	all := map[string]any{"controller-uuid": doc.UUID, "controller-name": c.Name(), "auditing-enabled": false}
	for k, v := range doc.Config {
		all[k] = render.SettingValue(v)
	}
	if len(keys) == 1 {
		v, ok := all[keys[0]]
		switch {
		case !ok:
			return errors.NewNotFound(nil, fmt.Sprintf("key %q not found in controller %q", keys[0], c.Name()))
		case f.format != "tabular":
			return a.write(f.format, f.output, v)
		}
		return a.text(f.output, fmt.Sprintln(v))
	}
	if f.format != "tabular" {
		return a.write(f.format, f.output, all)
	}
	rows, err := render.AttributeRows(all)
	if err != nil {
		return err
	}
	return a.table(f.output, rows)
}

func (a controllerVerbs) setControllerConfig(c *state.Controller, set map[string]string, ignore bool) error {
	var wrong []string
	for _, k := range slices.Sorted(maps.Keys(set)) {
		if !slices.Contains(settableOfControllers(), k) {
			wrong = append(wrong, k)
			delete(set, k)
		}
	}
	if len(wrong) > 0 && !ignore {
		return errors.Errorf("invalid or read-only controller config values cannot be updated: [%s]", strings.Join(wrong, " "))
	}
	if _, err := c.ChangeIdentity(a.Context(), func(doc *state.ControllerDoc) error {
		if doc.Config == nil {
			doc.Config = map[string]string{}
		}
		maps.Copy(doc.Config, set)
		return nil
	}); err != nil {
		return err
	}
	if len(set) > 0 {
		a.records("controller configuration")
	}
	return nil
}
