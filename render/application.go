package render

import (
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// published adds to what is shown of an application how it is reached; nothing is
// added that there isn't.
func published(t Tree, app state.ApplicationDoc, service state.ServiceDoc) {
	if service.Address != "" {
		t["address"] = service.Address
	}
	if len(app.Published) > 0 {
		list := make([]string, len(app.Published))
		for i, p := range app.Published {
			list[i] = p.String()
		}
		t["published"] = list
	}
	if len(service.Problems) > 0 {
		problems := Tree{}
		for port, why := range service.Problems {
			problems[port] = why
		}
		t["port-problems"] = problems
	}
}

// ApplicationDetail is what show-application shows. Beside the original's there is
// how the application is reached. Source: docs/spec/juju-clients.md §7.1.
func ApplicationDetail(app state.ApplicationView) Tree {
	t := Tree{
		"charm": app.CharmDoc.Charm.Name, "principal": !app.Subordinate, "exposed": app.Exposed, "remote": false, "life": app.Life.String(),
		"endpoint-bindings": bindings(app),
	}
	if channel := channelOf(app); channel != "" {
		t["channel"] = channel
	}
	if base := app.OnBase(); base.Name != "" {
		t["base"] = base.String()
	}
	if app.Exposed {
		t["exposed-endpoints"] = exposedTo(app.ExposedEndpoints)
	}
	// What an older model has there may be no constraints.
	if c, err := model.ParseConstraints(app.Constraints); err == nil {
		t["constraints"] = c
	}
	published(t, app.ApplicationDoc, app.Service)
	return t
}

// bindings are the spaces of all that can be bound of an application.
func bindings(app state.ApplicationView) map[string]string {
	return app.Bindings.All(app.CharmDoc.Charm.Bindable())
}

// exposedTo are the endpoints by which an application is exposed, and to whom: all to
// everybody, where nobody has said otherwise.
func exposedTo(endpoints map[string]state.ExposedTo) Tree {
	if len(endpoints) == 0 {
		return Tree{"": Tree{"expose-to-cidrs": []string{"0.0.0.0/0", "::/0"}}}
	}
	all := Tree{}
	for name, to := range endpoints {
		one := Tree{}
		if len(to.Spaces) > 0 {
			one["expose-to-spaces"] = to.Spaces
		}
		if len(to.CIDRs) > 0 {
			one["expose-to-cidrs"] = to.CIDRs
		}
		all[name] = one
	}
	return all
}
