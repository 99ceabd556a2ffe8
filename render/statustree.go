package render

import (
	"cmp"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// The names that scripts find for what there isn't here: a controller, a user and
// a cloud.
const (
	ControllerName = "unitd"
	UserName       = "admin"
	localCloud     = "local"
	RegionName     = "host"
	// providerName is what Juju calls machines that nobody makes.
	providerName = "manual"
)

// Tree is a part of what is printed as JSON or YAML.
type Tree = map[string]any

// StatusTree is what "status --format json" shows. Source: docs/spec/cli-juju.md
// §2.1; nothing in it is null. Its local machines are on this host.
func StatusTree(s *state.FullStatus, on Host, utc bool) Tree {
	t := Tree{
		"model": Tree{
			"name": s.Model.Name, "type": TypeName(ShownType(s.Model, s.Applications)), "controller": controllerOf(s), "cloud": CloudName(s.Model.Type),
			"region": RegionName, "version": hooks.Version, "sla": "unsupported",
			"model-status": Tree{"current": ModelStatus(s.Model), "since": since(s.Model.Created, utc)},
		},
		"machines": Tree{}, "applications": Tree{}, "storage": StorageTree(s.Storage, utc),
		"controller": Tree{"timestamp": clockTime(s.Timestamp, utc)},
	}
	for _, m := range s.Machines {
		t["machines"].(Tree)[m.ID] = machineTree(m, on, utc)
	}
	units := map[model.UnitName]state.UnitView{}
	for _, app := range s.Applications {
		for _, u := range app.Units {
			units[u.Name] = u
		}
	}
	for _, app := range s.Applications {
		t["applications"].(Tree)[app.Name] = applicationTree(app, units, utc)
	}
	across(t, s, utc)
	return t
}

// controllerOf is the name of the controller that has the model.
func controllerOf(s *state.FullStatus) string { return cmp.Or(s.Controller, ControllerName) }

// ModelStatus is the word for how a model is.
func ModelStatus(m state.ModelInfo) string {
	if m.Life != model.Alive {
		return "destroying"
	}
	return "available"
}

func applicationTree(app state.ApplicationView, units map[model.UnitName]state.UnitView, utc bool) Tree {
	t := Tree{
		"charm": app.Charm, "charm-origin": "local", "charm-name": app.CharmDoc.Charm.Name,
		"charm-rev": app.CharmDoc.Revision, "exposed": app.Exposed,
		"application-status": statusInfo(app.Status, utc, false),
	}
	if hub := hubOf(app); hub != nil {
		t["charm"], t["charm-name"], t["charm-origin"] = hub.Name, hub.Name, "charmhub"
		t["charm-channel"] = hub.Channel
	}
	if app.Life != model.Alive {
		t["life"] = app.Life.String()
	}
	if app.Sidecar {
		t["scale"], t["provider-id"] = app.Scale, app.Name
		if address := serviceAddress(app); address != "" {
			t["address"] = address
		}
	}
	if base := app.OnBase(); base.Name != "" {
		t["base"] = baseTree(base)
	}
	if app.CharmDoc.Charm.Version != "" {
		t["charm-version"] = app.CharmDoc.Charm.Version
	}
	if app.Version != "" {
		t["version"] = app.Version
	}
	if len(app.Relations) > 0 {
		rels := map[string][]Tree{}
		for ep, list := range app.Relations {
			for _, r := range list {
				rels[ep] = append(rels[ep], Tree{"related-application": r.Application, "interface": r.Interface, "scope": string(r.Scope)})
			}
		}
		t["relations"] = rels
	}
	published(t, app.ApplicationDoc, app.Service)
	t["endpoint-bindings"] = bindings(app)
	if app.Subordinate {
		if len(app.SubordinateTo) > 0 {
			t["subordinate-to"] = app.SubordinateTo
		}
		return t
	}
	if len(app.Units) > 0 {
		members := Tree{}
		for _, u := range app.Units {
			members[string(u.Name)] = unitTree(u, units, utc)
		}
		t["units"] = members
	}
	return t
}

// hubOf is where an application's charm comes from; nil: it is a local one.
// Source: docs/spec/juju-clients.md §12.6.
func hubOf(app state.ApplicationView) *state.Hub {
	if !state.FromHub(app.Charm) {
		return nil
	}
	return app.Hub
}

// channelOf is the channel that an application's charm follows; empty: none.
func channelOf(app state.ApplicationView) string {
	if hub := hubOf(app); hub != nil {
		return hub.Channel
	}
	return ""
}

func unitTree(u state.UnitView, units map[model.UnitName]state.UnitView, utc bool) Tree {
	t := Tree{
		"workload-status": withData(statusInfo(u.Workload, utc, false), u.Workload),
		"juju-status":     statusInfo(u.Agent, utc, true),
	}
	if u.Leader {
		t["leader"] = true
	}
	if u.Life != model.Alive {
		t["life"] = u.Life.String()
	}
	placeOf(t, u.UnitDoc, u.Address)
	if ports := u.Ports.All(); len(ports) > 0 {
		list := make([]string, len(ports))
		for i, p := range ports {
			list[i] = p.String()
		}
		t["open-ports"] = list
	}
	subordinates := Tree{}
	for _, name := range u.Subordinates {
		if sub, ok := units[name]; ok {
			subordinates[string(name)] = unitTree(sub, units, utc)
		}
	}
	if len(subordinates) > 0 {
		t["subordinates"] = subordinates
	}
	return t
}

// placeOf says in what is shown of a unit where it is: a container unit has an
// address of its own and the name of its pod, and no machine.
func placeOf(t Tree, u state.UnitDoc, address string) {
	key := "public-address"
	switch {
	case u.Pod:
		key, t["provider-id"] = "address", u.Machine
	case u.Principal == "":
		t["machine"] = u.Machine
	}
	if address != "" {
		t[key] = address
	}
}

func statusInfo(s model.Status, utc, agent bool) Tree {
	t := Tree{"current": s.Status}
	if s.Message != "" {
		t["message"] = s.Message
	}
	if !s.Since.IsZero() {
		t["since"] = since(s.Since, utc)
	}
	if agent {
		t["version"] = hooks.Version
	}
	return t
}

// since is a time as status shows it. Source: docs/spec/cli-juju.md §2.1.
func since(t time.Time, utc bool) string {
	if utc {
		return t.UTC().Format("2006-01-02 15:04:05Z")
	}
	return t.Local().Format("02 Jan 2006 15:04:05Z07:00")
}

func clockTime(t time.Time, utc bool) string {
	if utc {
		return t.UTC().Format("15:04:05Z")
	}
	return t.Local().Format("15:04:05Z07:00")
}
