package main

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a *app) showUnitCmd() *cobra.Command {
	var format, output, endpoint, related string
	var appOnly bool
	cmd := &cobra.Command{
		Use:               "show-unit UNIT …",
		Short:             "Show units with their containers, and the settings in their relations",
		Example:           "  unitd show-unit shop/0\n  unitd show-unit shop/0 --format json --endpoint db",
		Args:              args(1, -1, "no unit name specified"),
		ValidArgsFunction: a.completeUnits,
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			out := tree{}
			for _, arg := range args {
				name, err := model.ParseUnitName(arg)
				if err != nil {
					return usagef("unit name %s not valid", arg)
				}
				d, err := m.ShowUnit(a.ctx, name)
				if err != nil {
					return err
				}
				out[arg] = unitDetail(d, endpoint, related, appOnly)
			}
			return a.write(format, output, out)
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	cmd.Flags().StringVar(&endpoint, "endpoint", "", "only relations on this endpoint")
	cmd.Flags().StringVar(&related, "related-unit", "", "only relations with this unit")
	cmd.Flags().BoolVar(&appOnly, "app", false, "only application data")
	a.formats(cmd, "yaml", "json")
	return cmd
}

// unitDetail is what show-unit shows. Source: docs/spec/cli-juju.md §2.7.
func unitDetail(d *state.UnitDetail, endpoint, related string, appOnly bool) tree {
	ports := []string{}
	for _, p := range d.Ports.All() {
		ports = append(ports, p.String())
	}
	t := tree{
		"opened-ports": ports, "charm": d.Charm, "leader": d.Leader, "life": d.Life.String(),
		"workload-version": d.WorkloadVersion,
	}
	placeOf(t, d.UnitDoc, d.Address)
	if d.Principal != "" && !d.Pod {
		t["machine"] = d.Machine
	}
	if d.Workload.Status == model.StatusError {
		t["workload-status"] = withData(statusInfo(d.Workload, false, false), d.Workload)
	}
	if all := d.Containers.Containers; len(all) > 0 {
		containers := tree{}
		for _, c := range all {
			containers[c.Name] = containerTree(c)
		}
		t["containers"] = containers
	}
	var infos []tree
	for _, r := range d.Relations {
		if endpoint != "" && r.Own.Name != endpoint {
			continue
		}
		remote := tree{}
		for _, ru := range r.Remote {
			if related == "" || string(ru.Unit) == related {
				remote[string(ru.Unit)] = tree{"in-scope": true, "data": ru.Settings}
			}
		}
		if related != "" && len(remote) == 0 {
			continue
		}
		info := tree{
			"relation-id": int(r.ID), "endpoint": r.Own.Name, "related-endpoint": r.Other.Name,
			"application-data": r.Application,
		}
		if !appOnly {
			info["local-unit"] = tree{"in-scope": r.InScope, "data": r.Local}
			if len(remote) > 0 {
				info["related-units"] = remote
			}
		}
		infos = append(infos, info)
	}
	if len(infos) > 0 {
		t["relation-info"] = infos
	}
	return t
}

// containerTree is a workload container as show-unit shows it.
func containerTree(c state.ContainerDoc) tree {
	t := tree{"state": string(c.State), "since": since(c.Since, false), "restarts": c.Restarts}
	for key, value := range map[string]string{"image": c.Image, "digest": c.Digest, "message": c.Fault, "pebble-version": c.Version, "missing": c.Lost} {
		if value != "" {
			t[key] = value
		}
	}
	checks, services := tree{}, tree{}
	for _, check := range c.Checks {
		checks[check.Name] = tree{"status": check.Status, "threshold": check.Threshold}
		if check.Level != "" {
			checks[check.Name].(tree)["level"] = check.Level
		}
	}
	for _, service := range c.Services {
		services[service.Name] = tree{"startup": service.Startup, "current": service.Current}
		if !service.Since.IsZero() {
			services[service.Name].(tree)["since"] = since(service.Since, false)
		}
	}
	if len(checks) > 0 {
		t["checks"] = checks
	}
	if len(services) > 0 {
		t["services"] = services
	}
	var failed []tree
	for _, f := range c.Failed {
		failed = append(failed, tree{"hook": f.Hook, "reason": f.Reason})
	}
	if len(failed) > 0 {
		t["failed-hooks"] = failed
	}
	return t
}
