package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/unitd/unitd/hooks"
)

// superuser is the access of the one user to a controller.
const superuser = "superuser"

// Controller is what there is to know of a controller. Source:
// docs/spec/juju-clients.md §3.
type Controller struct {
	Name, UUID, Cloud, Region string
	// Model is the current one; empty: none.
	Model string
	// Models are the counts of machines and cores of each, by its name.
	Models map[string]ModelCounts
}

// ModelCounts are how much there is in a model.
type ModelCounts struct {
	UUID            string
	Machines, Cores int
}

// machines counts those of all models.
func (c Controller) machines() (n int) {
	for _, m := range c.Models {
		n += m.Machines
	}
	return n
}

// endpoints are where clients find a controller: nothing listens there, as the store is a
// file.
func endpoints() flow { return flow{"127.0.0.1:0"} }

// flow is a list that YAML has in one line.
type flow []string

// MarshalYAML is part of yaml.Marshaler.
func (f flow) MarshalYAML() (any, error) { return flowNode(f), nil }

type controllerItem struct {
	CurrentModel string `json:"current-model,omitempty" yaml:"current-model,omitempty"`
	User         string `json:"user" yaml:"user"`
	Access       string `json:"access" yaml:"access"`
	Server       string `json:"recent-server" yaml:"recent-server"`
	UUID         string `json:"uuid" yaml:"controller-uuid"`
	Endpoints    flow   `json:"api-endpoints" yaml:"api-endpoints"`
	CACert       string `json:"ca-cert" yaml:"ca-cert"`
	Cloud        string `json:"cloud" yaml:"cloud"`
	Region       string `json:"region,omitempty" yaml:"region,omitempty"`
	AgentVersion string `json:"agent-version" yaml:"agent-version"`
	Models       int    `json:"model-count,omitempty" yaml:"model-count,omitempty"`
	Machines     int    `json:"machine-count,omitempty" yaml:"machine-count,omitempty"`
}

// ControllerList is what controllers shows as JSON and YAML.
type ControllerList struct {
	Controllers map[string]controllerItem `json:"controllers" yaml:"controllers"`
	Current     string                    `json:"current-controller" yaml:"current-controller"`
}

// Controllers is what controllers shows as JSON and YAML. Source:
// docs/spec/juju-clients.md §3.1.
func Controllers(all []Controller, current string) ControllerList {
	list := ControllerList{Controllers: map[string]controllerItem{}, Current: current}
	for _, c := range all {
		list.Controllers[c.Name] = controllerItem{
			CurrentModel: c.Model, User: UserName, Access: superuser, Server: endpoints()[0], UUID: c.UUID, Endpoints: endpoints(),
			Cloud: c.Cloud, Region: c.Region, AgentVersion: hooks.Version, Models: len(c.Models), Machines: c.machines(),
		}
	}
	return list
}

// ControllerRows are the controllers for people. In the field's own table each row but the
// first ends with one more tab, so that blanks follow. Source: docs/spec/juju-clients.md §3.1.
func ControllerRows(all []Controller, current string) [][]Cell {
	head := Heads("Controller", "Model", "User", "Access", "Cloud/Region", "Models", "Nodes", "HA", "Version")
	head[5].Right, head[6].Right, head[7].Right = true, true, true
	rows := [][]Cell{head}
	for _, c := range all {
		name, cloud := Cell{Text: c.Name}, c.Cloud
		if c.Name == current {
			name = Cell{Text: c.Name + "*", Colour: Green}
		}
		if c.Region != "" {
			cloud += "/" + c.Region
		}
		rows = append(rows, []Cell{
			name, {Text: cmp.Or(c.Model, "-")}, {Text: UserName}, {Text: superuser}, {Text: cloud},
			count(len(c.Models)), count(c.machines()), {Text: "-", Right: true}, {Text: hooks.Version + "  "},
		})
	}
	return rows
}

// count is a number in a table, in which none is a dash.
func count(n int) Cell {
	if n == 0 {
		return Cell{Text: "-", Right: true}
	}
	return Cell{Text: fmt.Sprint(n), Right: true}
}

