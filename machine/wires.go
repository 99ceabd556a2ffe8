package machine

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/names"
	"github.com/unitd/unitd/state"
)

// maxServicePorts bounds how many ports an application's address has: each is a
// listener.
const maxServicePorts = 100

// plan is what a wiring is to do for a model.
type plan struct {
	table names.Model
	// forwards are by a key of their own, failed are the keys of those that can't be
	// had, told is what the model is told, by application.
	forwards map[string]forward
	failed   map[string]bool
	told     map[string]state.ServiceDoc
}

// forward is a port that is to reach the units of an application.
type forward struct {
	app string
	// name is the port as state.ServiceDoc.Problems has it.
	name     string
	listen   func() (net.Listener, error)
	backends []string
}

// plan says what is to be there for what a model has. addresses are those of
// applications; six are the IPv6 addresses of units that have machines here, by the others;
// reached are the machines whose hosts' isolated units are reached from here.
func (w *wiring) plan(v state.Wires, addresses, six map[string]string, reached map[string]bool) plan {
	p := plan{table: names.Model{Name: w.model.Name()}, forwards: map[string]forward{}, failed: map[string]bool{}, told: map[string]state.ServiceDoc{}}
	apps := map[string]state.ApplicationDoc{}
	for _, app := range v.Applications {
		apps[app.Name] = app
	}
	units, local := map[string][]names.Unit{}, map[string][]string{}
	for _, u := range v.Units {
		app, here := u.Name.Application(), w.hosts(u)
		one := names.Unit{Name: u.Name, Address: v.Addresses[u.Machine], Ready: ready(u, v.Pods)}
		in := u.Name
		if u.Principal != "" {
			in = u.Principal
		}
		isolated := apps[in.Application()].Isolation.OwnNetwork()
		switch {
		case isolated && !here && !reached[hostOf(u)]:
			one.Address = "" // nobody here reaches it, and it may be one of this host's units'
		case isolated && here && one.Address != "":
			one.IPv6 = six[one.Address]
			if one.Ready {
				local[app] = append(local[app], one.Address)
			}
		}
		units[app] = append(units[app], one)
	}
	for _, app := range v.Applications {
		p.table.Applications = append(p.table.Applications, names.Application{Name: app.Name, Address: addresses[app.Name], Units: units[app.Name]})
		p.told[app.Name] = state.ServiceDoc{Address: addresses[app.Name]}
		if w.first || len(local[app.Name]) > 0 {
			p.publish(app, local[app.Name])
		}
		if len(local[app.Name]) > 0 && addresses[app.Name] != "" {
			w.serve(p, app, addresses[app.Name], local[app.Name], v)
		}
	}
	return p
}

// ready says whether a unit takes part in what its application does: it isn't on its
// way out, has its charm, and, if it is a container unit, its pod is ready.
func ready(u state.UnitDoc, pods map[model.UnitName]state.PodDoc) bool {
	inPod := u.Pod && u.Principal == ""
	return u.Life == model.Alive && u.Charm != "" && (!inPod || pods[u.Name].Ready)
}

// publish adds the ports of the host.
func (p plan) publish(app state.ApplicationDoc, to []string) {
	for _, pub := range app.Published {
		p.forwards[app.Name+" "+pub.String()] = forward{
			app: app.Name, name: pub.Listen(), backends: withPort(to, pub.Port),
			listen: func() (net.Listener, error) { return net.Listen("tcp4", pub.Listen()) },
		}
	}
}

// serve adds the ports of an application's address: those that its units have opened.
func (w *wiring) serve(p plan, app state.ApplicationDoc, address string, to []string, v state.Wires) {
	open := map[int]bool{}
	for unit, ports := range v.Ports {
		if unit.Application() != app.Name {
			continue
		}
		for _, r := range ports.All() {
			switch {
			case r.Protocol != "tcp":
				continue
			case len(open)+r.To-r.From+1 > maxServicePorts:
				p.problem(app.Name, r.String(), "an application's address has no more than "+strconv.Itoa(maxServicePorts)+" ports")
				continue
			}
			for port := max(r.From, 1); port <= r.To; port++ {
				open[port] = true
			}
		}
	}
	for _, port := range slices.Sorted(maps.Keys(open)) {
		p.forwards[app.Name+" "+address+" "+strconv.Itoa(port)] = forward{
			app: app.Name, name: strconv.Itoa(port) + "/tcp", backends: withPort(to, port),
			listen: func() (net.Listener, error) { return w.cells.Listen(address, port) },
		}
	}
}

// problem has the model told why a port isn't there.
func (p plan) problem(app, port, why string) {
	told := p.told[app]
	if told.Problems == nil {
		told.Problems = map[string]string{}
	}
	told.Problems[port] = strings.TrimSpace(why)
	p.told[app] = told
}

func withPort(addresses []string, port int) []string {
	out := make([]string, len(addresses))
	for i, a := range addresses {
		out[i] = net.JoinHostPort(a, strconv.Itoa(port))
	}
	return out
}
