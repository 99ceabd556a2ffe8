package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unitd/unitd/kube"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/workload"
)

// charmImage is what the container of a charm is said to run.
const charmImage = "charm-base"

// podFacts is what only the agent of a container unit knows of its pod.
type podFacts struct {
	containers []workload.State
	template   []byte // kube.Unit.Template
}

// kubeModel is a model as its Kubernetes API reads it; node is the name of the
// host.
func kubeModel(c state.Cluster, facts map[model.UnitName]podFacts, node string) kube.Model {
	m := kube.Model{Name: c.Info.Name, UUID: c.Info.UUID, Created: c.Info.Created}
	for _, app := range c.Applications {
		if !app.Sidecar {
			continue
		}
		one := kube.Application{
			Name: app.Name, ID: app.ID, Address: c.Services[app.Name].Address, Scale: app.Scale, CharmImage: charmImage,
			Ports: servicePorts(c, app.Name), Workloads: workloadsOf(app, c.Charms[app.Charm]),
		}
		units := slices.DeleteFunc(slices.Clone(c.Units), func(u state.UnitDoc) bool {
			return u.Name.Application() != app.Name || u.Life == model.Dead
		})
		slices.SortFunc(units, func(a, b state.UnitDoc) int { return model.CompareUnits(a.Name, b.Name) })
		for _, u := range units {
			one.Units = append(one.Units, podOf(c, u, facts[u.Name], app, node))
		}
		m.Applications = append(m.Applications, one)
	}
	return m
}

// workloadsOf are the containers of a charm, as its application is given them.
func workloadsOf(app state.ApplicationDoc, charm model.Charm) []kube.Workload {
	var all []kube.Workload
	for _, name := range charm.ContainerNames() {
		spec := charm.Containers[name]
		w := kube.Workload{Name: name, Image: imageIn(app, spec), UID: spec.UID, GID: spec.GID}
		for _, m := range spec.Mounts {
			w.Mounts = append(w.Mounts, kube.Mount{Storage: m.Storage, Location: m.Location, ReadOnly: charm.Storage[m.Storage].ReadOnly})
		}
		all = append(all, w)
	}
	return all
}

func imageIn(app state.ApplicationDoc, spec model.ContainerSpec) string {
	given := app.Resources[spec.Resource].Image
	if given == nil {
		return ""
	}
	return given.Reference
}

// podOf is the pod of a unit.
func podOf(c state.Cluster, u state.UnitDoc, known podFacts, app state.ApplicationDoc, node string) kube.Unit {
	pod := kube.Unit{
		Number: u.Name.Number(), ID: fmt.Sprintf("%s/%d", u.ID, c.Pods[u.Name].Has), Address: c.Addresses[u.Machine], Node: node, Template: known.template,
		Containers: []kube.Container{{Name: "charm", Running: true, Ready: u.Charm != ""}},
	}
	charm := c.Charms[app.Charm]
	for _, s := range known.containers {
		one := kube.Container{Name: s.Name, Running: s.Phase == workload.Running || s.Phase == workload.Starting, Ready: s.Pebble.Boot != "", Restarts: s.Restarts}
		if given := app.Resources[charm.Containers[s.Name].Resource].Image; given != nil {
			one.ImageID = given.Digest
		}
		pod.Containers = append(pod.Containers, one)
	}
	return pod
}

// servicePorts are those that the units of an application have opened.
func servicePorts(c state.Cluster, app string) []kube.Port {
	var all []kube.Port
	for unit, ports := range c.Ports {
		if unit.Application() != app {
			continue
		}
		for _, r := range ports.All() {
			if r.Protocol != "tcp" && r.Protocol != "udp" {
				continue
			}
			for n := max(r.From, 1); n <= r.To && n-r.From < maxServicePorts; n++ {
				all = append(all, kube.Port{Number: n, Protocol: r.Protocol})
			}
		}
	}
	slices.SortFunc(all, func(a, b kube.Port) int {
		if a.Number != b.Number {
			return a.Number - b.Number
		}
		return strings.Compare(a.Protocol, b.Protocol)
	})
	all = slices.Compact(all)
	return all[:min(len(all), maxServicePorts)]
}
