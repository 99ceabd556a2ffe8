package names

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/unitd/unitd/model"
)

// Domain is what all names end in.
const Domain = "svc.cluster.local"

// loopback is the address of a unit that has none yet, or none of its own: that by
// which Debian lets a host find itself.
const loopback = "127.0.1.1"

// localhost is the address of the loopback device.
const localhost = "127.0.0.1"

// Model is what has names in one model.
type Model struct {
	Name         string
	Applications []Application
}

// Application is an application with its units.
type Application struct {
	Name string
	// Address is the application's own, which reaches its units in turn; empty: it
	// has none, and its name stands for the units that are ready.
	Address string
	Units   []Unit
}

// Unit is a unit as others find it.
type Unit struct {
	Name model.UnitName
	// Address is empty where the unit has none that is reached from here: then it
	// has no name either.
	Address string
	// Ready: it takes part in what its application does.
	Ready bool
}

// Own is the unit whose machine a file is for.
type Own struct {
	// Model is the name of the unit's model.
	Model string
	Unit  model.UnitName
	// Address is the unit's own; empty: it has none, and finds itself by the loopback
	// device.
	Address string
	// Short: the file has names as the search list of Resolv would find them, too,
	// which names in files are not looked up by.
	Short bool
}

// Host is the host name of a unit: "app-0".
func Host(u model.UnitName) string {
	return u.Application() + "-" + strconv.Itoa(u.Number())
}

// FQDN is the full name of a unit: "app-0.app-endpoints.m.svc.cluster.local".
func FQDN(modelName string, u model.UnitName) string {
	return Host(u) + "." + Endpoints(modelName, u.Application())
}

// Endpoints is the name that stands for all units of an application.
func Endpoints(modelName, application string) string {
	return application + "-endpoints." + modelName + "." + Domain
}

// Service is the name of an application's address.
func Service(modelName, application string) string {
	return application + "." + modelName + "." + Domain
}

// Hosts are the lines of a unit's hosts file. The unit's own come first: the first
// line with an address is what it is called, and what socket.getfqdn() says. The
// order of the models, and of what is in them, doesn't matter.
func Hosts(own Own, models []Model) string {
	var b strings.Builder
	line := func(address string, names ...string) {
		b.WriteString(address + "\t" + strings.Join(names, " ") + "\n")
	}
	line(cmp.Or(own.Address, loopback), append(own.forms(own.Model, FQDN(own.Model, own.Unit)), Host(own.Unit))...)
	if own.reaches(localhost) {
		line(localhost, "localhost") // before units that are told by it
	}
	for _, m := range sorted(models, func(m Model) string { return m.Name }) {
		for _, app := range sorted(m.Applications, func(a Application) string { return a.Name }) {
			units := slices.Clone(app.Units)
			slices.SortFunc(units, func(a, b Unit) int { return model.CompareUnits(a.Name, b.Name) })
			units = slices.DeleteFunc(units, func(u Unit) bool { return !own.reaches(u.Address) })
			for _, u := range units {
				if m.Name != own.Model || u.Name != own.Unit {
					line(u.Address, own.forms(m.Name, FQDN(m.Name, u.Name))...)
				}
			}
			for _, u := range units {
				line(u.Address, own.forms(m.Name, Endpoints(m.Name, app.Name))...)
			}
			for _, address := range app.addresses(units) {
				line(address, own.forms(m.Name, Service(m.Name, app.Name))...)
			}
		}
	}
	return b.String()
}

// reaches says whether an address is of any use: the loopback device's, which units
// without a network of their own have in common, is another one where one has.
func (o Own) reaches(address string) bool {
	const local = "127."
	return address != "" && (o.Address == "" || strings.HasPrefix(o.Address, local) || !strings.HasPrefix(address, local))
}

// addresses are those of the application's name.
func (a Application) addresses(units []Unit) []string {
	if a.Address != "" {
		return []string{a.Address}
	}
	var out []string
	for _, u := range units {
		if u.Ready {
			out = append(out, u.Address)
		}
	}
	return out
}

// forms are a full name of something in a model, and what else finds it by the
// search list.
func (o Own) forms(modelName, full string) []string {
	if !o.Short {
		return []string{full}
	}
	names := []string{full, strings.TrimSuffix(full, ".cluster.local"), strings.TrimSuffix(full, "."+Domain)}
	if short := strings.TrimSuffix(full, "."+modelName+"."+Domain); modelName == o.Model && short != "localhost" {
		names = append(names, short)
	}
	return names
}

func sorted[T any](all []T, name func(T) string) []T {
	return slices.SortedFunc(slices.Values(all), func(a, b T) int { return cmp.Compare(name(a), name(b)) })
}
