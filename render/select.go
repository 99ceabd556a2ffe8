package render

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/state"
)

// selection is what the words behind "status" match of a model: a thing that one
// of them matches is shown. Source: docs/spec/juju-clients.md §9.
type selection struct {
	words []string
	// exposed and hidden: the words ask for applications that are exposed, or
	// that are not ("not exposed").
	exposed, hidden bool
}

func newSelection(words []string) selection {
	s := selection{words: words}
	switch {
	case len(words) > 1 && words[0] == "not" && words[1] == "exposed":
		s.hidden, s.words = true, words[2:]
	case slices.Contains(words, "exposed"):
		s.exposed = true
	}
	return s
}

// application says whether the application is matched, with all its units.
func (s selection) application(app state.ApplicationView) bool {
	return app.Exposed && s.exposed || !app.Exposed && s.hidden ||
		slices.ContainsFunc(s.words, func(w string) bool { return strings.EqualFold(w, app.Name) })
}

// unitPattern is a pattern of names of units.
var unitPattern = pattern.New(`^[a-zA-Z0-9*-]+(/[a-zA-Z0-9*-]+)?$`)

// unit says whether the unit is matched itself, be it without its application.
func (s selection) unit(u state.UnitView) bool {
	return slices.ContainsFunc(s.words, func(w string) bool {
		switch {
		case w == string(u.Name), u.Leader && w == u.Name.Application()+"/leader":
			return true
		case strings.Contains(w, "*") && unitPattern.MatchString(w):
			if !strings.Contains(w, "/") {
				w += "/*"
			}
			matched, _ := path.Match(w, string(u.Name))
			return matched
		case w == u.Workload.Status:
			return true
		case w == u.Agent.Status:
			return u.Workload.Status != model.StatusError // it is the agent that is in error
		}
		ports, err := model.ParsePortRange(w)
		return err == nil && strings.Contains(w, "/") && slices.ContainsFunc(u.Ports.All(), ports.Conflicts)
	})
}

// machine says whether the machine is matched, with all units on it.
func (s selection) machine(m state.MachineView) bool {
	return slices.ContainsFunc(s.words, func(w string) bool {
		if w == m.ID || w == MachineStatus(m).Status {
			return true
		}
		subnet, err := netip.ParsePrefix(w)
		return slices.ContainsFunc(m.Addresses, func(text string) bool {
			address, aerr := netip.ParseAddr(text)
			return text == w || err == nil && aerr == nil && subnet.Contains(address)
		})
	})
}

// SelectStatus leaves only what the words match, and what belongs to it: of a
// machine its units, of a principal its subordinates, of a subordinate its
// principal; and each time the application and the machine. SAAS and offers stay.
// Source: docs/spec/juju-clients.md §9.
func SelectStatus(s *state.FullStatus, words []string) {
	if len(words) == 0 {
		return
	}
	sel := newSelection(words)
	units := sel.units(s)
	machines, named := map[string]bool{}, map[string]bool{}
	s.Applications = slices.DeleteFunc(s.Applications, func(app state.ApplicationView) bool {
		named[app.Name] = sel.application(app)
		return !named[app.Name] && !slices.ContainsFunc(app.Units, func(u state.UnitView) bool { return units[u.Name] })
	})
	for i := range s.Applications {
		app := &s.Applications[i]
		app.Units = slices.DeleteFunc(app.Units, func(u state.UnitView) bool { return !units[u.Name] })
		for _, u := range app.Units {
			machines[u.Machine] = true
		}
	}
	s.Machines = slices.DeleteFunc(s.Machines, func(m state.MachineView) bool { return !machines[m.ID] && !sel.machine(m) })
	s.Relations = slices.DeleteFunc(s.Relations, func(r state.RelationDoc) bool {
		return !slices.ContainsFunc(r.Endpoints, func(e model.Endpoint) bool { return named[e.Application] })
	})
	s.Storage = slices.DeleteFunc(s.Storage, func(v state.StorageView) bool { return !units[v.Unit] })
}

// units are those that are shown.
func (s selection) units(st *state.FullStatus) map[model.UnitName]bool {
	machines := map[string]bool{}
	for _, m := range st.Machines {
		machines[m.ID] = s.machine(m)
	}
	matched, shown := map[model.UnitName]bool{}, map[model.UnitName]bool{}
	for _, app := range st.Applications {
		all := s.application(app)
		for _, u := range app.Units {
			matched[u.Name] = all || machines[u.Machine] || s.unit(u)
		}
	}
	for _, app := range st.Applications {
		for _, u := range app.Units {
			if matched[u.Name] {
				shown[u.Name], shown[u.Principal] = true, true
			}
			shown[u.Name] = shown[u.Name] || matched[u.Principal]
		}
	}
	delete(shown, "") // nobody's principal
	return shown
}
