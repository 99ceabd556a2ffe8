package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Offer is an offer of a model, by the model's name and that of its controller, which is
// ControllerName where it is empty.
type Offer struct {
	state.OfferView
	Model      string
	Controller string
}

func (o Offer) store() string { return cmp.Or(o.Controller, ControllerName) }

// Path is the offer's URL without the controller: "admin/harbour.ledgerdb".
func (o Offer) Path() string { return UserName + "/" + o.Model + "." + o.Name }

// URL is Path with the controller.
func (o Offer) URL() string { return o.store() + ":" + o.Path() }

// endpointsTree are endpoints as they are shown of offers, and of what is consumed.
func endpointsTree(eps []model.Endpoint) Tree {
	t := Tree{}
	for _, e := range eps {
		t[e.Name] = Tree{"interface": e.Interface, "role": string(e.Role)}
	}
	return t
}

// usersTree says who may do what with an offer.
func usersTree(o state.OfferDoc) Tree {
	t := Tree{}
	for user, access := range o.Access {
		one := Tree{"access": access}
		if !strings.Contains(user, "@") {
			one["display-name"] = user
		}
		t[user] = one
	}
	return t
}

// OffersTree is what "offers --format json" shows. Source: docs/spec/juju-clients.md §11.3.
func OffersTree(offers []Offer, now time.Time) Tree {
	t := Tree{}
	for _, o := range offers {
		one := Tree{
			"application": o.Application, "store": o.store(), "offer-url": o.Path(),
			"endpoints": endpointsTree(o.Endpoints), "users": usersTree(o.OfferDoc),
		}
		if o.Charm.URL != "" {
			one["charm"] = o.Charm.URL
		}
		var connections []Tree
		for _, c := range o.Connections {
			status := Tree{"current": c.Status.Status}
			if c.Status.Message != "" {
				status["message"] = c.Status.Message
			}
			if !c.Status.Since.IsZero() {
				status["since"] = Friendly(c.Status.Since, now)
			}
			connection := Tree{
				"source-model-uuid": c.Model, "username": UserName, "relation-id": int(c.Relation), "endpoint": c.Endpoint, "status": status,
			}
			if len(c.Subnets) > 0 {
				connection["ingress-subnets"] = c.Subnets
			}
			connections = append(connections, connection)
		}
		if len(connections) > 0 {
			one["connections"] = connections
		}
		t[o.Name] = one
	}
	return t
}

// OfferConnections are the rows of "offers": a line for each connection, with dashes for an
// offer that has none.
func OfferConnections(offers []Offer) [][]Cell {
	rows := [][]Cell{Heads("Offer", "User", "Relation ID", "Status", "Endpoint", "Interface", "Role", "Ingress subnets")}
	for _, o := range offers {
		if len(o.Connections) == 0 {
			rows = append(rows, []Cell{{Text: o.Name}, {Text: "-"}, {}, {}, {}, {}, {}, {}})
		}
		for i, c := range o.Connections {
			name := o.Name
			if i > 0 {
				name = ""
			}
			of := endpointOf(o.Endpoints, c.Endpoint)
			rows = append(rows, []Cell{
				{Text: name}, {Text: UserName}, {Text: fmt.Sprint(c.Relation)}, StatusCell(c.Status.Status),
				{Text: c.Endpoint}, {Text: of.Interface}, {Text: string(of.Role)}, {Text: strings.Join(c.Subnets, ",")},
			})
		}
	}
	return rows
}

func endpointOf(eps []model.Endpoint, name string) model.Endpoint {
	if i := slices.IndexFunc(eps, func(e model.Endpoint) bool { return e.Name == name }); i >= 0 {
		return eps[i]
	}
	return model.Endpoint{}
}

// OfferSummaries are the rows of "offers --format summary".
func OfferSummaries(offers []Offer) [][]Cell {
	rows := [][]Cell{Heads("Offer", "Application", "Charm", "Connected", "Store", "URL", "Endpoint", "Interface", "Role")}
	for _, o := range offers {
		rows = append(rows, withEndpoints([]Cell{
			{Text: o.Name}, {Text: o.Application}, {Text: o.Charm.URL}, connected(o.OfferView), {Text: o.store()}, {Text: o.Path()},
		}, o.Endpoints)...)
	}
	return rows
}

// connected is how many of an offer's connections are active: "1/2".
func connected(o state.OfferView) Cell {
	return Cell{Text: fmt.Sprintf("%d/%d", o.Active(), len(o.Connections))}
}

// withEndpoints is a row with endpoints behind it, each further one on a line of its own.
func withEndpoints(row []Cell, eps []model.Endpoint) [][]Cell {
	var rows [][]Cell
	for i, e := range eps {
		if i > 0 {
			row = make([]Cell, len(row))
		}
		rows = append(rows, append(slices.Clone(row), Cell{Text: e.Name}, Cell{Text: e.Interface}, Cell{Text: string(e.Role)}))
	}
	return rows
}

