package render

import (
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// UnitDetail is what show-unit shows. Source: docs/spec/cli-juju.md §2.7.
func UnitDetail(d *state.UnitDetail, endpoint, related string, appOnly bool) Tree {
	ports := []string{}
	for _, p := range d.Ports.All() {
		ports = append(ports, p.String())
	}
	t := Tree{
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
		containers := Tree{}
		for _, c := range all {
			containers[c.Name] = containerTree(c)
		}
		t["containers"] = containers
	}
	var infos []Tree
	for _, r := range d.Relations {
		if endpoint != "" && r.Own.Name != endpoint {
			continue
		}
		remote := Tree{}
		for _, ru := range r.Remote {
			if related == "" || string(ru.Unit) == related {
				remote[string(ru.Unit)] = Tree{"in-scope": true, "data": bag(ru.Settings)}
			}
		}
		if related != "" && len(remote) == 0 {
			continue
		}
		info := Tree{
			"relation-id": int(r.ID), "endpoint": r.Own.Name, "related-endpoint": r.Other.Name,
			"application-data": bag(r.Application),
		}
		if r.Across {
			info["cross-model"] = true
		}
		if !appOnly {
			info["local-unit"] = Tree{"in-scope": r.InScope, "data": bag(r.Local)}
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
func containerTree(c state.ContainerDoc) Tree {
	t := Tree{"state": string(c.State), "since": since(c.Since, false), "restarts": c.Restarts}
	for key, value := range map[string]string{"image": c.Image, "digest": c.Digest, "message": c.Fault, "pebble-version": c.Version, "missing": c.Lost} {
		if value != "" {
			t[key] = value
		}
	}
	checks, services := Tree{}, Tree{}
	for _, check := range c.Checks {
		checks[check.Name] = Tree{"status": check.Status, "threshold": check.Threshold}
		if check.Level != "" {
			checks[check.Name].(Tree)["level"] = check.Level
		}
	}
	for _, service := range c.Services {
		services[service.Name] = Tree{"startup": service.Startup, "current": service.Current}
		if !service.Since.IsZero() {
			services[service.Name].(Tree)["since"] = since(service.Since, false)
		}
	}
	if len(checks) > 0 {
		t["checks"] = checks
	}
	if len(services) > 0 {
		t["services"] = services
	}
	var failed []Tree
	for _, f := range c.Failed {
		failed = append(failed, Tree{"hook": f.Hook, "reason": f.Reason})
	}
	if len(failed) > 0 {
		t["failed-hooks"] = failed
	}
	return t
}

// bag are settings for programs, which go through them, also where there are none.
func bag(s model.Settings) model.Settings {
	if s == nil {
		return model.Settings{}
	}
	return s
}
