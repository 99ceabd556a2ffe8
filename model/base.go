package model

import (
	"slices"
	"strings"
)

// Base is an operating system that a charm runs on: "ubuntu" and "24.04".
type Base struct {
	Name    string `json:"name"`
	Channel string `json:"channel"`
}

// String is "ubuntu@24.04"; empty for the zero value.
func (b Base) String() string {
	if b.Name == "" {
		return ""
	}
	return b.Name + "@" + b.Channel
}

// lts says whether it is an Ubuntu with long-term support: of each second year's
// April.
func (b Base) lts() bool {
	year, ok := strings.CutSuffix(b.Channel, ".04")
	return ok && b.Name == "ubuntu" && year != "" && strings.Contains("02468", year[len(year)-1:])
}

// Base is the one of the charm's bases that is chosen for its units where nobody
// says which: the first with long-term support, else the first. It is zero for a
// charm that names none. Source: docs/spec/juju-clients.md §10.2.
func (c Charm) Base() Base {
	if i := slices.IndexFunc(c.Bases, Base.lts); i >= 0 {
		return c.Bases[i]
	}
	if len(c.Bases) > 0 {
		return c.Bases[0]
	}
	return Base{}
}
