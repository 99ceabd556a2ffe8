package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// What status shows of container applications. Source: docs/spec/containers.md §7.3.
//
// A model with one kind of charms has the tables of Juju's models of that kind, so
// that whatever parses those can parse these. One with both has the tables of the
// machines first, then those of the containers, each with the columns of its kind.

// containerProvider is what Juju calls the cloud of a model of container charms.
const containerProvider = "kubernetes"

// CloudName is what the cloud of a model that was made of that type is called.
func CloudName(kind state.ModelType) string {
	if kind == state.CAAS {
		return containerCloud
	}
	return localCloud
}

// CloudRegion is CloudName with the region.
func CloudRegion(kind state.ModelType) string { return CloudName(kind) + "/" + RegionName }

// containerCloud is what a cloud of containers is called where nobody has called it
// anything else.
const containerCloud = "k8s"

// byKind parts applications on machines from those of container charms.
func byKind(apps []state.ApplicationView) (machines, containers []state.ApplicationView) {
	for _, app := range apps {
		if app.Sidecar {
			containers = append(containers, app)
		} else {
			machines = append(machines, app)
		}
	}
	return machines, containers
}

// ShownType is the type that a model is shown to have: CAAS for one that was made
// so, and for one in which there are none but container charms. Subordinates are
// of the kind of their principals.
func ShownType(info state.ModelInfo, apps []state.ApplicationView) state.ModelType {
	containers := false
	for _, app := range apps {
		if !app.Sidecar && !app.Subordinate {
			return info.Type
		}
		containers = containers || app.Sidecar
	}
	if containers {
		return state.CAAS
	}
	return info.Type
}

// TypeName is what Juju calls a type of models.
func TypeName(kind state.ModelType) string {
	if kind == state.CAAS {
		return string(kind)
	}
	return "iaas"
}

// ProviderName is what Juju calls the provider of the cloud of such a model.
func ProviderName(kind state.ModelType) string {
	if kind == state.CAAS {
		return containerProvider
	}
	return providerName
}

// serviceAddress is where an application of a container charm is reached: at its
// own address, or where it has none at that of its first unit with one.
func serviceAddress(app state.ApplicationView) string {
	if app.Service.Address != "" {
		return app.Service.Address
	}
	units := slices.Clone(app.Units)
	slices.SortFunc(units, func(a, b state.UnitView) int { return model.CompareUnits(a.Name, b.Name) })
	for _, u := range units {
		if u.Address != "" {
			return u.Address
		}
	}
	return ""
}

func containerApplicationRows(apps []state.ApplicationView) [][]Cell {
	if len(apps) == 0 {
		return nil
	}
	head := Heads("App", "Version", "Status", "Scale", "Charm", "Channel", "Rev", "Address", "Exposed", "Message")
	head[3].Right, head[6].Right = true, true
	rows := [][]Cell{head}
	for _, app := range apps {
		version, _, _ := strings.Cut(app.Version, "\n")
		rows = append(rows, []Cell{
			{Text: app.Name}, {Text: clip(version, 30)}, StatusCell(app.Status.Status), scale(app), {Text: app.CharmDoc.Charm.Name}, {Text: channelOf(app)},
			{Text: fmt.Sprint(app.CharmDoc.Revision), Right: true}, {Text: serviceAddress(app), Colour: cyan}, exposedCell(app), message(withLife(app)),
		})
	}
	return rows
}

func containerUnitRows(apps []state.ApplicationView) [][]Cell {
	var units []state.UnitView
	for _, app := range apps {
		units = append(units, app.Units...)
	}
	if len(units) == 0 {
		return nil
	}
	slices.SortFunc(units, func(a, b state.UnitView) int { return model.CompareUnits(a.Name, b.Name) })
	rows := [][]Cell{Heads("Unit", "Workload", "Agent", "Address", "Ports", "Message")}
	for _, u := range units {
		rows = append(rows, []Cell{
			unitCell(u, ""), StatusCell(u.Workload.Status), StatusCell(u.Agent.Status), {Text: u.Address, Colour: cyan}, portCell(u.Ports), unitMessage(u),
		})
	}
	return rows
}
