package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
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

var validBase = pattern.New(`^([a-z][a-z0-9-]*)@([0-9][0-9a-z.]*)(/[a-z]+)?$`)

// ParseBase reads a base as people write it, "ubuntu@24.04", or with a risk, which
// doesn't matter, "ubuntu@24.04/stable". The error is NotValid.
// Source: docs/spec/juju-clients.md §1.
func ParseBase(text string) (Base, error) {
	m := validBase.FindStringSubmatch(text)
	if m == nil {
		return Base{}, errors.NewNotValid(nil, fmt.Sprintf("base %q is not valid: expected it as ubuntu@24.04", text))
	}
	return Base{Name: m[1], Channel: m[2]}, nil
}

// ParseSeries is the base that a series of Ubuntu's is another name for. The error is
// NotValid.
func ParseSeries(series string) (Base, error) {
	for name, channel := range map[string]string{
		"trusty": "14.04", "xenial": "16.04", "bionic": "18.04", "focal": "20.04", "jammy": "22.04", "noble": "24.04",
	} {
		if name == series {
			return Base{Name: "ubuntu", Channel: channel}, nil
		}
	}
	return Base{}, errors.NewNotValid(nil, fmt.Sprintf("series %q is not known: give --base, such as ubuntu@24.04", series))
}

// lts says whether it is an Ubuntu with long-term support: of each second year's
// April.
func (b Base) lts() bool {
	year, ok := strings.CutSuffix(b.Channel, ".04")
	return ok && b.Name == "ubuntu" && year != "" && strings.Contains("02468", year[len(year)-1:])
}

// Supports says whether units of the charm can be on a base: it names that one, or
// none at all.
func (c Charm) Supports(b Base) bool {
	return len(c.Bases) == 0 || slices.Contains(c.Bases, b)
}

// basesText has bases as people write them.
func basesText(bases []Base) string {
	names := make([]string, len(bases))
	for i, b := range bases {
		names[i] = b.String()
	}
	return strings.Join(names, ", ")
}

// CheckBase is NotSupported for a base that the charm doesn't name, with those that it
// does. Source: docs/spec/juju-clients.md §10.2.
func (c Charm) CheckBase(b Base) error {
	if c.Supports(b) {
		return nil
	}
	return errors.NewNotSupported(nil, fmt.Sprintf("base %q is not supported by charm %q, which supports %s", b, c.Name, basesText(c.Bases)))
}

// ChooseBase is the base of the charm's units, once for all: the one that somebody has
// given, else that of their model, where the charm can be on it, else one of the
// charm's own; zero where nobody says any. Both may be zero.
// Source: docs/spec/juju-clients.md §10.2.
func (c Charm) ChooseBase(given, ofModel Base) Base {
	switch {
	case given != Base{}:
		return given
	case ofModel != Base{} && c.Supports(ofModel):
		return ofModel
	}
	return c.Base()
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
