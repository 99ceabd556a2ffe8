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
	// IPv6 is another address of the unit's; empty: it has none.
	IPv6 string
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
	// IPv6 is another address of the unit's own; empty: it has none, and reaches none
	// unless it has no Address either.
	IPv6 string
	// Short: the file has names as the search list of Resolv would find them, too,
	// which names in files are not looked up by. Such a unit finds IPv4 addresses only,
	// as a pod does: what looks for its own, as "hostname -i", is given one.
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
	self := append(own.unitForms(own.Model, own.Unit), Host(own.Unit)) // the last one, see former
	line(cmp.Or(own.Address, loopback), self...)
	if own.IPv6 != "" && !own.Short {
		line(own.IPv6, self...)
	}
	if own.reaches(localhost) {
		line(localhost, "localhost") // before units that are told by it
	}
	for _, m := range sorted(models, func(m Model) string { return m.Name }) {
		for _, app := range sorted(m.Applications, func(a Application) string { return a.Name }) {
			units := slices.Clone(app.Units)
			slices.SortFunc(units, func(a, b Unit) int { return model.CompareUnits(a.Name, b.Name) })
			units = slices.DeleteFunc(units, func(u Unit) bool { return !own.reaches(u.Address) })
			for _, u := range units {
				if m.Name == own.Model && u.Name == own.Unit {
					continue
				}
				forms := own.unitForms(m.Name, u.Name)
				if m.Name == own.Model {
					forms = append(forms, Host(u.Name))
				}
				for _, address := range own.addresses(u) {
					line(address, forms...)
				}
			}
			for _, u := range units {
				for _, address := range own.addresses(u) {
					line(address, own.forms(m.Name, Endpoints(m.Name, app.Name))...)
				}
			}
			for _, address := range own.service(app, units) {
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

// addresses are those by which a unit is found.
func (o Own) addresses(u Unit) []string {
	if u.IPv6 == "" || o.Short || o.Address != "" && o.IPv6 == "" {
		return []string{u.Address}
	}
	return []string{u.Address, u.IPv6}
}

// service are the addresses of an application's name.
func (o Own) service(a Application, units []Unit) []string {
	if a.Address != "" {
		return []string{a.Address}
	}
	var out []string
	for _, u := range units {
		if u.Ready {
			out = append(out, o.addresses(u)...)
		}
	}
	return out
}

// unitForms are the full name of a unit, what else finds it by the search list, and
// the name with the model's. The last one stands back where the search list means
// another unit by it: "a-0.a-endpoints" is the own model's, also where a model is called
// "a-endpoints".
func (o Own) unitForms(modelName string, u model.UnitName) []string {
	forms := o.forms(modelName, FQDN(modelName, u))
	if o.Short && modelName != o.Model && modelName == u.Application()+"-endpoints" {
		return forms
	}
	if qualified := Host(u) + "." + modelName; !slices.Contains(forms, qualified) {
		forms = append(forms, qualified)
	}
	return forms
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
