package model

// series are the releases of Ubuntu that have had names in place of bases.
var series = map[string]string{
	"trusty": "14.04", "xenial": "16.04", "bionic": "18.04", "focal": "20.04", "jammy": "22.04", "lunar": "23.04", "mantic": "23.10",
	"noble": "24.04", "oracular": "24.10", "plucky": "25.04", "questing": "25.10",
}

// BaseOfSeries is the base that a series is: "jammy" is ubuntu@22.04. ok is false for
// what is none. Source: docs/spec/juju-clients.md §0.
func BaseOfSeries(name string) (Base, bool) {
	channel, ok := series[name]
	if !ok {
		return Base{}, false
	}
	return Base{Name: "ubuntu", Channel: channel}, true
}

// Series is the name that a base had before it was one: "jammy"; that of the base where
// there is none.
func (b Base) Series() string {
	for name, channel := range series {
		if b.Name == "ubuntu" && channel == b.Channel {
			return name
		}
	}
	return b.String()
}
