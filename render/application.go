package render

import (
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
// how the application is reached.
func ApplicationDetail(app state.ApplicationView) Tree {
	t := Tree{
		"charm": app.CharmDoc.Charm.Name, "principal": !app.Subordinate, "exposed": app.Exposed, "remote": false, "life": app.Life.String(),
	}
	if channel := channelOf(app); channel != "" {
		t["channel"] = channel
	}
	if base := app.OnBase(); base.Name != "" {
		t["base"] = base.String()
	}
	if app.Constraints != "" {
		t["constraints"] = app.Constraints
	}
	bindings := Tree{"": "alpha"}
	for _, e := range app.Endpoints {
		bindings[e.Name] = "alpha"
	}
	t["endpoint-bindings"] = bindings
	published(t, app.ApplicationDoc, app.Service)
	return t
}