type (
	// ControllerDetail is what show-controller shows of one.
	ControllerDetail struct {
		Details      controllerDetails          `json:"details" yaml:"details"`
		Models       map[string]controllerModel `json:"models,omitempty" yaml:"models,omitempty"`
		CurrentModel string                     `json:"current-model,omitempty" yaml:"current-model,omitempty"`
		Account      map[string]string          `json:"account" yaml:"account"`
	}
	controllerDetails struct {
		UUID         string `json:"uuid" yaml:"controller-uuid"`
		Endpoints    flow   `json:"api-endpoints" yaml:"api-endpoints"`
		Cloud        string `json:"cloud" yaml:"cloud"`
		Region       string `json:"region,omitempty" yaml:"region,omitempty"`
		AgentVersion string `json:"agent-version" yaml:"agent-version"`
		CACert       string `json:"ca-cert" yaml:"ca-cert"`
	}
	controllerModel struct {
		UUID     string `json:"uuid" yaml:"model-uuid"`
		Machines int    `json:"machine-count,omitempty" yaml:"machine-count,omitempty"`
		Cores    int    `json:"core-count,omitempty" yaml:"core-count,omitempty"`
	}
)

// ShowController is what show-controller shows of one. Source:
// docs/spec/juju-clients.md §3.2.
func ShowController(c Controller) ControllerDetail {
	d := ControllerDetail{
		Details: controllerDetails{UUID: c.UUID, Endpoints: endpoints(), Cloud: c.Cloud, Region: c.Region, AgentVersion: hooks.Version},
		Account: map[string]string{"user": UserName, "access": superuser},
		Models:  map[string]controllerModel{},
	}
	for name, m := range c.Models {
		d.Models[name] = controllerModel(m)
	}
	if c.Model != "" {
		d.CurrentModel = UserName + "/" + c.Model
	}
	return d
}

// Whoami is who works where, as JSON and YAML.
type Whoami struct {
	Controller string `json:"controller" yaml:"controller"`
	Model      string `json:"model,omitempty" yaml:"model,omitempty"`
	User       string `json:"user" yaml:"user"`
}

// WhoamiRows are who works where, for people. Source: docs/spec/juju-clients.md §3.3.
func WhoamiRows(w Whoami) [][]Cell {
	return [][]Cell{
		{{Text: "Controller:"}, {Text: w.Controller}},
		{{Text: "Model:"}, {Text: cmp.Or(w.Model, "<no-current-model>")}},
		{{Text: "User:"}, {Text: w.User}},
	}
}

type (
	// UserItem is one user of a controller.
	UserItem struct {
		Name        string `json:"user-name" yaml:"user-name"`
		DisplayName string `json:"display-name" yaml:"display-name"`
		Access      string `json:"access" yaml:"access"`
		Created     string `json:"date-created,omitempty" yaml:"date-created,omitempty"`
		Connected   string `json:"last-connection" yaml:"last-connection"`
	}
	// ModelUser is a user of a model.
	ModelUser struct {
		DisplayName string `json:"display-name" yaml:"display-name"`
		Access      string `json:"access" yaml:"access"`
		Connected   string `json:"last-connection" yaml:"last-connection"`
	}
)

// Users are those of a controller that was made at that time, as text; empty: nobody
// knows. Source: docs/spec/juju-clients.md §3.4.
func Users(created, now string) []UserItem {
	return []UserItem{{Name: UserName, DisplayName: UserName, Access: superuser, Created: created, Connected: now}}
}

// UserRows are the users of a controller, for people.
func UserRows(users []UserItem) [][]Cell {
	rows := [][]Cell{Heads("Name", "Display name", "Access", "Date created", "Last connection")}
	for _, u := range users {
		rows = append(rows, []Cell{{Text: u.Name + "*"}, {Text: u.DisplayName}, {Text: u.Access}, {Text: u.Created}, {Text: u.Connected}})
	}
	return rows
}

// ModelUsers are the users of a model.
func ModelUsers(now string) map[string]ModelUser {
	return map[string]ModelUser{UserName: {DisplayName: UserName, Access: UserName, Connected: now}}
}

// ModelUserRows are the users of a model, for people.
func ModelUserRows(users map[string]ModelUser) [][]Cell {
	rows := [][]Cell{Heads("Name", "Display name", "Access", "Last connection")}
	for _, name := range slices.Sorted(maps.Keys(users)) {
		u := users[name]
		rows = append(rows, []Cell{{Text: name + "*"}, {Text: u.DisplayName}, {Text: u.Access}, {Text: u.Connected}})
	}
	return rows
}