// FoundTree is what "find-offers" and, with descriptions, "show-offer" show.
func FoundTree(offers []Offer, described bool) Tree {
	t := Tree{}
	for _, o := range offers {
		one := Tree{"access": o.Access[UserName], "endpoints": endpointsTree(o.Endpoints), "users": usersTree(o.OfferDoc)}
		if text := o.Charm.Charm.Description; described && text != "" {
			one["description"] = text
		}
		t[o.URL()] = one
	}
	return t
}

// FoundOffers are the rows of "find-offers".
func FoundOffers(offers []Offer) [][]Cell {
	rows := [][]Cell{Heads("Store", "URL", "Access", "Interfaces")}
	for _, o := range offers {
		interfaces := map[string]bool{}
		for _, e := range o.Endpoints {
			interfaces[e.Interface+":"+e.Name] = true
		}
		rows = append(rows, []Cell{
			{Text: o.store()}, {Text: o.Path()}, {Text: o.Access[UserName]},
			{Text: strings.Join(slices.Sorted(maps.Keys(interfaces)), ", ")},
		})
	}
	return rows
}

// The width of a description in "show-offer", and how much of it is shown at most.
const (
	describedWidth = 45
	describedMost  = 177
)

// ShownOffer are the rows of "show-offer".
func ShownOffer(o Offer) [][]Cell {
	rows := [][]Cell{Heads("Store", "URL", "Access", "Description", "Endpoint", "Interface", "Role")}
	lines := wrap(describe(o.Charm.Charm.Description), describedWidth)
	for i := range max(len(lines), len(o.Endpoints)) {
		row := []Cell{{}, {}, {}}
		if i == 0 {
			row = []Cell{{Text: o.store()}, {Text: o.Path()}, {Text: o.Access[UserName]}}
		}
		text := ""
		if i < len(lines) {
			text = lines[i]
		}
		row = append(row, Cell{Text: text})
		if i < len(o.Endpoints) {
			e := o.Endpoints[i]
			row = append(row, Cell{Text: e.Name}, Cell{Text: e.Interface}, Cell{Text: string(e.Role)})
		}
		rows = append(rows, row)
	}
	return rows
}

func describe(text string) string {
	r := []rune(strings.Join(strings.Fields(Harmless(text)), " "))
	if len(r) > describedMost {
		return string(r[:describedMost]) + "..."
	}
	return string(r)
}

// wrap is text in lines of at most that many characters, but for longer words.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// across adds to the status what a model has in common with others. Source:
// docs/spec/juju-clients.md §11.4.
func across(t Tree, s *state.FullStatus, utc bool) {
	if len(s.SAAS) > 0 {
		consumed := Tree{}
		for _, v := range s.SAAS {
			one := Tree{"url": v.URL, "endpoints": endpointsTree(v.Endpoints), "application-status": statusInfo(v.Status, utc, false)}
			if v.Life != model.Alive {
				one["life"] = v.Life.String()
			}
			if len(v.Related) > 0 {
				one["relations"] = v.Related
			}
			consumed[v.Name] = one
		}
		t["application-endpoints"] = consumed
	}
	if len(s.Offers) > 0 {
		offers := Tree{}
		for _, o := range s.Offers {
			one := Tree{"application": o.Application, "endpoints": endpointsTree(o.Endpoints)}
			if o.Charm.URL != "" {
				one["charm"] = o.Charm.URL
			}
			if n := len(o.Connections); n > 0 {
				one["total-connected-count"] = n
			}
			if n := o.Active(); n > 0 {
				one["active-connected-count"] = n
			}
			offers[o.Name] = one
		}
		t["offers"] = offers
	}
}

// saasRows are what the model has consumed.
func saasRows(all []state.SAASView) [][]Cell {
	if len(all) == 0 {
		return nil
	}
	rows := [][]Cell{Heads("SAAS", "Status", "Store", "URL")}
	for _, v := range all {
		store, path := "local", v.URL
		if u, err := model.ParseOfferURL(v.URL); err == nil {
			path = u.Path()
			if u.Controller != "" {
				store = u.Controller
			}
		}
		rows = append(rows, []Cell{{Text: v.Name}, StatusCell(v.Status.Status), {Text: store}, {Text: path}})
	}
	return rows
}

// offerRows are what the model offers.
func offerRows(all []state.OfferView) [][]Cell {
	if len(all) == 0 {
		return nil
	}
	head := Heads("Offer", "Application", "Charm", "Rev", "Connected", "Endpoint", "Interface", "Role")
	rows := [][]Cell{head}
	for _, o := range all {
		rows = append(rows, withEndpoints([]Cell{
			{Text: o.Name}, {Text: o.Application}, {Text: o.Charm.Charm.Name}, {Text: fmt.Sprint(o.Charm.Revision)}, connected(o),
		}, o.Endpoints)...)
	}
	return rows
}
